import { apiSettings, startApi } from '@tillflow/api';
import { begin } from '@tillflow/workflows';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { PATHS, startDirectly } from './support/paths.js';
import { scanQr } from './support/scan-qr.js';
import {
  chargeIdOf,
  KEYS,
  IMPATIENT,
  newReference,
  Stack,
  type CheckoutJson,
  type ProblemJson,
} from './support/stack.js';

let stack: Stack;
beforeAll(async () => {
  stack = await Stack.start();
});
afterAll(() => stack.stop());

const words = async (id: string): Promise<string[]> => (await stack.timeline(id)).map(({ what }) => what);

describe('a checkout', () => {
  it('answers with a QR that the customer can scan, and links to its image without a key', async () => {
    const { status, body, headers } = await stack.create();
    expect(status).toBe(201);
    expect(body).toMatchObject({ status: 'awaiting_payment', amount: 150_000, currency: 'THB', paid_at: null });
    expect(headers.get('location')).toBe(`/v1/checkouts/${body.id}`);
    const [charge] = stack.chargesOf(body.id);
    expect(charge?.source?.scannable_code?.raw_data).toBe(body.qr?.raw_data);

    const image = await fetch(body.qr?.image_url ?? '');
    expect(image.status).toBe(200);
    expect(image.headers.get('content-type')).toContain('image/svg+xml');
    const provided = await fetch(body.qr?.download_uri ?? '');
    expect(await image.text()).toBe(await provided.text());

    const forged = await fetch(`${body.qr?.image_url}x`);
    expect(forged.status).toBe(401);
  });

  it('shows at once in every API process what its first answer shows, and stays so', async () => {
    const other = await startApi(apiSettings(stack.apiEnvironment()), stack.logger);
    const read = async (id: string) => {
      const headers = { authorization: `Bearer ${KEYS.checkout}` };
      return shown((await (await fetch(`${other.url}/v1/checkouts/${id}`, { headers })).json()) as CheckoutJson);
    };
    const shown = ({ status, attempts, qr, version, updated_at }: CheckoutJson) => {
      return { status, attempts, code: qr?.raw_data, version, updated_at };
    };
    try {
      // The workflow may still write the first state when the answer is there.
      const answers = [];
      for (let times = 0; times < 20; times += 1) {
        const { body } = await stack.create();
        expect(await read(body.id)).toEqual(shown(body));
        answers.push(body);
      }
      for (const body of answers) expect(await read(body.id)).toEqual(shown(body));
    } finally {
      await other.close();
    }
  });

  it('is paid once the customer confirmed, and says until when it can be voided and refunded', async () => {
    const body = await stack.open({ description: 'Coffee', metadata: { order: '7' }, terminal: 'till-1' });
    stack.sandbox.mark(chargeIdOf(body), { status: 'successful' });
    const paid = await stack.untilStatus(body.id, 'paid');
    const [charge] = stack.chargesOf(body.id);
    expect(paid).toMatchObject({ paid_at: charge?.paid_at, qr: null, description: 'Coffee', metadata: { order: '7' } });
    expect(Date.parse(paid.refundable_until ?? '') - Date.parse(paid.paid_at ?? '')).toBeGreaterThan(364 * 86_400_000);
    expect(paid.voidable_until).toMatch(/T16:15:00\.000Z$/);
    expect(Date.parse(paid.voidable_until ?? '')).toBeGreaterThan(Date.parse(paid.paid_at ?? ''));
    expect(await words(body.id)).toEqual(['opened', 'source_created', 'charge_created', 'webhook', 'paid']);
  });

  it("shows the provider's failure code and message after a failed payment", async () => {
    const body = await stack.open();
    stack.sandbox.mark(chargeIdOf(body), { status: 'failed', failure_code: 'insufficient_fund' });
    const failed = await stack.untilStatus(body.id, 'failed');
    expect(failed.attempts).toMatchObject([{ status: 'failed', failure_code: 'insufficient_fund' }]);
    expect(failed.attempts[0]?.failure_message).toBeTruthy();
    expect(failed.qr).toBeNull();
  });

  it("expires when Tillflow's timer fires, and its charge is then expired at the provider", async () => {
    const { body } = await stack.create({ expires_in: 5 });
    const expired = await stack.untilStatus(body.id, 'expired');
    expect(expired.attempts).toMatchObject([{ status: 'expired', failure_code: null }]);
    expect(stack.chargesOf(body.id)).toMatchObject([{ status: 'expired', expired: true }]);
  });

  it('is cancelled on request, also when asked twice, and can no longer be paid', async () => {
    const { body } = await stack.create();
    const cancelled = await stack.post(`/v1/checkouts/${body.id}/cancel`);
    expect(cancelled).toMatchObject({ status: 200, body: { status: 'cancelled', qr: null } });
    expect(stack.chargesOf(body.id)).toMatchObject([{ status: 'expired' }]);
    expect(await stack.post(`/v1/checkouts/${body.id}/cancel`)).toMatchObject({
      status: 200,
      body: { status: 'cancelled' },
    });
    const gone = await stack.get<ProblemJson>(`/v1/checkouts/${body.id}/qr`);
    expect(gone).toMatchObject({ status: 404, body: { code: 'qr_gone' } });
  });

  it('is not cancelled when the customer has already paid', async () => {
    const body = await stack.open();
    stack.sandbox.webhooks.clear();
    stack.sandbox.mark(chargeIdOf(body), { status: 'successful' });
    const refused = await stack.post<ProblemJson>(`/v1/checkouts/${body.id}/cancel`);
    stack.sendWebhooksTo(`${stack.api.url}/webhooks/provider`);
    expect(refused).toMatchObject({ status: 409, body: { code: 'already_paid' } });
    expect((await stack.get(`/v1/checkouts/${body.id}`)).body.status).toBe('paid');
  });

  it('is not cancelled and shows no QR while the provider refuses the expire call because a customer is confirming', async () => {
    const body = await stack.open();
    const refuse = { method: 'POST', path: '/charges/{id}/expire', action: 'status', status: 400 } as const;
    stack.sandbox.faults.add({ ...refuse, code: 'failed_expire' });
    const undecided = await stack.withApi(IMPATIENT, () => stack.post(`/v1/checkouts/${body.id}/cancel`));
    expect(undecided).toMatchObject({ status: 202, body: { status: 'awaiting_payment', qr: null } });
    stack.sandbox.faults.clear();
    stack.sandbox.mark(chargeIdOf(body), { status: 'successful' });
    const paid = await stack.untilStatus(body.id, 'paid');
    expect(paid.attention).toBeNull();
  });

  it('shows no QR as soon as a cancel is requested, however long the provider takes', async () => {
    const { body } = await stack.create();
    stack.sandbox.faults.add({
      method: 'POST',
      path: '/charges/{id}/expire',
      action: 'commit_then_delay',
      delay_ms: 6_000,
      times: 1,
    });
    const cancel = () => stack.post(`/v1/checkouts/${body.id}/cancel`);
    expect(await stack.withApi(IMPATIENT, cancel)).toMatchObject({ status: 202, body: { qr: null } });
    expect((await stack.get(`/v1/checkouts/${body.id}`)).body).toMatchObject({ status: 'awaiting_payment', qr: null });
    await stack.untilStatus(body.id, 'cancelled');
  });

  it('stays failed when a cancel follows', async () => {
    const body = await stack.open();
    stack.sandbox.mark(chargeIdOf(body), { status: 'failed', failure_code: 'payment_rejected' });
    const failed = await stack.untilStatus(body.id, 'failed');
    expect(await stack.post(`/v1/checkouts/${body.id}/cancel`)).toMatchObject({ status: 200, body: failed });
  });

  it('answers with its last known state after an operator has terminated it, not with a server error', async () => {
    stack.sandbox.faults.add({ method: 'POST', path: '/sources', action: 'delay', delay_ms: 6_000, times: 1 });
    const reference = newReference();
    const opening = stack.create({ reference });
    const handle = stack.temporal.client.workflow.getHandle(`checkout/default/${reference}`);
    await expect
      .poll(() =>
        handle.describe().then(
          () => true,
          () => false,
        ),
      )
      .toBe(true);
    await handle.terminate('as an operator would');
    expect(await opening).toMatchObject({ status: 202, body: { status: 'creating' } });
    const cancel = () => stack.post(`/v1/checkouts/chk_default_${reference}/cancel`);
    expect((await stack.withApi(IMPATIENT, cancel)).status).toBe(202);
  });

  it("becomes failed with the provider's code when the provider refuses the charge, and nothing is charged", async () => {
    stack.sandbox.faults.add({
      method: 'POST',
      path: '/charges',
      action: 'status',
      status: 400,
      code: 'invalid_charge',
      times: 1,
    });
    const { status, body } = await stack.create();
    expect(status).toBe(201);
    expect(body).toMatchObject({
      status: 'failed',
      qr: null,
      attempts: [{ failure_code: 'invalid_charge', charge_id: null }],
    });
    expect(stack.chargesOf(body.id)).toEqual([]);
  });

  it('uses the source that a client made, after checking it', async () => {
    const source = async (form: string): Promise<string> => {
      const response = await fetch(`${stack.sandboxUrl}/sources`, {
        method: 'POST',
        headers: {
          authorization: `Basic ${Buffer.from(`${stack.sandbox.keys.public}:`).toString('base64')}`,
          'content-type': 'application/x-www-form-urlencoded',
        },
        body: form,
      });
      return ((await response.json()) as { id: string }).id;
    };
    const own = await source('type=wallet_mpm&amount=150000&currency=THB');
    const { status, body } = await stack.create({ source: own });
    expect(status).toBe(201);
    expect(body.attempts[0]?.source_id).toBe(own);

    // The same request again needs no provider.
    stack.sandbox.faults.add({ method: 'GET', path: '/sources/{id}', action: 'status', status: 500 });
    const again = await stack.create({ reference: body.reference, source: own });
    stack.sandbox.faults.clear();
    expect(again).toMatchObject({ status: 200, body: { id: body.id } });

    const other = await source('type=wallet_mpm&amount=150001&currency=THB');
    // `own` is used by now.
    for (const wrong of [other, own, 'src_test_doesnotexist']) {
      const refused = await stack.post<ProblemJson>('/v1/checkouts', {
        reference: newReference(),
        amount: 150_000,
        currency: 'THB',
        source: wrong,
      });
      expect(refused).toMatchObject({ status: 422, body: { code: 'source_mismatch' } });
    }
  });
});

describe('one reference', () => {
  it('has one checkout when two requests with the same source arrive at once, although the first one uses the source', async () => {
    const response = await fetch(`${stack.sandboxUrl}/sources`, {
      method: 'POST',
      headers: { authorization: `Basic ${btoa(`${stack.sandbox.keys.public}:`)}` },
      body: new URLSearchParams({ type: 'wallet_mpm', amount: '150000', currency: 'THB' }),
    });
    const { id: source } = (await response.json()) as { id: string };
    const reference = newReference();
    // Both ask before there is a checkout; the second is answered when the first has used the source.
    for (const delay_ms of [300, 2_000]) {
      stack.sandbox.faults.add({ method: 'GET', path: `/sources/${source}`, action: 'delay', delay_ms, times: 1 });
    }
    const answers = await Promise.all([stack.create({ reference, source }), stack.create({ reference, source })]);
    expect(answers.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([200, 201]);
    expect(stack.chargesOf(answers[0].body.id)).toHaveLength(1);
  });

  it('has one source and one charge when 20 requests arrive at once; all get the same body, and exactly one gets 201', async () => {
    const reference = newReference();
    const before = stack.requests('POST /sources').length;
    const answers = await Promise.all(Array.from({ length: 20 }, () => stack.create({ reference })));
    expect(answers.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([
      ...Array<number>(19).fill(200),
      201,
    ]);
    expect(new Set(answers.map(({ body }) => JSON.stringify(body))).size).toBe(1);
    expect(stack.requests('POST /sources').length - before).toBe(1);
    expect(stack.chargesOf(answers[0]?.body.id ?? '')).toHaveLength(1);
  });

  it('returns the same checkout when it is requested again, also after the checkout has ended', async () => {
    const reference = newReference();
    const first = await stack.create({ reference });
    stack.sandbox.mark(chargeIdOf(first.body), { status: 'successful' });
    const paid = await stack.untilStatus(first.body.id, 'paid');
    const again = await stack.create({ reference });
    expect(again).toMatchObject({ status: 200, body: paid });
    expect(stack.chargesOf(first.body.id)).toHaveLength(1);
  });

  it.each([{ amount: 150_001 }, { currency: 'MYR' }])(
    'is refused with %j, and the first checkout does not change',
    async (change) => {
      const reference = newReference();
      const first = await stack.create({ reference });
      const second = await stack.post<ProblemJson>('/v1/checkouts', {
        reference,
        amount: 150_000,
        currency: 'THB',
        ...change,
      });
      expect(second).toMatchObject({ status: 409, body: { code: 'reference_conflict' } });
      expect((await stack.get(`/v1/checkouts/${first.body.id}`)).body).toEqual(first.body);
      expect(stack.chargesOf(first.body.id)).toHaveLength(1);
    },
  );
});

describe('the list of checkouts', () => {
  type Page = { data: CheckoutJson[]; next_cursor: string | null };
  const page = async (query: Record<string, string>): Promise<Page> =>
    (await stack.get<Page>(`/v1/checkouts?${new URLSearchParams(query).toString()}`)).body;

  it('shows a new checkout within five seconds, and finds it by reference and status', async () => {
    const body = await stack.open();
    const found = async (query: Record<string, string>): Promise<string[]> =>
      (await page({ reference: body.reference, ...query })).data.map(({ id }) => id);
    await expect.poll(() => found({})).toEqual([body.id]);
    expect(await found({ status: 'awaiting_payment' })).toEqual([body.id]);
    expect(await found({ status: 'creating' })).toEqual([]);
    expect(await found({ status: 'paid' })).toEqual([]);
    stack.sandbox.mark(chargeIdOf(body), { status: 'successful' });
    const paid = await stack.untilStatus(body.id, 'paid');
    await expect.poll(() => found({ status: 'paid' })).toEqual([body.id]);
    expect((await page({ reference: body.reference })).data).toEqual([paid]);
  });

  it('finds a checkout by its present status, and by no other status', async () => {
    const expired = await stack.create({ expires_in: 5 });
    const waiting = await stack.create();
    const failed = await stack.create();
    stack.sandbox.mark(chargeIdOf(failed.body), { status: 'failed', failure_code: 'insufficient_fund' });
    const cancelled = await stack.create();
    await stack.post(`/v1/checkouts/${cancelled.body.id}/cancel`);
    const paid = await stack.create();
    const partly = await stack.create();
    const refunded = await stack.create();
    for (const { body } of [paid, partly, refunded]) {
      stack.sandbox.mark(chargeIdOf(body), { status: 'successful' });
      await stack.untilStatus(body.id, 'paid');
    }
    const requestRefund = (id: string, body: unknown) =>
      stack.request('POST', `/v1/checkouts/${id}/refunds`, { body, headers: { 'idempotency-key': 'k' } });
    expect((await requestRefund(partly.body.id, { amount: 50_000 })).status).toBe(201);
    expect((await requestRefund(refunded.body.id, {})).status).toBe(201);
    await stack.untilStatus(expired.body.id, 'expired');
    const all = {
      awaiting_payment: waiting,
      failed,
      cancelled,
      paid,
      partially_refunded: partly,
      refunded,
      expired,
    };
    for (const [status, { body }] of Object.entries(all)) {
      const found = async (wanted: string): Promise<CheckoutJson[]> =>
        (await page({ reference: body.reference, status: wanted })).data;
      await expect.poll(() => found(status)).toMatchObject([{ id: body.id, status }]);
      for (const other of Object.keys(all)) if (other !== status) expect(await found(other)).toEqual([]);
      // Runs that continued as new are one checkout.
      expect((await page({ reference: body.reference })).data).toHaveLength(1);
    }
  });

  it('shows every checkout of a period once across its pages: open ones first, the newest first in each part', async () => {
    const from = new Date(Date.now() - 5).toISOString();
    const ids: string[] = [];
    for (let count = 0; count < 5; count += 1) ids.push((await stack.create()).body.id);
    const to = new Date().toISOString();
    /** Reads all pages. Other stacks share the namespace: their checkouts are left out. */
    const listed = async (limit: number): Promise<string[]> => {
      const seen: string[] = [];
      let cursor: string | null = null;
      do {
        const query = { from, to, limit: String(limit), ...(cursor === null ? {} : { cursor }) };
        const { data, next_cursor }: Page = await page(query);
        expect(data.length).toBeLessThanOrEqual(limit);
        seen.push(...data.map(({ id }) => id));
        cursor = next_cursor;
      } while (cursor !== null);
      return seen.filter((id) => ids.includes(id));
    };
    await expect.poll(() => listed(100)).toEqual(ids.toReversed());
    const closed = ids[4] ?? '';
    stack.sandbox.mark(chargeIdOf((await stack.get(`/v1/checkouts/${closed}`)).body), { status: 'successful' });
    await expect.poll(() => listed(100)).toEqual([ids[3], ids[2], ids[1], ids[0], closed]);
    expect(await listed(2)).toEqual([ids[3], ids[2], ids[1], ids[0], closed]);

    // By creation, whichever was paid first.
    stack.sandbox.mark(chargeIdOf((await stack.get(`/v1/checkouts/${ids[2] ?? ''}`)).body), { status: 'successful' });
    await stack.untilStatus(ids[2] ?? '', 'paid');
    await expect.poll(() => listed(100)).toEqual([ids[3], ids[1], ids[0], closed, ids[2]]);

    const { next_cursor: cursor } = await page({ from, to, limit: '2' });
    const elsewhere = new URLSearchParams({ from, limit: '2', cursor: cursor ?? '' });
    expect(await stack.get<ProblemJson>(`/v1/checkouts?${elsewhere.toString()}`)).toMatchObject({
      status: 400,
      body: { code: 'invalid_request' },
    });
  });
});

describe('while no worker runs', () => {
  it('a request for a checkout gets 202, the checkout can be read, and it has a QR once a worker is back', async () => {
    await stack.stopWorker();
    try {
      const reference = newReference();
      const slow = await stack.withApi(IMPATIENT, () => stack.create({ reference }));
      expect(slow).toMatchObject({ status: 202, body: { status: 'creating', qr: null } });
      expect(slow.headers.get('location')).toBe(slow.body.location);
      expect(slow.body.location).toMatch(/\?wait=\d+&after_version=\d+$/);
      const read = await stack.get(`/v1/checkouts/${slow.body.id}`);
      expect(read).toMatchObject({ status: 200, body: { id: slow.body.id, status: 'creating' } });
      const again = await stack.withApi(IMPATIENT, () => stack.create({ reference }));
      expect(again.status).toBe(202);

      const other = await stack.withApi(IMPATIENT, () => stack.create());
      const cancel = () => stack.post(`/v1/checkouts/${other.body.id}/cancel`);
      const cancelling = await stack.withApi(IMPATIENT, cancel);
      expect(cancelling.status).toBe(202);
      expect(cancelling.body.location).toMatch(/\?wait=\d+&after_version=\d+$/);
      const cancelled = stack.temporal.client.workflow.getHandle(`checkout/default/${other.body.reference}`);
      const signals = ((await cancelled.fetchHistory()).events ?? []).flatMap(
        ({ workflowExecutionSignaledEventAttributes: signal }) => signal?.signalName ?? [],
      );
      // Durable without a worker: an update that none has accepted would be lost with the server's memory.
      expect(signals).toEqual(['cancelRequest']);
      await stack.startWorker();
      const ready = await stack.until(slow.body.id, ({ qr }) => qr !== null);
      expect(ready.status).toBe('awaiting_payment');
      expect(stack.chargesOf(slow.body.id)).toHaveLength(1);
      await stack.untilStatus(other.body.id, 'cancelled');
      expect(stack.chargesOf(other.body.id)).toEqual([]);
    } finally {
      await stack.stopWorker();
      await stack.startWorker();
    }
  });
});

describe('a checkout with a long history', () => {
  it('continues as new, and keeps its state, its timeline and its payment', async () => {
    const paid = await PATHS['continued-as-new']?.(stack);
    const id = paid?.id ?? '';
    expect(paid).toMatchObject({ status: 'paid', attempts: [{ number: 1, status: 'successful' }] });
    expect(await words(id)).toEqual(expect.arrayContaining(['opened', 'charge_created', 'paid']));
    expect(stack.chargesOf(id)).toHaveLength(1);
    // GET reads the memo before the new run's first task: the whole memo was passed along.
    const { events } = await stack.temporal.client.workflow
      .getHandle(`checkout/default/${paid?.reference}`)
      .fetchHistory();
    const started = events?.[0]?.workflowExecutionStartedEventAttributes;
    expect(started?.continuedExecutionRunId).toBeTruthy();
    expect(Object.keys(started?.memo?.fields ?? {}).toSorted()).toEqual([
      'events',
      'intent',
      'requestNonce',
      'state',
      'timeline',
      'version',
    ]);
  });
});

describe('a checkout whose charge the provider does not create', () => {
  it('does not delay continue-as-new: the waiting caller gets the known state', async () => {
    const silent = await Stack.start();
    try {
      silent.sandbox.faults.add([
        { method: 'POST', path: '/charges', action: 'reset_before' },
        { method: 'GET', path: '/sources/{id}', action: 'status', status: 500 },
      ]);
      const quick = { sendWithinMs: 500, callDeadlineMs: 500, settleMs: 100, lookupDelaysMs: [20] };
      const { id, reference } = await startDirectly(silent, { ...quick, maxHistoryEvents: 40 });
      const next = silent.untilNextRun(reference);
      expect(await silent.workflowOf(id).executeUpdate(begin)).toMatchObject({ state: { status: 'creating' } });
      await next;
      silent.sandbox.faults.clear();
      expect(await silent.until(id, ({ qr }) => qr !== null)).toMatchObject({ status: 'awaiting_payment' });
      expect(silent.chargesOf(id)).toHaveLength(1);
    } finally {
      await silent.stop();
    }
  });
});

describe('a cancel that the provider keeps refusing', () => {
  it('does not delay continue-as-new, and is carried out in the next run', async () => {
    stack.sandbox.faults.add({ method: 'POST', path: '/charges/{id}/expire', action: 'status', status: 400 });
    const { id, reference } = await startDirectly(stack, { maxHistoryEvents: 60, lookupDelaysMs: [20] });
    await stack.until(id, ({ qr }) => qr !== null);
    const next = stack.untilNextRun(reference);
    await stack.post(`/v1/checkouts/${id}/cancel`);
    await next;
    expect((await stack.get(`/v1/checkouts/${id}`)).body).toMatchObject({ status: 'awaiting_payment', qr: null });
    stack.sandbox.faults.clear();
    await stack.untilStatus(id, 'cancelled');
  });
});

describe('a payment that comes after the checkout was reported as cancelled', () => {
  it('is voided automatically and in full, and the checkout is never shown as paid', async () => {
    const late = await PATHS['paid-after-it-was-reported-cancelled']?.(stack);
    expect(late).toMatchObject({ status: 'refunded', refunded_amount: 150_000, attention: null });
    expect(await words(late?.id ?? '')).toEqual(expect.arrayContaining(['cancelled', 'paid', 'voided']));
    expect(stack.chargesOf(late?.id ?? '')).toMatchObject([{ voided: true, refunded_amount: 150_000 }]);
  });
});

describe('with LATE_PAYMENT=keep', () => {
  it('a payment after the reported end is accepted, and the checkout shows attention', async () => {
    const keeping = await Stack.start({ api: { LATE_PAYMENT: 'keep' } });
    try {
      const body = await keeping.open();
      await keeping.post(`/v1/checkouts/${body.id}/cancel`);
      keeping.sandbox.mark(chargeIdOf(body), { status: 'successful', force: true });
      const late = await keeping.untilStatus(body.id, 'paid');
      expect(late).toMatchObject({ refunded_amount: 0, attention: { code: 'late_payment' } });
    } finally {
      await keeping.stop();
    }
  });
});

describe('the QR image', () => {
  it('is drawn from its data when the provider cannot be reached, and is the same code', async () => {
    const cut = await Stack.start({ webhookUrl: null });
    try {
      const [first, second] = [(await cut.create()).body, (await cut.create()).body];
      const drawn = async ({ qr }: CheckoutJson): Promise<string> => (await fetch(qr?.image_url ?? '')).text();
      const provided = await drawn(first);
      await cut.sandbox.close();
      const own = await drawn(second);
      expect(own).toContain('<svg');
      expect(scanQr(own)).toBe(second.qr?.raw_data);
      expect(scanQr(provided)).toBe(first.qr?.raw_data);
    } finally {
      await cut.stop();
    }
  });
});

describe('an API key', () => {
  it('is required: a request without a key or with an unknown key gets 401', async () => {
    const { body } = await stack.create();
    for (const key of [null, 'wrong', '']) {
      const refused = await stack.request<ProblemJson>('GET', `/v1/checkouts/${body.id}`, { key });
      expect(refused).toMatchObject({ status: 401, body: { code: 'unauthorized' } });
    }
    expect((await stack.request('GET', `/v1/checkouts/${body.id}`, { key: KEYS.ops })).status).toBe(200);
  });
});
