import { randomUUID } from 'node:crypto';
import { nameOnQueue, setUpSchedules } from '@tillflow/temporal';
import { backfill, dismissNotice, type EventTailMemo, type ReadEventsCall } from '@tillflow/workflows';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { hintsOf } from './support/hints.js';
import { findTailOf, QUICK_TAIL, SHORT_LIVED, TailRun } from './support/event-tail.js';
import { FULL } from './support/full.js';
import { startDirectly } from './support/paths.js';
import { chargeIdOf, Stack, type CheckoutJson, type ProblemJson } from './support/stack.js';
import { withStack } from './support/with-stack.js';

/** The sandbox sends no webhook, and polls are too rare to help, so only the tail can find a change. */
const WITHOUT_WEBHOOKS = {
  webhookUrl: null,
  shared: QUICK_TAIL,
  api: { POLL_INTERVAL_MS: '3600000', UNPAID_GRACE_MS: '200' },
} as const;

/** A checkout that failed and whose workflow has closed. */
async function closedUnpaid(stack: Stack, policy?: Parameters<typeof startDirectly>[1]): Promise<CheckoutJson> {
  const { id } = policy === undefined ? (await stack.create()).body : await startDirectly(stack, policy);
  const open = await stack.until(id, ({ qr }) => qr !== null);
  stack.sandbox.mark(chargeIdOf(open), { status: 'failed' });
  const failed = await stack.untilStatus(id, 'failed');
  await stack.workflowOf(id).result();
  return failed;
}

function payLate(stack: Stack, checkout: CheckoutJson): void {
  stack.sandbox.mark(chargeIdOf(checkout), { status: 'successful', force: true });
}

/** A charge of another system, or one whose metadata names a checkout. */
async function chargeElsewhere(stack: Stack, metadata: Readonly<Record<string, string>> = {}): Promise<string> {
  const response = await fetch(`${stack.sandboxUrl}/charges`, {
    method: 'POST',
    headers: { authorization: `Basic ${btoa(`${stack.sandbox.keys.secret}:`)}` },
    body: new URLSearchParams({
      amount: '150000',
      currency: 'THB',
      'source[type]': 'wallet_mpm',
      ...Object.fromEntries(Object.entries(metadata).map(([name, value]) => [`metadata[${name}]`, value])),
    }),
  });
  return ((await response.json()) as { id: string }).id;
}

describe('the event tail', () => {
  let stack: Stack;
  let tail: TailRun;
  beforeAll(async () => {
    stack = await Stack.start(WITHOUT_WEBHOOKS);
    tail = await TailRun.start(stack);
  });
  afterAll(async () => {
    await tail.stop();
    await stack.stop();
  });

  it('finds a payment, a failure and a dashboard refund whose webhooks were lost', async () => {
    const { body: first } = await stack.create();
    const second = await stack.open();
    stack.sandbox.mark(chargeIdOf(first), { status: 'successful' });
    stack.sandbox.mark(chargeIdOf(second), { status: 'failed' });
    await stack.untilStatus(first.id, 'paid');
    await stack.untilStatus(second.id, 'failed');
    await stack.refundElsewhere(chargeIdOf(first), 20_000);
    const given = await stack.untilStatus(first.id, 'partially_refunded');
    expect(given.refunded_amount).toBe(20_000);
  });

  it('signals a checkout once, and not again for an event that it reads again or that a webhook delivered', async () => {
    const body = await stack.open();
    stack.sandbox.mark(chargeIdOf(body), { status: 'successful' });
    await stack.untilStatus(body.id, 'paid');
    await tail.nextPass();
    await tail.nextPass();
    const hints = (await stack.timeline(body.id)).filter(({ what }) => what === 'webhook');
    expect(hints).toHaveLength(1);
  });

  it('skips no event when many events have the same time, wherever a page ends', async () => {
    stack.sandbox.freeze();
    try {
      const checkouts: CheckoutJson[] = [];
      for (let page = 0; page < 3; page += 1) {
        checkouts.push((await stack.create()).body);
        await Promise.all(Array.from({ length: 66 }, () => chargeElsewhere(stack)));
      }
      for (const checkout of checkouts) stack.sandbox.mark(chargeIdOf(checkout), { status: 'successful' });
      const instants = stack.sandbox.state(['events']).events?.map(({ created_at }) => created_at) ?? [];
      expect(instants.filter((at) => at === instants.at(-1)).length).toBeGreaterThan(200);
      for (const { id } of checkouts) await stack.untilStatus(id, 'paid');
    } finally {
      stack.sandbox.freeze(false);
    }
  });

  it('reopens a closed checkout for a late payment, the payment is returned, and lists show one checkout', async () => {
    const closed = await closedUnpaid(stack);
    payLate(stack, closed);
    const refunded = await stack.untilStatus(closed.id, 'refunded');
    expect(refunded).toMatchObject({ refunded_amount: 150_000, attention: null, created_at: closed.created_at });
    expect(stack.chargesOf(closed.id)[0]?.refunded_amount).toBe(150_000);
    const entries = (await stack.timeline(closed.id)).map(({ what }) => what);
    expect(entries).toEqual(expect.arrayContaining(['opened', 'failed', 'reopened', 'paid', 'voided']));

    const { reference, amount, currency } = closed;
    const again = await stack.post('/v1/checkouts', { reference, amount, currency });
    expect(again).toMatchObject({ status: 200, body: { id: closed.id, status: 'refunded' } });
    const other = await stack.post<ProblemJson>('/v1/checkouts', { reference, amount: amount + 1, currency });
    expect(other).toMatchObject({ status: 409, body: { code: 'reference_conflict' } });
    const listed = async (query: string): Promise<readonly string[]> => {
      const { body } = await stack.get<{ data: CheckoutJson[] }>(`/v1/checkouts?reference=${reference}${query}`);
      return body.data.map(({ status }) => status);
    };
    await expect.poll(() => listed('')).toEqual(['refunded']);
    expect(await listed('&status=failed')).toEqual([]);
    expect(await listed('&status=refunded')).toEqual(['refunded']);
  });

  it('reopens a closed checkout with LATE_PAYMENT=keep, which keeps the late payment and shows attention', async () => {
    const closed = await closedUnpaid(stack, { unpaidGraceMs: 200, latePayment: 'keep' });
    payLate(stack, closed);
    const kept = await stack.untilStatus(closed.id, 'paid');
    expect(kept.attention).toMatchObject({ code: 'late_payment' });
    expect(stack.chargesOf(closed.id)[0]?.refunded_amount).toBe(0);
  });

  it('reopens a closed checkout for a payment of a second charge, and the checkout takes no new attempt', async () => {
    const closed = await closedUnpaid(stack, { unpaidGraceMs: 1_000, latePayment: 'keep' });
    const charge = await chargeElsewhere(stack, { checkout: closed.id, attempt: '1' });
    stack.sandbox.mark(charge, { status: 'successful' });
    // Closed, and open again.
    await stack.until(closed.id, ({ events_url }) => events_url !== null);
    const refused = await stack.post<ProblemJson>(`/v1/checkouts/${closed.id}/attempts`, { after: 1 });
    expect([409]).toContain(refused.status);
    expect(['checkout_closed', 'already_paid']).toContain(refused.body.code);
    await stack.untilStatus(closed.id, 'paid');
  });

  it('leaves a closed checkout closed when nothing was paid', async () => {
    const closed = await closedUnpaid(stack);
    const charge = await chargeElsewhere(stack, { checkout: closed.id, attempt: '1' });
    await fetch(`${stack.sandboxUrl}/charges/${charge}/expire`, {
      method: 'POST',
      headers: { authorization: `Basic ${btoa(`${stack.sandbox.keys.secret}:`)}` },
    });
    await tail.nextPass();
    await tail.nextPass();
    expect((await stack.workflowOf(closed.id).describe()).status.name).toBe('COMPLETED');
  });

  it('stores an event that it could not deliver, shows it, and delivers it later', async () => {
    const closed = await closedUnpaid(stack);
    stack.sandbox.faults.add({ method: 'GET', path: '/charges/{id}', action: 'status', status: 500 });
    payLate(stack, closed);
    const remembered = async () => ((await tail.memo()).unplaced ?? []).map(({ charge_id }) => charge_id);
    await expect.poll(remembered).toContain(chargeIdOf(closed));
    expect((await tail.memo()).unplaced).toContainEqual(
      expect.objectContaining({ checkout_id: closed.id, event_key: 'charge.complete', tries: 1 }),
    );
    // Others are not held up by it.
    const body = await stack.open();
    stack.sandbox.faults.clear();
    stack.sandbox.mark(chargeIdOf(body), { status: 'successful' });
    await stack.untilStatus(body.id, 'paid');
    await stack.untilStatus(closed.id, 'refunded', 60_000);
    await expect.poll(remembered).toEqual([]);
  });

  it('refunds nothing for a checkout that it cannot find, and adds a notice', async () => {
    const missing = `chk_default_lost-${randomUUID()}`;
    const charge = await chargeElsewhere(stack, { checkout: missing, attempt: '1' });
    stack.sandbox.mark(charge, { status: 'successful' });
    const notices = async () => (await tail.memo()).notices;
    const notice = { code: 'checkout_missing', charge_id: charge, checkout_id: missing };
    await expect.poll(notices).toContainEqual(expect.objectContaining(notice));
    expect((await tail.memo()).unplaced).toContainEqual(expect.objectContaining({ checkout_id: missing }));
    expect(stack.sandbox.state(['charges']).charges?.find(({ id }) => id === charge)?.refunded_amount).toBe(0);
  });

  it('adds one notice for a dispute, until a person dismisses it', async () => {
    const { disputes } = stack.sandbox.seedRecords({ disputes: [{}] });
    const notices = async () => ((await tail.memo()).notices ?? []).filter(({ code }) => code === 'dispute_opened');
    const [dispute = ''] = disputes;
    await expect.poll(notices).toMatchObject([{ subject: dispute, since: expect.any(String) }]);
    await tail.handle.signal(dismissNotice, { id: `dispute_opened:${dispute}`, reason: 'answered by post' });
    await expect.poll(notices).toEqual([]);
    await tail.handle.executeUpdate(backfill, { args: [{ from: '2000-01-01T00:00:00Z' }] });
    expect(await notices()).toEqual([]);
  });

  it('reads again from the time that an operator gives, and reports the result', async () => {
    const read = (from: string) => tail.handle.executeUpdate(backfill, { args: [{ from }] });
    const events = stack.sandbox.state(['events']).events?.length ?? 0;
    expect(await read('2000-01-01T00:00:00Z')).toMatchObject({ read: events, reopened: 0 });
    await expect(read('yesterday')).rejects.toMatchObject({ cause: { type: 'invalid_backfill' } });
  });

  it('shows `failing` when the provider refuses its requests, and continues afterwards', async () => {
    stack.sandbox.faults.add({ method: 'GET', path: '/events', action: 'status', status: 401 });
    const failing = async () => (await tail.memo()).failing ?? null;
    await expect.poll(failing).toMatchObject({ code: 'authentication_failure' });
    const body = await stack.open();
    stack.sandbox.mark(chargeIdOf(body), { status: 'successful' });
    stack.sandbox.faults.clear();
    await stack.untilStatus(body.id, 'paid');
    await expect.poll(failing).toBeNull();
  });

  it('is found by the API and the command line, which read its memo', async () => {
    const found = async () => (await findTailOf(stack))?.memo.pass?.interval_ms;
    await expect.poll(found).toBe(200);
  });

  it('adds notices for a plan that failed, and for one that the provider suspended', async () => {
    const { schedules } = stack.sandbox.seedRecords({
      customers: [{ cards: [{ failure_code: 'insufficient_fund' }] }],
      schedules: [{ period: 'day', charge: { amount: 150_000, currency: 'THB' } }],
    });
    const [plan = ''] = schedules;
    const codes = async () =>
      ((await tail.memo()).notices ?? []).filter(({ plan_id }) => plan_id === plan).map(({ code }) => code);
    await expect.poll(codes).toEqual(['plan_occurrence_failed']);
    stack.sandbox.advance(3 * 86_400);
    await expect.poll(codes).toContain('plan_suspended');
    // The occurrences that were still to come.
    expect(await codes()).toContain('plan_occurrence_skipped');
  });
});

describe('a tail that ended', () => {
  let stack: Stack;
  beforeAll(async () => {
    stack = await Stack.start(WITHOUT_WEBHOOKS);
  });
  afterAll(async () => {
    const running = await runningTails();
    await schedule().delete();
    for (const id of running) await stack.temporal.client.workflow.getHandle(id).terminate();
    await stack.stop();
  });
  const schedule = () => stack.temporal.client.schedule.getHandle(nameOnQueue('event-tail', stack.taskQueue));
  const runningTails = async () =>
    (await schedule().describe()).info.runningActions.map(({ workflow }) => workflow.workflowId);
  const onlyTail = async () => {
    await expect.poll(runningTails).toHaveLength(1);
    return stack.temporal.client.workflow.getHandle((await runningTails())[0] ?? '');
  };
  /** Waits for another run than this one: as the next minute would start it. */
  const revived = async (runId: string) => {
    const next = async () => {
      await schedule().trigger('SKIP');
      return (await (await onlyTail()).describe()).runId;
    };
    await expect.poll(next, { interval: 1_000 }).not.toBe(runId);
    return onlyTail();
  };
  const passAt = async () => (await findTailOf(stack))?.memo.pass?.at ?? null;

  it('is started again by its Schedule, continues from its watermark, and keeps its notices', async () => {
    await setUpSchedules(stack.temporal, stack.taskQueue, { dryRun: false });
    const first = await onlyTail();
    await expect.poll(passAt).not.toBeNull();
    stack.sandbox.seedRecords({ disputes: [{}] });
    const notices = async () => (await findTailOf(stack))?.memo.notices?.length ?? 0;
    await expect.poll(notices).toBe(1);
    const { runId, memo } = await first.describe();
    await first.terminate('a test');
    const last = { ...memo } as EventTailMemo;

    const body = await stack.open();
    stack.sandbox.mark(chargeIdOf(body), { status: 'successful' });
    const second = await revived(runId);
    await stack.untilStatus(body.id, 'paid');
    const { events } = await second.fetchHistory();
    const inputs = events?.flatMap(({ activityTaskScheduledEventAttributes: scheduled }) =>
      scheduled?.activityType?.name === 'readEvents' ? [Buffer.from(scheduled.input?.payloads?.[0]?.data ?? [])] : [],
    );
    const call = JSON.parse(inputs?.[0]?.toString() ?? '') as ReadEventsCall;
    expect(call.watermark).toBe(last.pass?.watermark);
    expect((await second.describe()).memo).toMatchObject({ notices: last.notices });
  });

  it('by continuing as new is not started a second time by its Schedule, and keeps its notices', async () => {
    const before = await onlyTail();
    await before.terminate('a test');
    await schedule().update((previous) => ({ ...previous, action: { ...previous.action, args: [SHORT_LIVED] } }));
    const tail = await revived((await before.describe()).runId);
    const { runId } = await tail.describe();
    stack.sandbox.seedRecords({ disputes: [{}] });
    const notices = async () => (await findTailOf(stack))?.memo.notices?.length ?? 0;
    // It started without a record, so it adds the earlier notice as well.
    await expect.poll(notices).toBe(2);
    const run = async () => (await tail.describe()).runId;
    await expect.poll(run).not.toBe(runId);
    const skipped = async () => (await schedule().describe()).info.numActionsSkippedOverlap;
    const skips = await skipped();
    await schedule().trigger('SKIP');
    await expect.poll(skipped).toBeGreaterThan(skips);
    expect(await runningTails()).toEqual([tail.workflowId]);
    expect(await notices()).toBe(2);
    const body = await stack.open();
    stack.sandbox.mark(chargeIdOf(body), { status: 'successful' });
    await stack.untilStatus(body.id, 'paid');
  });

  it('had cost one timer and one activity for each pass that found nothing, and no other billed action', async () => {
    const tail = await onlyTail();
    const { runId } = await tail.describe();
    const run = async () => (await tail.describe()).runId;
    await expect.poll(run).not.toBe(runId);
    const { events } = await stack.temporal.client.workflow.getHandle(tail.workflowId, runId).fetchHistory();
    const count = (kind: keyof NonNullable<typeof events>[number]): number =>
      events?.filter((event) => event[kind] !== null && event[kind] !== undefined).length ?? 0;
    const passes = count('activityTaskScheduledEventAttributes');
    expect(passes).toBeGreaterThan(3);
    expect({
      timers: count('timerStartedEventAttributes'),
      signals: count('workflowExecutionSignaledEventAttributes'),
      attributes: count('upsertWorkflowSearchAttributesEventAttributes'),
      continuations: count('workflowExecutionContinuedAsNewEventAttributes'),
    }).toEqual({ timers: passes - 1, signals: 0, attributes: 0, continuations: 1 });
  });
});

describe('while the event tail runs', () => {
  it('new checkouts poll less often, and without the tail they poll at POLL_INTERVAL_MS', async () => {
    const stack = await Stack.start({ webhookUrl: null, shared: QUICK_TAIL });
    const pollOf = async ({ reference }: CheckoutJson) => {
      const [[started] = []] = await stack.runsOf(reference);
      const payload = started?.workflowExecutionStartedEventAttributes?.input?.payloads?.[0]?.data;
      const { policy } = JSON.parse(Buffer.from(payload ?? []).toString()) as { policy?: { pollIntervalMs?: number } };
      return policy?.pollIntervalMs;
    };
    try {
      expect(await pollOf((await stack.create()).body)).toBeUndefined();
      const tail = await TailRun.start(stack);
      const relaxed = async () => pollOf((await stack.create()).body);
      await expect.poll(relaxed, { interval: 500 }).toBe(300_000);
      const body = await stack.open();
      stack.sandbox.mark(chargeIdOf(body), { status: 'successful' });
      await stack.untilStatus(body.id, 'paid');
      await tail.stop();
      await expect.poll(relaxed, { interval: 500 }).toBeUndefined();
    } finally {
      await stack.stop();
    }
  });

  it('a payment that a webhook reported gets no further hint from the tail', async () => {
    const stack = await Stack.start({ shared: QUICK_TAIL });
    try {
      const body = await stack.open();
      stack.sandbox.mark(chargeIdOf(body), { status: 'successful' });
      await stack.untilStatus(body.id, 'paid');
      const tail = await TailRun.start(stack);
      await tail.nextPass();
      expect(await tail.handle.executeUpdate(backfill, { args: [{ from: '2000-01-01T00:00:00Z' }] })).toMatchObject({
        hinted: 0,
      });
      expect(await hintsOf(stack, body)).toHaveLength(1);
      await tail.stop();
    } finally {
      await stack.stop();
    }
  });

  async function expectNoneMissing(count: number): Promise<void> {
    const stack = await Stack.start(WITHOUT_WEBHOOKS);
    try {
      const checkouts: CheckoutJson[] = [];
      for (let batch = 0; batch < count / 20; batch += 1) {
        const made = await Promise.all(Array.from({ length: 20 }, () => stack.begin({ expires_in: 86_400 })));
        for (const { body } of made) checkouts.push(await stack.until(body.id, ({ qr }) => qr !== null, 60_000));
      }
      const { port } = new URL(stack.api.url);
      await stack.api.close();
      for (const checkout of checkouts) {
        stack.sandbox.mark(chargeIdOf(checkout), { status: 'successful' });
        stack.sandbox.advance(3_600 / count);
      }
      await stack.restartApi(port);
      const tail = await TailRun.start(stack);
      let left = checkouts;
      // In order: parallel requests would slow down what they wait for.
      const unpaid = async (): Promise<number> => {
        for (const { id } of left) {
          if ((await stack.get(`/v1/checkouts/${id}`)).body.status !== 'paid') break;
          left = left.slice(1);
        }
        return left.length;
      };
      await expect.poll(unpaid, { interval: 500 }).toBe(0);
      await tail.stop();
    } finally {
      await stack.stop();
    }
  }

  it.each([40])(
    'no payment is missing after the API was down for an hour in which %i customers paid',
    { timeout: 300_000 },
    (count) => expectNoneMissing(count),
  );
  it.each([200])(
    'no payment is missing after the API was down for an hour in which %i customers paid',
    { ...FULL, timeout: 300_000 },
    (count) => expectNoneMissing(count),
  );

  it("no event is missing after the tail's worker was killed between the read and the delivery", async () => {
    await withStack(WITHOUT_WEBHOOKS, async (stack, start) => {
      const first = await start();
      const tail = await TailRun.start(stack);
      const closed = await closedUnpaid(stack);
      const open = await stack.open();
      await first.stop();
      stack.sandbox.mark(chargeIdOf(open), { status: 'successful' });
      payLate(stack, closed);
      // The tail retrieves the closed checkout's charge after it read the events, and before it signals the checkout.
      const doomed = await start({
        signal: 'SIGKILL',
        moment: 'undici:request:create',
        method: 'GET',
        route: `/charges/${chargeIdOf(closed)}`,
      });
      await doomed.signalled;
      expect(stack.chargesOf(closed.id)[0]?.refunded_amount).toBe(0);
      await start();
      await stack.untilStatus(open.id, 'paid', 60_000);
      await stack.untilStatus(closed.id, 'refunded', 60_000);
      await tail.stop();
    });
  }, 120_000);
});

describe('an event that cannot be read', () => {
  it('becomes a notice, its checkout is still signalled, and all other events are delivered', async () => {
    const stack = await Stack.start(WITHOUT_WEBHOOKS);
    const tail = await TailRun.start(stack);
    try {
      // The tail reads no event before the fault is in place.
      stack.sandbox.faults.add({ method: 'GET', path: '/events', action: 'status', status: 503 });
      const { body: odd } = await stack.create();
      const other = await stack.open();
      stack.sandbox.mark(chargeIdOf(odd), { status: 'successful' });
      stack.sandbox.seedRecords({ disputes: [{}] });
      stack.sandbox.mark(chargeIdOf(other), { status: 'successful' });
      const events = stack.sandbox.state(['events']).events ?? [];
      const payment = events.find(({ key, data }) => key === 'charge.complete' && data.id === chargeIdOf(odd));
      const dispute = events.find(({ key }) => key === 'dispute.create');
      if (payment === undefined || dispute === undefined) throw new Error('Nothing happened');
      const records = { [payment.id]: { ...payment, key: null }, [dispute.id]: { ...dispute, data: 'gone' } };
      stack.sandbox.faults.clear();
      stack.sandbox.faults.add({ method: 'GET', path: '/events*', action: 'replace_records', records });

      await stack.untilStatus(odd.id, 'paid');
      await stack.untilStatus(other.id, 'paid');
      const unreadableEvents = async () =>
        ((await tail.memo()).notices ?? []).filter(({ code }) => code === 'event_unreadable');
      await expect.poll(unreadableEvents).toMatchObject([
        {
          subject: payment.id,
          checkout_id: odd.id,
          since: payment.created_at,
          detail: expect.stringContaining('key: '),
        },
        { subject: dispute.id, detail: expect.stringContaining('dispute.create') },
      ]);
      await tail.nextPass();
      const memo = await tail.memo();
      expect(memo.failing ?? null).toBeNull();
      expect(memo.unplaced).toMatchObject([
        { event_id: dispute.id, event_key: 'dispute.create', why: expect.stringContaining('unreadable: ') },
      ]);
      expect(memo.pass?.watermark).toBe(events.at(-1)?.created_at);

      await tail.handle.signal(dismissNotice, { id: `event_unreadable:${payment.id}`, reason: 'it was the payment' });
      await expect.poll(unreadableEvents).toMatchObject([{ subject: dispute.id }]);
      // Once the event can be read, it adds its notice.
      stack.sandbox.faults.clear();
      const unplaced = async () => (await tail.memo()).unplaced ?? [];
      await expect.poll(unplaced, { interval: 500 }).toEqual([]);
      expect((await tail.memo()).notices).toContainEqual(
        expect.objectContaining({ code: 'dispute_opened', event_id: dispute.id }),
      );
    } finally {
      await tail.stop();
      await stack.stop();
    }
  }, 180_000);

  it('and has no id becomes a notice and delays no other event; a page that is not a list is read again', async () => {
    const stack = await Stack.start(WITHOUT_WEBHOOKS);
    const tail = await TailRun.start(stack);
    try {
      stack.sandbox.faults.add({ method: 'GET', path: '/events', action: 'garbage_body' });
      const failing = async () => (await tail.memo()).failing ?? null;
      await expect.poll(failing).toMatchObject({ code: 'unexpected_response' });
      const { body: odd } = await stack.create();
      const body = await stack.open();
      stack.sandbox.mark(chargeIdOf(odd), { status: 'successful' });
      stack.sandbox.mark(chargeIdOf(body), { status: 'successful' });
      const lost = stack.sandbox
        .state(['events'])
        .events?.find(({ key, data }) => key === 'charge.complete' && data.id === chargeIdOf(odd));
      stack.sandbox.faults.clear();
      const records = { [lost?.id ?? '']: ['nothing', 'of', 'it'] };
      stack.sandbox.faults.add({ method: 'GET', path: '/events', action: 'replace_records', records });
      await stack.untilStatus(body.id, 'paid');
      const subjects = async () => ((await tail.memo()).notices ?? []).map(({ subject }) => subject);
      await expect.poll(subjects).toEqual([expect.stringMatching(/^unreadable_/)]);
      await tail.nextPass();
      const { failing: still = null, unplaced = [] } = await tail.memo();
      expect({ still, unplaced }).toEqual({ still: null, unplaced: [] });
    } finally {
      await tail.stop();
      await stack.stop();
    }
  });
});

describe('a problem of one checkout or one operator', () => {
  /**
   * A checkout whose memo is encrypted under a key that is gone, and that has this charge; no worker takes its tasks.
   */
  async function unreadable(stack: Stack, reference: string, chargeId: string) {
    const { connection } = stack.temporal;
    const workflowId = `checkout/default/${reference}`;
    const bytes = (text: string) => Buffer.from(text);
    const sealed = { encoding: bytes('binary/encrypted'), 'encryption-key-id': bytes('gone') };
    const listed = { encoding: bytes('json/plain'), type: bytes('KeywordList') };
    await connection.workflowService.startWorkflowExecution({
      namespace: 'default',
      workflowId,
      workflowType: { name: 'checkout' },
      taskQueue: { name: `unpolled-${randomUUID()}` },
      requestId: randomUUID(),
      memo: { fields: { intent: { metadata: sealed, data: bytes('x'.repeat(64)) } } },
      searchAttributes: { indexedFields: { ChargeId: { metadata: listed, data: bytes(JSON.stringify([chargeId])) } } },
    });
    const { workflow } = stack.temporal.client;
    const count = async () => (await workflow.count(`ChargeId = '${chargeId}'`)).count;
    await expect.poll(count).toBe(1);
    return workflow.getHandle(workflowId);
  }

  it('does not stop the tail: an unreadable checkout, open or closed, delays no other checkout', async () => {
    const stack = await Stack.start(WITHOUT_WEBHOOKS);
    try {
      const foreign = await chargeElsewhere(stack);
      const open = await unreadable(stack, `open-${randomUUID()}`, foreign);
      const reference = `closed-${randomUUID()}`;
      const late = await chargeElsewhere(stack, { checkout: `chk_default_${reference}`, attempt: '1' });
      const closed = await unreadable(stack, reference, late);
      await closed.terminate('a test');
      for (const charge of [foreign, late]) stack.sandbox.mark(charge, { status: 'successful' });
      await stack.refundElsewhere(foreign, 20_000);
      const body = await stack.open();
      stack.sandbox.mark(chargeIdOf(body), { status: 'successful' });
      const tail = await TailRun.start(stack);
      await stack.untilStatus(body.id, 'paid');
      const unplaced = async () => (await tail.memo()).unplaced;
      await expect
        .poll(unplaced)
        .toMatchObject([{ charge_id: late, why: expect.stringContaining('checkout_unreadable') }]);
      const { events } = await open.fetchHistory();
      expect(events?.filter((event) => event.workflowExecutionSignaledEventAttributes)).toHaveLength(1);
      await tail.stop();
      await open.terminate('the test is over');
    } finally {
      await stack.stop();
    }
  });

  it('does not stop the tail: a backfill from before 1970, or while the provider does not answer, leaves it running', async () => {
    const stack = await Stack.start(WITHOUT_WEBHOOKS);
    const tail = await TailRun.start(stack, SHORT_LIVED);
    try {
      const read = (from: string) => tail.handle.executeUpdate(backfill, { args: [{ from }] });
      expect(await read('0001-01-01T00:00:00Z')).toMatchObject({ unplaced: 0 });
      stack.sandbox.faults.add({ method: 'GET', path: '/events', action: 'status', status: 401 });
      const { runId } = await tail.handle.describe();
      await expect(read('2000-01-01T00:00:00Z')).rejects.toMatchObject({ cause: { type: 'backfill_unfinished' } });
      const run = async () => (await tail.handle.describe()).runId;
      await expect.poll(run).not.toBe(runId);
    } finally {
      await tail.stop();
      await stack.stop();
    }
  });

  it('a backfill delivers events again that the worker has already handled, as needed after a restore from a backup', async () => {
    const stack = await Stack.start(WITHOUT_WEBHOOKS);
    const tail = await TailRun.start(stack);
    try {
      const body = await stack.open();
      stack.sandbox.mark(chargeIdOf(body), { status: 'successful' });
      await stack.untilStatus(body.id, 'paid');
      await tail.nextPass();
      const workflowId = `checkout/default/${body.reference}`;
      await stack.temporal.connection.workflowService.deleteWorkflowExecution({
        namespace: 'default',
        workflowExecution: { workflowId },
      });
      const status = async () => (await stack.get(`/v1/checkouts/${body.id}`)).status;
      await expect.poll(status).toBe(404);
      expect(await tail.handle.executeUpdate(backfill, { args: [{ from: '2000-01-01T00:00:00Z' }] })).toMatchObject({
        unplaced: 1,
      });
      const about = { checkout_id: body.id, charge_id: chargeIdOf(body) };
      const memo = await tail.memo();
      expect(memo).toMatchObject({ notices: [{ code: 'checkout_missing', ...about }], unplaced: [about] });
      // Seen to by a person, its event is not tried any more.
      await tail.handle.signal(dismissNotice, { id: `checkout_missing:${chargeIdOf(body)}`, reason: 'booked by hand' });
      const left = async () => {
        const { notices = [], unplaced = [] } = await tail.memo();
        return { notices, unplaced };
      };
      await expect.poll(left).toEqual({ notices: [], unplaced: [] });
      await tail.nextPass();
      expect(await left()).toEqual({ notices: [], unplaced: [] });
    } finally {
      await tail.stop();
      await stack.stop();
    }
  });

  it('a checkout that was terminated during the return of late money continues to return it', async () => {
    const stack = await Stack.start(WITHOUT_WEBHOOKS);
    const tail = await TailRun.start(stack);
    try {
      const closed = await closedUnpaid(stack);
      stack.sandbox.faults.add({ method: 'POST', path: '/charges/{id}/refunds', action: 'status', status: 429 });
      payLate(stack, closed);
      const entries = async () => (await stack.timeline(closed.id)).map(({ what }) => what);
      await expect.poll(entries).toContain('refund_requested');
      await stack.workflowOf(closed.id).terminate('a test');
      expect(await tail.handle.executeUpdate(backfill, { args: [{ from: '2000-01-01T00:00:00Z' }] })).toMatchObject({
        reopened: 1,
      });
      // Until here, because the worker may still send the refund of the terminated run.
      expect(stack.chargesOf(closed.id)[0]?.refunded_amount).toBe(0);
      stack.sandbox.faults.clear();
      await stack.untilStatus(closed.id, 'refunded', 90_000);
      expect(stack.chargesOf(closed.id)[0]?.refunded_amount).toBe(150_000);
    } finally {
      await tail.stop();
      await stack.stop();
    }
  }, 180_000);
});
