import { BREAK_TYPES } from '@tillflow/domain';
import { nameOnQueue, setUpSchedules } from '@tillflow/temporal';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import type { reconcile } from '@tillflow/workflows/workflows';
import { QUICK_TAIL, TailRun } from './support/event-tail.js';
import { FULL } from './support/full.js';
import { startDirectly } from './support/paths.js';
import { Reconciliations, type BreakJson } from './support/reconciliations.js';
import { chargeIdOf, KEYS, newReference, Stack, type CheckoutJson } from './support/stack.js';
import { TamperedProvider } from './support/tampered-provider.js';
import { withStack } from './support/with-stack.js';
import { WorkerProcess } from './support/worker-process.js';

/** The provider's clock is behind, so that payments of this test are old enough to be compared. */
const hoursAgo = (hours: number): string => new Date(Date.now() - hours * 3_600_000).toISOString();
/** No poll is due and no webhook arrives: only a reconciliation finds a missed payment. */
const WITHOUT_WEBHOOKS = { api: { POLL_INTERVAL_MS: '86400000' }, sandbox: { now: hoursAgo(1) }, webhookUrl: null };
const DAY_MS = 86_400_000;
const TODAY = Math.floor(Date.now() / DAY_MS);
/** A time in UTC: 0 days ago is the last midnight, 0.5 days ago is noon of yesterday. */
const daysAgo = (days: number): Date => new Date((TODAY - days) * DAY_MS);
const ENOUGH_MS = 400_000;

/** A checkout whose QR was shown, and whose charge is paid at the provider. */
async function pay(stack: Stack, fields: Readonly<Record<string, unknown>> = {}): Promise<CheckoutJson> {
  const open = await stack.open(fields);
  stack.sandbox.mark(chargeIdOf(open), { status: 'successful' });
  return open;
}

/** Signals the checkout, as a webhook does. */
async function signalPayment(stack: Stack, { id }: CheckoutJson): Promise<CheckoutJson> {
  await stack.workflowOf(id).signal('hint', { eventId: 'evnt_test', eventKey: 'charge.update' });
  return stack.untilStatus(id, 'paid');
}

const paid = async (stack: Stack, fields?: Readonly<Record<string, unknown>>): Promise<CheckoutJson> =>
  signalPayment(stack, await pay(stack, fields));

/** A charge that Tillflow did not create. */
async function chargeElsewhere(stack: Stack, form: Readonly<Record<string, string>>): Promise<string> {
  const response = await fetch(`${stack.sandboxUrl}/charges`, {
    method: 'POST',
    headers: { authorization: `Basic ${btoa(`${stack.sandbox.keys.secret}:`)}` },
    body: new URLSearchParams({ amount: '150000', currency: 'THB', 'source[type]': 'wallet_mpm', ...form }),
  });
  const { id } = (await response.json()) as { id: string };
  stack.sandbox.mark(id, { status: 'successful' });
  return id;
}

/** As `type ids healed`. */
const summaryOf = (breaks: readonly BreakJson[]): string[] =>
  breaks
    .map(({ type, checkout_id, healed }) => `${type} ${checkout_id ?? '-'} ${healed ? 'healed' : 'open'}`)
    .toSorted();

describe('one break of each type', { timeout: ENOUGH_MS }, () => {
  async function expectAllFound(count: number): Promise<void> {
    const stack = await Stack.start({ worker: false, ...WITHOUT_WEBHOOKS });
    const provider = await TamperedProvider.before(stack.sandboxUrl);
    const environment = { ...stack.workerEnvironment(), PROVIDER_BASE_URL: provider.url };
    const workers: WorkerProcess[] = [];
    const start = async (): Promise<WorkerProcess> => {
      const worker = await WorkerProcess.start(environment);
      workers.push(worker);
      return worker;
    };
    try {
      const reconciliations = new Reconciliations(stack);
      let worker = await start();
      const checkouts: CheckoutJson[] = [];
      const queue = Array.from({ length: count }, () => newReference());
      await Promise.all(
        Array.from({ length: 10 }, async () => {
          for (let reference = queue.pop(); reference !== undefined; reference = queue.pop()) {
            checkouts.push(await paid(stack, { reference }));
          }
        }),
      );
      const next = (): CheckoutJson => {
        const one = checkouts.pop();
        if (one === undefined) throw new Error('No checkout is left');
        return one;
      };

      const gone = next();
      provider.tamper(chargeIdOf(gone), () => null);
      const [wrongAmount, wrongCurrency, twice, fees, unsettled, outside] = [
        next(),
        next(),
        next(),
        next(),
        next(),
        next(),
      ];
      await chargeElsewhere(stack, {
        'metadata[checkout]': wrongAmount.id,
        'metadata[attempt]': '1',
        amount: '140000',
      });
      await chargeElsewhere(stack, {
        'metadata[checkout]': wrongCurrency.id,
        'metadata[attempt]': '1',
        currency: 'SGD',
      });
      await chargeElsewhere(stack, { 'metadata[checkout]': twice.id, 'metadata[attempt]': '1' });
      const lost = `chk_default_${newReference()}`;
      await chargeElsewhere(stack, { 'metadata[checkout]': lost });
      const foreign = await chargeElsewhere(stack, { 'metadata[order]': '7' });
      const missed = await pay(stack);
      await stack.refundElsewhere(chargeIdOf(outside), 20_000);
      provider.tamper(chargeIdOf(fees), (charge) => ({ ...charge, fee: Number(charge['fee']) + 500 }));
      const { transactions } = stack.sandbox.state();
      const movement = transactions.find(({ origin }) => origin === chargeIdOf(unsettled));
      provider.tamper(movement?.id ?? '', () => null);
      stack.sandbox.seedRecords({ receipts: [{ charge_fee: 12_345, vat: 864 }] });

      // Some pages fail, and the worker is gone when half of the balance was read.
      stack.sandbox.faults.add([
        { method: 'GET', path: '/charges', action: 'status', status: 500, after: 1, times: 2 },
        { method: 'GET', path: '/transactions', action: 'commit_then_reset', times: 2 },
      ]);
      let pages = 0;
      const killed = new Promise<void>((resolve) => {
        const stop = stack.sandbox.on('request', ({ method, route }) => {
          if (method !== 'GET' || route !== '/transactions') return;
          pages += 1;
          if (pages < 3) return;
          stop();
          worker.signal('SIGKILL');
          resolve();
        });
      });
      const id = await reconciliations.start();
      await killed;
      worker = await start();

      const found = await reconciliations.completed(id);
      expect(summaryOf(found.breaks)).toEqual(
        [
          `missing_here ${lost} open`,
          `missing_there ${gone.id} open`,
          `amount ${wrongAmount.id} open`,
          `currency ${wrongCurrency.id} open`,
          `status ${missed.id} healed`,
          `refund_made_outside ${outside.id} healed`,
          `duplicate_payment ${twice.id} open`,
          `fee_difference ${fees.id} open`,
          `unsettled ${unsettled.id} open`,
          'receipt_total - open',
        ].toSorted(),
      );
      expect(found.breaks.map(({ type }) => type)).toEqual(BREAK_TYPES);
      expect(found.foreign).toMatchObject([{ charge_id: foreign, amount: 150_000, currency: 'THB' }]);
      expect(await stack.untilStatus(missed.id, 'paid')).toMatchObject({ attention: null });
      expect(await stack.untilStatus(outside.id, 'partially_refunded')).toMatchObject({ refunded_amount: 20_000 });
      const thb = found.totals.find(({ currency }) => currency === 'THB');
      expect(thb).toMatchObject({ checkouts: count, paid_here: count * 150_000, breaks: 9, foreign: 1 });

      // A healed break is not reported again, and every other break is.
      const again = await reconciliations.completed(await reconciliations.start());
      const open = (breaks: readonly BreakJson[]) => summaryOf(breaks.filter(({ healed }) => !healed));
      expect(summaryOf(again.breaks)).toEqual(open(found.breaks));
    } finally {
      await Promise.all(workers.map((worker) => worker.stop()));
      provider.close();
      await stack.stop();
    }
  }

  // More than one page of the provider's lists.
  it.each([110])(
    'among %i checkouts is found, and no other break, although pages fail and the worker is killed; the safe ones heal',
    (count) => expectAllFound(count),
  );
  it.each([300])(
    'among %i checkouts is found, and no other break, although pages fail and the worker is killed; the safe ones heal',
    FULL,
    (count) => expectAllFound(count),
  );
});

describe('a worker that is killed', { timeout: ENOUGH_MS }, () => {
  it('a killed worker is replaced by one that continues: nothing is read or counted twice', () =>
    withStack({ ...WITHOUT_WEBHOOKS, sandbox: { now: hoursAgo(10) } }, async (stack, start) => {
      const victim = await start();
      for (let n = 0; n < 3; n += 1) await paid(stack);
      stack.sandbox.advance(3 * 3_600);
      const began = stack.sandbox.now();
      const missed = await pay(stack);
      // The worker checks the break a second time, and the provider is silent.
      stack.sandbox.faults.add({ method: 'GET', path: `/charges/${chargeIdOf(missed)}`, action: 'hang' });
      const reconciliations = new Reconciliations(stack);
      const id = await reconciliations.start();
      await vi.waitFor(
        async () => expect(await reconciliations.comparedUntil(id)).toBeGreaterThan(Date.parse(began) - 3_600_000),
        {
          timeout: 60_000,
        },
      );
      victim.signal('SIGKILL');
      await victim.exited;
      stack.sandbox.faults.clear();
      const before = stack.sandbox.state().requests.length;
      await start();
      const { breaks, totals } = await reconciliations.completed(id);
      expect(summaryOf(breaks)).toEqual([`status ${missed.id} healed`]);
      expect(totals).toMatchObject([{ currency: 'THB', checkouts: 3, charges: 4, breaks: 1 }]);
      const list = stack.sandbox
        .state()
        .requests.slice(before)
        .find(({ route }) => route === '/charges');
      expect(Date.parse(new URLSearchParams(list?.query).get('from') ?? '')).toBeGreaterThanOrEqual(Date.parse(began));
    }));
});

describe('a reconciliation', { timeout: ENOUGH_MS }, () => {
  let stack: Stack;
  let reconciliations: Reconciliations;
  beforeAll(async () => {
    stack = await Stack.start(WITHOUT_WEBHOOKS);
    reconciliations = new Reconciliations(stack);
  });
  afterAll(() => stack.stop());

  it('finds no break in records that agree, whatever was paid, refunded, cancelled or left open', async () => {
    const one = await paid(stack);
    const other = await paid(stack, { currency: 'SGD', amount: 5_000 });
    await paid(stack, { currency: 'MYR', amount: 5_000 });
    await stack.create();
    const cancelled = await stack.create();
    await stack.post(`/v1/checkouts/${cancelled.body.id}/cancel`);
    const headers = { 'idempotency-key': 'one' };
    await stack.request('POST', `/v1/checkouts/${one.id}/refunds`, { body: { amount: 1_000 }, headers });
    await stack.request('POST', `/v1/checkouts/${other.id}/refunds`, { body: {}, headers });
    const { breaks, foreign, totals } = await reconciliations.completed(await reconciliations.start());
    expect(breaks).toEqual([]);
    expect(foreign).toEqual([]);
    expect(totals.map(({ currency }) => currency)).toEqual(['MYR', 'SGD', 'THB']);
    for (const total of totals) {
      expect(total).toMatchObject({
        checkouts: 1,
        charges: 1,
        paid_there: total.paid_here,
        refunded_there: total.refunded_here,
        credited: total.paid_there - total.fees,
      });
    }
  });

  it('with dry_run reports a missed payment and changes nothing', async () => {
    const missed = await pay(stack);
    const dry = await reconciliations.completed(await reconciliations.start({ dry_run: true }));
    expect(summaryOf(dry.breaks)).toEqual([`status ${missed.id} open`]);
    expect((await stack.get(`/v1/checkouts/${missed.id}`)).body.status).toBe('awaiting_payment');
    expect((await stack.timeline(missed.id)).map(({ what }) => what)).not.toContain('reconciliation');
    const [found] = dry.breaks;
    expect(found?.suggested_action).toBe(`pnpm tillflow resolve ${missed.id} --look --reason reconciliation`);
    const real = await reconciliations.completed(await reconciliations.start());
    expect(summaryOf(real.breaks)).toEqual([`status ${missed.id} healed`]);
  });

  it('leaves a missed payment open when the checkout has closed', () =>
    withStack({ ...WITHOUT_WEBHOOKS, worker: true }, async (stack) => {
      const { id, reference } = await startDirectly(stack, { unpaidGraceMs: 200 });
      const open = await stack.until(id, ({ qr }) => qr !== null);
      stack.sandbox.mark(chargeIdOf(open), { status: 'failed' });
      await stack.workflowOf(id).signal('hint', { eventId: 'evnt_test', eventKey: 'charge.complete' });
      await stack.temporal.client.workflow.getHandle(`checkout/default/${reference}`).result();
      stack.sandbox.mark(chargeIdOf(open), { status: 'successful', force: true });
      const { breaks } = await new Reconciliations(stack).run();
      expect(summaryOf(breaks)).toEqual([`status ${id} open`]);
      expect(breaks[0]?.suggested_action).toMatch(/^pnpm tillflow backfill --from \d{4}-/);
    }));

  it('does not report a break as healed while the checkout does not accept the payment', () =>
    withStack({ ...WITHOUT_WEBHOOKS, worker: true }, async (stack) => {
      const { body } = await stack.create();
      const charge = await chargeElsewhere(stack, { 'metadata[checkout]': body.id, 'metadata[attempt]': '9' });
      const { breaks } = await new Reconciliations(stack).run();
      expect(summaryOf(breaks)).toEqual([`status ${body.id} open`]);
      expect(breaks[0]?.charge_id).toBe(charge);
      const checked = await stack.until(body.id, ({ attention }) => attention !== null);
      expect(checked).toMatchObject({ status: 'awaiting_payment', attention: { code: 'integrity_mismatch' } });
    }));

  it('finds no break and equal totals when a second payment was returned', () =>
    withStack({ ...WITHOUT_WEBHOOKS, worker: true }, async (stack) => {
      const { body: first } = await stack.create();
      await stack.until(first.id, ({ qr }) => qr !== null);
      await stack.post(`/v1/checkouts/${first.id}/attempts`, { after: 1 });
      const second = await stack.until(first.id, ({ attempts, qr }) => attempts.length === 2 && qr !== null);
      stack.sandbox.mark(second.attempts[1]?.charge_id ?? '', { status: 'successful' });
      await signalPayment(stack, first);
      // The charge of attempt 1 has expired; a customer pays another one of it.
      const besides = await chargeElsewhere(stack, { 'metadata[checkout]': first.id, 'metadata[attempt]': '1' });
      await stack
        .workflowOf(first.id)
        .signal('hint', { eventId: 'evnt_test', eventKey: 'charge.update', chargeId: besides });
      const returned = async () => (await stack.memoOf(first.id)).refunds ?? [];
      await expect.poll(returned).toMatchObject([{ charge_id: besides, status: 'succeeded', amount: 150_000 }]);
      const { breaks, totals } = await new Reconciliations(stack).run();
      expect(breaks).toEqual([]);
      expect(totals).toMatchObject([
        {
          checkouts: 1,
          charges: 2,
          paid_here: 300_000,
          paid_there: 300_000,
          refunded_here: 150_000,
          refunded_there: 150_000,
        },
      ]);
    }));

  it('finds no break and equal totals when a late payment was returned, also in the next window', () =>
    withStack({ ...WITHOUT_WEBHOOKS, worker: true, sandbox: { now: hoursAgo(3) } }, async (stack) => {
      const open = await stack.open();
      await stack.post(`/v1/checkouts/${open.id}/cancel`);
      await stack.untilStatus(open.id, 'cancelled');
      const charge = chargeIdOf(open);
      stack.sandbox.mark(charge, { status: 'successful', force: true });
      const paidAt = stack.sandbox.now();
      // The refund is made an hour after the payment, by the provider's clock: it belongs to another window.
      stack.sandbox.advance(3_600);
      await stack.workflowOf(open.id).signal('hint', { eventId: 'evnt_test', eventKey: 'charge.complete' });
      const returned = async () => (await stack.memoOf(open.id)).refunds ?? [];
      await expect.poll(returned).toMatchObject([{ charge_id: charge, status: 'succeeded', amount: 150_000 }]);
      const reconciliations = new Reconciliations(stack);
      const boundary = new Date(Date.parse(paidAt) + 1_800_000).toISOString();
      const paid = await reconciliations.completed(await reconciliations.start({ to: boundary }));
      expect(paid.breaks).toEqual([]);
      expect(paid.totals).toMatchObject([
        {
          checkouts: 1,
          charges: 1,
          paid_here: 150_000,
          paid_there: 150_000,
          refunded_here: 150_000,
          refunded_there: 150_000,
        },
      ]);
      const given = await reconciliations.completed(await reconciliations.start({ from: boundary }));
      expect([given.breaks, given.totals]).toEqual([[], []]);
    }));

  it('a reopened checkout, of which Temporal lists two runs, counts once', () =>
    withStack({ ...WITHOUT_WEBHOOKS, worker: true, shared: QUICK_TAIL }, async (stack) => {
      const { id, reference } = await startDirectly(stack, { unpaidGraceMs: 200 });
      const open = await stack.until(id, ({ qr }) => qr !== null);
      const charge = chargeIdOf(open);
      stack.sandbox.mark(charge, { status: 'failed' });
      await stack.workflowOf(id).signal('hint', { eventId: 'evnt_test', eventKey: 'charge.complete' });
      await stack.temporal.client.workflow.getHandle(`checkout/default/${reference}`).result();
      stack.sandbox.mark(charge, { status: 'successful', force: true });
      const reconciliations = new Reconciliations(stack);
      const before = await reconciliations.run();
      expect(summaryOf(before.breaks)).toEqual([`status ${id} open`]);
      const tail = await TailRun.start(stack);
      try {
        const returned = async () => (await stack.memoOf(id)).refunds ?? [];
        await expect.poll(returned).toMatchObject([{ charge_id: charge, status: 'succeeded' }]);
      } finally {
        await tail.stop();
      }
      const checkouts = async () => (await reconciliations.run()).totals.map((total) => total.checkouts);
      await expect.poll(checkouts).toEqual([1]);
      const after = await reconciliations.run();
      expect(after.breaks).toEqual([]);
      expect(after.totals).toMatchObject([
        {
          checkouts: 1,
          charges: 1,
          paid_here: 150_000,
          paid_there: 150_000,
          refunded_here: 150_000,
          refunded_there: 150_000,
        },
      ]);
    }));

  it('still reports and heals breaks of payments when receipts cannot be read, and says that they were not compared', async () => {
    const missed = await pay(stack);
    stack.sandbox.faults.add({
      method: 'GET',
      path: '/receipts',
      action: 'status',
      status: 403,
      code: 'not_authorized',
    });
    try {
      const id = await reconciliations.start();
      const { breaks, not_compared } = await reconciliations.completed(id);
      expect(summaryOf(breaks)).toEqual([`status ${missed.id} healed`]);
      expect(not_compared).toMatchObject([{ what: 'receipts', code: 'not_authorized' }]);
      const csv = await reconciliations.export(id, 'csv');
      expect(String(csv.body)).toContain('\r\nnot_compared,receipts,,,,,,,,,not_authorized,,,,,,,,,,,,\r\n');
    } finally {
      stack.sandbox.faults.clear();
    }
  });

  it('still reports its breaks when the provider refuses the key while checkouts retrieve their charges', async () => {
    const missed = await pay(stack);
    // The worker retrieves the charge twice before it reports the break.
    const path = `/charges/${chargeIdOf(missed)}`;
    const code = 'authentication_failure';
    stack.sandbox.faults.add({ method: 'GET', path, after: 2, action: 'status', status: 401, code });
    try {
      const { breaks } = await reconciliations.completed(await reconciliations.start());
      expect(summaryOf(breaks)).toEqual([`status ${missed.id} open`]);
    } finally {
      stack.sandbox.faults.clear();
    }
    const { breaks } = await reconciliations.completed(await reconciliations.start());
    // When the checkout polls the provider first, the reconciliation finds no break.
    expect([[], [`status ${missed.id} healed`]]).toContainEqual(summaryOf(breaks));
    expect((await stack.get(`/v1/checkouts/${missed.id}`)).body.status).toBe('paid');
  });

  it('of a window long before the first payment completes and finds no break', async () => {
    const id = await reconciliations.start({ from: '0001-01-02T00:00:00Z', to: '0001-01-31T00:00:00Z' });
    await expect.poll(async () => (await reconciliations.get(id)).status).toBe('completed');
    expect(await reconciliations.get(id)).toMatchObject({ breaks: [], totals: [], foreign: [] });
  });

  it('gets 404 for an id that Temporal refuses', async () => {
    const answer = await stack.request('GET', `/v1/reconciliations/rec_x_${'-'.repeat(36)}`, { key: KEYS.ops });
    expect(answer).toMatchObject({ status: 404, body: { code: 'not_found' } });
  });

  it('ignores charges of the other mode', () =>
    withStack({ ...WITHOUT_WEBHOOKS }, async (stack) => {
      const provider = await TamperedProvider.before(stack.sandboxUrl);
      const worker = await WorkerProcess.start({ ...stack.workerEnvironment(), PROVIDER_BASE_URL: provider.url });
      try {
        const live = await pay(stack);
        const foreign = await chargeElsewhere(stack, {});
        for (const id of [chargeIdOf(live), foreign]) provider.tamper(id, (charge) => ({ ...charge, livemode: true }));
        const { breaks, foreign: others, totals } = await new Reconciliations(stack).run();
        expect([breaks, others, totals]).toEqual([[], [], []]);
      } finally {
        await worker.stop();
        provider.close();
      }
    }));

  it('compares only checkouts of its own task queue: another stack in the namespace has another provider', () =>
    withStack({ ...WITHOUT_WEBHOOKS, worker: true }, async (other) => {
      await paid(other);
      await withStack({ ...WITHOUT_WEBHOOKS, worker: true }, async (own) => {
        await paid(own);
        const { breaks, totals } = await new Reconciliations(own).run();
        expect(breaks).toEqual([]);
        expect(totals).toMatchObject([{ checkouts: 1, charges: 1 }]);
      });
    }));

  it('counts all breaks, and lists only as many as fit into one result', () =>
    withStack({ ...WITHOUT_WEBHOOKS, worker: true }, async (stack) => {
      for (let n = 0; n < 3; n += 1) {
        await chargeElsewhere(stack, { 'metadata[checkout]': `chk_default_${newReference()}` });
        await chargeElsewhere(stack, {});
      }
      const now = Date.now();
      const policy = { mostBreaks: 2, mostForeign: 1 };
      const input = { account: 'default', from: now - DAY_MS, to: now, dry_run: false, policy };
      const result = await stack.temporal.client.workflow.execute<typeof reconcile>('reconcile', {
        workflowId: `reconcile/default/${newReference()}`,
        taskQueue: stack.taskQueue,
        args: [input],
      });
      expect([result.found.length, result.foreign.length, result.omitted]).toEqual([2, 1, { breaks: 1, foreign: 2 }]);
      expect(result.totals).toMatchObject([{ breaks: 3, foreign: 3 }]);
    }));

  it('reports a refund made outside once, also when the checkout knew it before', async () => {
    const outside = await paid(stack);
    await stack.refundElsewhere(chargeIdOf(outside), 30_000);
    await stack.workflowOf(outside.id).signal('hint', { eventId: 'evnt_test', eventKey: 'refund.create' });
    await stack.untilStatus(outside.id, 'partially_refunded');
    const dry = await reconciliations.completed(await reconciliations.start({ dry_run: true }));
    expect(summaryOf(dry.breaks)).toEqual([`refund_made_outside ${outside.id} healed`]);
    const first = await reconciliations.completed(await reconciliations.start());
    expect(summaryOf(first.breaks)).toEqual([`refund_made_outside ${outside.id} healed`]);
    // The list of runs is a moment behind.
    await vi.waitFor(
      async () => expect((await reconciliations.completed(await reconciliations.start())).breaks).toEqual([]),
      {
        timeout: 90_000,
      },
    );
  });

  it('finds a refund that was made outside, of a payment from before the window', () =>
    withStack({ ...WITHOUT_WEBHOOKS, worker: true, sandbox: { now: hoursAgo(30) } }, async (stack) => {
      const old = await paid(stack);
      stack.sandbox.advance(29 * 3_600);
      await stack.refundElsewhere(chargeIdOf(old), 40_000);
      const reconciliations = new Reconciliations(stack);
      const { breaks, totals } = await reconciliations.completed(await reconciliations.start({ from: hoursAgo(24) }));
      expect(summaryOf(breaks)).toEqual([`refund_made_outside ${old.id} healed`]);
      expect(totals).toMatchObject([{ checkouts: 0, charges: 0, breaks: 1 }]);
      expect((await stack.get(`/v1/checkouts/${old.id}`)).body.refunded_amount).toBe(40_000);
    }));

  it('does not compare payments of the last 15 minutes, and says where the next run continues', async () => {
    const young = await Stack.start({ ...WITHOUT_WEBHOOKS, sandbox: {} });
    try {
      const missed = await pay(young);
      const { breaks, totals, to, compared_until } = await new Reconciliations(young).run();
      expect([breaks, totals]).toEqual([[], []]);
      // A run that starts at `compared_until` misses no payment.
      const until = Date.parse(compared_until ?? '');
      expect(until).toBeLessThanOrEqual(Date.now() - 900_000);
      expect(until).toBeGreaterThan(Date.now() - 1_800_000);
      expect(until).toBeLessThan(Date.parse(to));
      expect((await young.get(`/v1/checkouts/${missed.id}`)).body.status).toBe('awaiting_payment');
    } finally {
      await young.stop();
    }
  });

  it('is joined by requests for the same window while it runs; a later request starts a new run', async () => {
    await stack.stopWorker();
    const body = reconciliations.body();
    const ids = await Promise.all([
      reconciliations.start(body),
      reconciliations.start(body),
      reconciliations.start(body),
    ]);
    expect(new Set(ids).size).toBe(1);
    const running = await reconciliations.get(ids[0] ?? '');
    expect(running).toMatchObject({ status: 'running', breaks: [], foreign: [], dry_run: false, failure: null });
    expect(await reconciliations.start({ ...body, dry_run: true })).not.toBe(ids[0]);
    await stack.startWorker();
    await reconciliations.completed(ids[0] ?? '');
    expect(await reconciliations.start(body)).not.toBe(ids[0]);
  });

  it('can be listed, read and exported as CSV and JSON without a worker', async () => {
    const foreign = await chargeElsewhere(stack, {});
    const id = await reconciliations.start();
    const found = await reconciliations.completed(id);
    await stack.stopWorker();
    try {
      expect(await reconciliations.get(id)).toEqual(found);
      await vi.waitFor(async () => expect((await reconciliations.list()).map((one) => one.id)).toContain(id), {
        timeout: 90_000,
      });
      const csv = await reconciliations.export(id, 'csv');
      expect(csv.headers.get('content-type')).toBe('text/csv; charset=utf-8');
      const lines = String(csv.body).split('\r\n');
      expect(lines[0]).toMatch(/^record,type,checkout_id,charge_id/);
      expect(lines.filter((line) => line.startsWith(`foreign,,,${foreign},`))).toHaveLength(1);
      const thb = found.totals.find(({ currency }) => currency === 'THB');
      expect(lines).toContain(`total,paid_here,,,,,,,,,,${thb?.paid_here},THB,,,,,,,,,,`);
      expect((await reconciliations.export(id, 'json')).body).toEqual(found);
    } finally {
      await stack.startWorker();
    }
  });

  it('a run whose key the provider refuses fails and says why', async () => {
    stack.sandbox.faults.add({
      method: 'GET',
      path: '/charges',
      action: 'status',
      status: 401,
      code: 'authentication_failure',
    });
    try {
      const id = await reconciliations.start(reconciliations.body({ days: 2 }));
      await vi.waitFor(async () => expect((await reconciliations.get(id)).status).toBe('failed'), { timeout: 90_000 });
      expect((await reconciliations.get(id)).failure).toMatchObject({ code: 'authentication_failure' });
      expect(await reconciliations.export(id, 'csv')).toMatchObject({
        status: 409,
        body: { code: 'reconciliation_incomplete' },
      });
    } finally {
      stack.sandbox.faults.clear();
    }
  });
});

describe('the daily reconciliation', { timeout: ENOUGH_MS }, () => {
  it('compares the previous day and the days since the last run that were skipped, and can be read like any other run', () =>
    withStack({ ...WITHOUT_WEBHOOKS, worker: true, sandbox: { now: daysAgo(1.5).toISOString() } }, async (stack) => {
      const { schedule: schedules, workflow } = stack.temporal.client;
      const lost = `chk_default_${newReference()}`;
      await chargeElsewhere(stack, { 'metadata[checkout]': lost });
      await setUpSchedules(stack.temporal, stack.taskQueue, { dryRun: false });
      const schedule = schedules.getHandle(nameOnQueue('reconcile-daily', stack.taskQueue));
      const tail = schedules.getHandle(nameOnQueue('event-tail', stack.taskQueue));
      try {
        expect((await schedule.describe()).spec.intervals).toMatchObject([{ every: DAY_MS, offset: 30 * 60_000 }]);
        const reconciliations = new Reconciliations(stack);
        const completed = async () => (await reconciliations.list()).filter(({ status }) => status === 'completed');
        const day = (days: number): string => daysAgo(days).toISOString();

        // Due at 00:30 UTC of the day that a backfill begins with, whatever the time of day is now.
        await schedule.backfill({ start: daysAgo(3), end: daysAgo(2), overlap: 'BUFFER_ONE' });
        await expect.poll(completed).toHaveLength(1);
        expect(await completed()).toMatchObject([{ from: day(4), to: day(3) }]);

        // The schedule hears of it a moment later.
        const running = async () => (await schedule.describe()).info.runningActions;
        await expect.poll(running).toEqual([]);
        await schedule.backfill({ start: daysAgo(1), end: daysAgo(0), overlap: 'BUFFER_ONE' });
        await expect.poll(completed).toHaveLength(2);
        const [newest] = await completed();
        expect(newest?.id).toMatch(/^rec_daily-/);
        const found = await reconciliations.get(newest?.id ?? '');
        expect(found).toMatchObject({ from: day(3), to: day(1), dry_run: false });
        expect(summaryOf(found.breaks)).toEqual([`missing_here ${lost} open`]);
      } finally {
        const { info } = await tail.describe();
        await Promise.all([schedule.delete(), tail.delete()]);
        for (const { workflow: one } of info.runningActions) await workflow.getHandle(one.workflowId).terminate();
      }
    }));
});
