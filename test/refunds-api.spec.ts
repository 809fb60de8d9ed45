import { apiSettings, startApi } from '@tillflow/api';
import type { Refund } from '@tillflow/workflows';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { eventually } from './support/eventually.js';
import { chargeIdOf, IMPATIENT, Stack, type Answer, type CheckoutJson, type ProblemJson } from './support/stack.js';

let stack: Stack;
beforeAll(async () => {
  stack = await Stack.start();
});
afterAll(() => stack.stop());

const PRICE = 150_000;

async function paid(): Promise<CheckoutJson> {
  const body = await stack.open({ amount: PRICE });
  stack.sandbox.mark(chargeIdOf(body), { status: 'successful' });
  return stack.untilStatus(body.id, 'paid');
}

function requestRefund<T = Refund>(id: string, key: string, body?: unknown): Promise<Answer<T>> {
  return stack.request<T>('POST', `/v1/checkouts/${id}/refunds`, { body, headers: { 'idempotency-key': key } });
}

/** The refunded amounts of the checkout's charges in the provider's records. */
function refundsOf(checkout: CheckoutJson): number[] {
  const charges = new Set(stack.chargesOf(checkout.id).map(({ id }) => id));
  const refunds = stack.sandbox.state().refunds.filter(({ charge }) => charges.has(charge));
  return refunds.map(({ amount }) => amount);
}

const end = (checkout: CheckoutJson): Promise<unknown> =>
  stack.temporal.client.workflow.getHandle(`checkout/default/${checkout.reference}`).terminate('as its end');

async function signalsOf({ reference }: CheckoutJson): Promise<string[]> {
  const { events } = await stack.temporal.client.workflow.getHandle(`checkout/default/${reference}`).fetchHistory();
  return (events ?? []).flatMap(({ workflowExecutionSignaledEventAttributes: signal }) => signal?.signalName ?? []);
}

describe('a refund', () => {
  it('a partial refund answers 201 once the provider made it, and the checkout shows it', async () => {
    const checkout = await paid();
    const { status, body } = await requestRefund(checkout.id, 'return-1', { amount: 50_000, reason: 'One was cold' });
    expect(status).toBe(201);
    expect(body).toMatchObject({
      key: 'return-1',
      charge_id: chargeIdOf(checkout),
      amount: 50_000,
      currency: 'THB',
      kind: 'refund',
      status: 'succeeded',
      reason: 'One was cold',
      failure_code: null,
    });
    expect(body.id).toMatch(/^rfnd_/);
    expect(refundsOf(checkout)).toEqual([50_000]);
    expect((await stack.get(`/v1/checkouts/${checkout.id}`)).body).toMatchObject({
      status: 'partially_refunded',
      refunded_amount: 50_000,
    });
    expect(await stack.get(`/v1/checkouts/${checkout.id}/refunds`)).toMatchObject({
      status: 200,
      body: { data: [body], next_cursor: null },
    });
  });

  it('without an amount returns the whole payment, or the rest of it', async () => {
    const whole = await paid();
    expect(await requestRefund(whole.id, 'all')).toMatchObject({
      status: 201,
      body: { amount: PRICE, status: 'succeeded' },
    });
    expect((await stack.get(`/v1/checkouts/${whole.id}`)).body.status).toBe('refunded');
    const parted = await paid();
    await requestRefund(parted.id, 'part', { amount: 1_000 });
    expect(await requestRefund(parted.id, 'rest', {})).toMatchObject({ status: 201, body: { amount: PRICE - 1_000 } });
    expect(refundsOf(parted)).toEqual([1_000, PRICE - 1_000]);
    expect((await stack.get(`/v1/checkouts/${parted.id}`)).body).toMatchObject({
      status: 'refunded',
      refunded_amount: PRICE,
    });
  });

  it('gets 200 with the same refund when its key is sent again, and nothing more is refunded', async () => {
    const checkout = await paid();
    const first = await requestRefund(checkout.id, 'k', { amount: 50_000 });
    expect(await requestRefund(checkout.id, 'k', { amount: 50_000 })).toMatchObject({ status: 200, body: first.body });
    expect(refundsOf(checkout)).toEqual([50_000]);
    const conflict = await requestRefund<ProblemJson>(checkout.id, 'k', { amount: 50_001 });
    expect(conflict).toMatchObject({ status: 409, body: { code: 'idempotency_conflict' } });
    expect(refundsOf(checkout)).toEqual([50_000]);
  });

  it('is made once when ten requests with one key arrive at once: all get the same body, and exactly one gets 201', async () => {
    const checkout = await paid();
    const answers = await Promise.all(
      Array.from({ length: 10 }, () => requestRefund(checkout.id, 'once', { amount: 50_000 })),
    );
    expect(answers.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([...Array<number>(9).fill(200), 201]);
    expect(new Set(answers.map(({ body }) => JSON.stringify(body))).size).toBe(1);
    expect(refundsOf(checkout)).toEqual([50_000]);
  });

  it('is made once when requests with one key arrive at two API processes, and exactly one gets 201', async () => {
    const other = await startApi(apiSettings(stack.apiEnvironment()), stack.logger);
    const ask = async (origin: string, id: string): Promise<{ status: number; body: string }> => {
      const response = await fetch(`${origin}/v1/checkouts/${id}/refunds`, {
        method: 'POST',
        headers: {
          authorization: 'Bearer key-of-a-till',
          'idempotency-key': 'both',
          'content-type': 'application/json',
        },
        body: JSON.stringify({ amount: 50_000 }),
      });
      return { status: response.status, body: await response.text() };
    };
    try {
      for (let round = 0; round < 5; round += 1) {
        const checkout = await paid();
        const origins = [stack.api.url, other.url, stack.api.url, other.url];
        const answers = await Promise.all(origins.map((origin) => ask(origin, checkout.id)));
        expect(answers.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([200, 200, 200, 201]);
        expect(new Set(answers.map(({ body }) => body)).size).toBe(1);
        expect(refundsOf(checkout)).toEqual([50_000]);
        expect((await ask(other.url, checkout.id)).status).toBe(200);
      }
    } finally {
      await other.close();
    }
  });

  it('no answer shows the request nonce of a refund', async () => {
    const checkout = await paid();
    const { body } = await requestRefund(checkout.id, 'k', { amount: 50_000 });
    const { refunds = [] } = await stack.memoOf(checkout.id);
    expect(refunds).toMatchObject([{ nonce: expect.stringMatching(/^[\w-]{8}$/) }]);
    const listed = await stack.get<{ data: Refund[] }>(`/v1/checkouts/${checkout.id}/refunds`);
    expect(Object.keys(body)).not.toContain('nonce');
    expect(listed.body.data).toEqual([body]);
  });

  it('is refused when parallel refunds with different keys would exceed the payment', async () => {
    const checkout = await paid();
    const answers = await Promise.all(
      Array.from({ length: 8 }, (_, n) => requestRefund<ProblemJson>(checkout.id, `key-${n}`, { amount: 40_000 })),
    );
    expect(answers.filter(({ status }) => status === 201)).toHaveLength(3);
    for (const refused of answers.filter(({ status }) => status !== 201)) {
      expect(refused).toMatchObject({ status: 422, body: { code: 'refund_exceeds_paid' } });
    }
    expect(refundsOf(checkout)).toEqual([40_000, 40_000, 40_000]);
  });

  it('is refused above the paid amount, and for a checkout that is not paid', async () => {
    const checkout = await paid();
    const more = await requestRefund<ProblemJson>(checkout.id, 'k', { amount: PRICE + 1 });
    expect(more).toMatchObject({ status: 422, body: { code: 'refund_exceeds_paid' } });
    const { body } = await stack.create();
    const unpaid = await requestRefund<ProblemJson>(body.id, 'k');
    expect(unpaid).toMatchObject({ status: 409, body: { code: 'not_paid' } });
    expect([...refundsOf(checkout), ...refundsOf(body)]).toEqual([]);
  });

  it('that the provider refuses is rejected with its reason, and nothing is refunded', async () => {
    const checkout = await paid();
    stack.sandbox.faults.add({
      method: 'POST',
      path: '/charges/{id}/refunds',
      action: 'status',
      status: 400,
      code: 'failed_refund',
      times: 1,
    });
    const { status, body } = await requestRefund(checkout.id, 'k', { amount: 50_000 });
    expect(status).toBe(201);
    expect(body).toMatchObject({ status: 'rejected', failure_code: 'failed_refund', id: null });
    expect(await requestRefund(checkout.id, 'k', { amount: 50_000 })).toMatchObject({ status: 200, body });
    expect(refundsOf(checkout)).toEqual([]);
    expect((await stack.get(`/v1/checkouts/${checkout.id}`)).body).toMatchObject({
      status: 'paid',
      refunded_amount: 0,
    });
  });
});

describe('a refund whose outcome is not known in time', () => {
  it('gets 202 and is pending, is stored durably under its key, and is made once', async () => {
    const checkout = await paid();
    stack.sandbox.faults.add({
      method: 'POST',
      path: '/charges/{id}/refunds',
      action: 'commit_then_delay',
      delay_ms: 6_000,
      times: 1,
    });
    const ask = () => requestRefund(checkout.id, 'slow', { amount: 50_000, reason: 'Cold' });
    const slow = await stack.withApi(IMPATIENT, ask);
    expect(slow).toMatchObject({
      status: 202,
      body: {
        id: null,
        key: 'slow',
        amount: 50_000,
        currency: 'THB',
        kind: 'refund',
        status: 'pending',
        reason: 'Cold',
      },
    });
    // Durable in the memo: the workflow took it before the provider was slow.
    await expect.poll(async () => (await stack.memoOf(checkout.id)).refunds).toMatchObject([{ key: 'slow' }]);
    await stack.until(checkout.id, ({ refunded_amount }) => refunded_amount === 50_000);
    expect(await requestRefund(checkout.id, 'slow', { amount: 50_000, reason: 'Cold' })).toMatchObject({
      status: 200,
      body: { status: 'succeeded', amount: 50_000 },
    });
    expect(refundsOf(checkout)).toEqual([50_000]);
  });

  it('because the answer was lost is never reported as rejected, and is found by its key', async () => {
    const checkout = await paid();
    stack.sandbox.faults.add({ method: 'POST', path: '/charges/{id}/refunds', action: 'commit_then_reset', times: 1 });
    const first = await requestRefund(checkout.id, 'lost', { amount: 50_000 });
    expect([201, 202]).toContain(first.status);
    expect(first.body.status).not.toBe('rejected');
    await stack.until(checkout.id, ({ refunded_amount }) => refunded_amount === 50_000);
    expect(await requestRefund(checkout.id, 'lost', { amount: 50_000 })).toMatchObject({
      status: 200,
      body: { status: 'succeeded' },
    });
    expect(refundsOf(checkout)).toEqual([50_000]);
  });

  it('because no worker runs shows the fields of the request, and is made when a worker is back', async () => {
    const checkout = await paid();
    await stack.stopWorker();
    try {
      const ask = () => requestRefund(checkout.id, 'later');
      const slow = await stack.withApi(IMPATIENT, ask);
      expect(slow).toMatchObject({
        status: 202,
        body: { id: null, key: 'later', amount: PRICE, charge_id: chargeIdOf(checkout), status: 'pending' },
      });
      expect(await signalsOf(checkout)).toContain('refundRequest');
      expect((await stack.withApi(IMPATIENT, ask)).status).toBe(202);
    } finally {
      await stack.startWorker();
    }
    await stack.untilStatus(checkout.id, 'refunded');
    expect(await requestRefund(checkout.id, 'later')).toMatchObject({ status: 200, body: { status: 'succeeded' } });
    expect(refundsOf(checkout)).toEqual([PRICE]);
  });

  it('a refund of a payment that was refunded as a whole is refused, also while no worker runs', async () => {
    const checkout = await paid();
    await requestRefund(checkout.id, 'all');
    await stack.stopWorker();
    try {
      const more = await stack.withApi(IMPATIENT, () => requestRefund(checkout.id, 'more'));
      expect(more).toMatchObject({ status: 422, body: { code: 'refund_exceeds_paid' } });
    } finally {
      await stack.startWorker();
    }
  });
});

describe('once the checkout has closed', () => {
  it('a closed checkout still answers for a known refund key, and refuses a new key with the time until which refunds were possible', async () => {
    const checkout = await paid();
    const first = await requestRefund(checkout.id, 'k', { amount: 50_000 });
    await end(checkout);
    expect(await requestRefund(checkout.id, 'k', { amount: 50_000 })).toMatchObject({ status: 200, body: first.body });
    expect(await requestRefund<ProblemJson>(checkout.id, 'k', { amount: 1 })).toMatchObject({
      status: 409,
      body: { code: 'idempotency_conflict' },
    });
    const late = await requestRefund<ProblemJson>(checkout.id, 'new', { amount: 50_000 });
    expect(late).toMatchObject({ status: 409, body: { code: 'refund_window_closed' } });
    expect(late.body.detail).toContain(checkout.refundable_until);
    expect(refundsOf(checkout)).toEqual([50_000]);
    expect((await stack.get<{ data: Refund[] }>(`/v1/checkouts/${checkout.id}/refunds`)).body.data).toEqual([
      first.body,
    ]);
  });

  it('a checkout that was never paid cannot be refunded', async () => {
    const { body } = await stack.create();
    await end(body);
    expect(await requestRefund<ProblemJson>(body.id, 'k')).toMatchObject({ status: 409, body: { code: 'not_paid' } });
  });
});

it('a refund is answered while the provider hangs for many new checkouts', async () => {
  const busy = await Stack.start({ api: { ...IMPATIENT, TEMPORAL_MAX_WRITES: '4' } });
  try {
    const { body } = await busy.begin();
    const open = await busy.until(body.id, ({ qr }) => qr !== null);
    busy.sandbox.mark(chargeIdOf(open), { status: 'successful' });
    await busy.untilStatus(body.id, 'paid');
    busy.sandbox.faults.add({ method: 'POST', path: '/sources', action: 'hang' });
    const begun = Array.from({ length: 40 }, () => busy.create());
    await expect.poll(() => busy.requests('POST /sources').length).toBeGreaterThan(8);
    const headers = { 'idempotency-key': 'return-1' };
    const refunded = await eventually(async () => {
      const answer = await busy.request<Refund>('POST', `/v1/checkouts/${body.id}/refunds`, { body: {}, headers });
      if (answer.status > 201) throw new Error(JSON.stringify(answer.body));
      return answer.body;
    });
    expect(refunded).toMatchObject({ key: 'return-1', status: 'succeeded' });
    expect(busy.requests('POST /charges')).toHaveLength(1);
    for (const { status } of await Promise.all(begun)) expect([202, 503]).toContain(status);
  } finally {
    busy.sandbox.faults.clear();
    await busy.stop();
  }
});
