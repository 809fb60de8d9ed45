import { setTimeout } from 'node:timers/promises';
import type { Refund } from '@tillflow/workflows';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { withHeldAnswer } from './support/held-answer.js';
import { chargeIdOf, KEYS, Stack, type Answer, type CheckoutJson } from './support/stack.js';

const TIMES = 10;

let stack: Stack;
beforeAll(async () => {
  // An answer that never comes is waited for no longer than a test needs.
  stack = await Stack.start({
    worker: false,
    webhookUrl: null,
    api: { ANSWER_WITHIN_MS: '300', CALL_DEADLINE_MS: '60000' },
  });
});
afterAll(() => stack.stop());
afterEach(() => stack.stopWorker());

/** A checkout whose worker has stopped: open, or paid. */
async function left(isPaid: boolean): Promise<CheckoutJson> {
  await stack.startWorker();
  const { body } = await stack.create();
  let checkout = await stack.until(body.id, ({ qr }) => qr !== null);
  if (isPaid) {
    stack.sandbox.mark(chargeIdOf(checkout), { status: 'successful' });
    await stack.workflowOf(body.id).signal('hint', { eventId: 'evnt_1', eventKey: 'charge.complete' });
    checkout = await stack.untilStatus(body.id, 'paid');
  }
  await stack.stopWorker();
  return checkout;
}

async function signalsOf({ id }: CheckoutJson): Promise<string[]> {
  const { events } = await stack.workflowOf(id).fetchHistory();
  const names = (events ?? []).map(
    ({ workflowExecutionSignaledEventAttributes: signal }) => signal?.signalName ?? 'none',
  );
  return names.filter((name) => name !== 'none' && name !== 'hint');
}

/** The server keeps what comes while a stopped worker holds a task, and writes it when that task has timed out. */
async function written(checkout: CheckoutJson, signals: readonly string[]): Promise<void> {
  await expect.poll(() => signalsOf(checkout)).toEqual(signals);
}

const cancel = ({ id }: CheckoutJson): Promise<Answer> => stack.post(`/v1/checkouts/${id}/cancel`);

const again = ({ id }: CheckoutJson, after: number): Promise<Answer> =>
  stack.post(`/v1/checkouts/${id}/attempts`, { after });

function requestRefund({ id }: CheckoutJson, key: string, amount: number): Promise<Answer<Refund>> {
  const headers = { 'idempotency-key': key };
  return stack.request('POST', `/v1/checkouts/${id}/refunds`, { body: { amount }, headers });
}

async function statusesOf(times: number, ask: () => Promise<Answer<unknown>>): Promise<number[]> {
  const statuses: number[] = [];
  for (let time = 0; time < times; time += 1) statuses.push((await ask()).status);
  return statuses;
}

const accepted = Array<number>(TIMES).fill(202);

describe('while no worker runs, the history has one signal for a repeated request', () => {
  it('to cancel, also when it is repeated through another API process', async () => {
    const checkout = await left(false);
    expect(await statusesOf(TIMES / 2, () => cancel(checkout))).toEqual(accepted.slice(TIMES / 2));
    const answers = await stack.withApi({}, () =>
      Promise.all(
        Array.from({ length: TIMES / 2 }, () =>
          stack.request('POST', `/v1/checkouts/${checkout.id}/cancel`, { key: KEYS.ops }),
        ),
      ),
    );
    expect(answers.map(({ status }) => status)).toEqual(accepted.slice(TIMES / 2));
    expect(await signalsOf(checkout)).toEqual(['cancelRequest']);
    await stack.startWorker();
    await stack.untilStatus(checkout.id, 'cancelled');
  });

  it('for a new attempt', async () => {
    const checkout = await left(false);
    expect(await statusesOf(TIMES, () => again(checkout, 1))).toEqual(accepted);
    expect(await signalsOf(checkout)).toEqual(['newAttemptRequest']);
    await stack.startWorker();
    await stack.until(checkout.id, ({ attempts }) => attempts[1]?.charge_id != null);
    expect(stack.chargesOf(checkout.id)).toHaveLength(2);
  });

  it('for a refund, and another signal for a refund with another key', async () => {
    const checkout = await left(true);
    expect(await statusesOf(TIMES, () => requestRefund(checkout, 'one', 10_000))).toEqual(accepted);
    expect(await statusesOf(2, () => requestRefund(checkout, 'two', 5_000))).toEqual([202, 202]);
    expect(await signalsOf(checkout)).toEqual(['refundRequest', 'refundRequest']);
    await stack.startWorker();
    await stack.until(checkout.id, ({ refunded_amount }) => refunded_amount === 15_000);
    // It was opened by a request that was answered 202 long ago.
    expect(await requestRefund(checkout, 'one', 10_000)).toMatchObject({ status: 200, body: { status: 'succeeded' } });
    expect(stack.sandbox.state().refunds.filter(({ charge }) => charge === chargeIdOf(checkout))).toHaveLength(2);
  });
});

it('while no worker runs, more refunds than the server accepts updates are all stored as signals', async () => {
  const checkout = await left(true);
  const keys = Array.from({ length: 13 }, (_, index) => `key-${index}`);
  const statuses: number[] = [];
  for (const key of keys) statuses.push((await requestRefund(checkout, key, 1_000)).status);
  expect(statuses).toEqual(keys.map(() => 202));
  await written(
    checkout,
    keys.map(() => 'refundRequest'),
  );
});

describe('when the first caller disconnects and another repeats the request, the history has a signal for', () => {
  it('a refund', async () => {
    const checkout = await left(true);
    await leaving(`/v1/checkouts/${checkout.id}/refunds`, { amount: 10_000 }, { 'idempotency-key': 'left' }, async () =>
      expect(await requestRefund(checkout, 'left', 10_000)).toMatchObject({ status: 202, body: { status: 'pending' } }),
    );
    await written(checkout, ['refundRequest']);
  });

  it('a new attempt', async () => {
    const checkout = await left(false);
    await leaving(`/v1/checkouts/${checkout.id}/attempts`, { after: 1 }, {}, async () =>
      expect((await again(checkout, 1)).status).toBe(202),
    );
    await written(checkout, ['newAttemptRequest']);
  });
});

/** Asks, asks the same again, and leaves the first before it is answered. */
async function leaving(
  path: string,
  body: object,
  more: Readonly<Record<string, string>>,
  repeat: () => Promise<unknown>,
): Promise<void> {
  const caller = new AbortController();
  const headers = { authorization: `Bearer ${KEYS.checkout}`, 'content-type': 'application/json', ...more };
  const first = fetch(stack.api.url + path, {
    method: 'POST',
    headers,
    body: JSON.stringify(body),
    signal: caller.signal,
  });
  const end = first.then(
    () => 'answered',
    () => 'left',
  );
  await setTimeout(50);
  const repeated = repeat();
  await setTimeout(50);
  caller.abort();
  expect(await end).toBe('left');
  await repeated;
}

describe('the history has a second signal when the checkout has changed since the first, for', () => {
  it('a cancel that concerns the next attempt', async () => {
    const checkout = await left(false);
    stack.sandbox.mark(chargeIdOf(checkout), { status: 'failed', failure_code: 'insufficient_fund' });
    await stack.startWorker();
    await stack.workflowOf(checkout.id).signal('hint', { eventId: 'evnt_2', eventKey: 'charge.complete' });
    await stack.untilStatus(checkout.id, 'failed');
    await stack.stopWorker();
    // The checkout has ended, so this cancel changes nothing. The next cancel concerns the attempt that is requested in
    // between.
    expect((await cancel(checkout)).status).toBe(200);
    expect((await again(checkout, 1)).status).toBe(202);
    await cancel(checkout);
    expect(await signalsOf(checkout)).toEqual(['cancelRequest', 'newAttemptRequest', 'cancelRequest']);
    await stack.startWorker();
    await stack.untilStatus(checkout.id, 'cancelled');
  });

  it('a refund that was refused before Tillflow saw the payment', async () => {
    const checkout = await left(false);
    expect((await requestRefund(checkout, 'early', 10_000)).status).toBe(202);
    await stack.startWorker();
    await expect
      .poll(() => stack.timeline(checkout.id))
      .toContainEqual(expect.objectContaining({ what: 'refund_refused' }));
    stack.sandbox.mark(chargeIdOf(checkout), { status: 'successful' });
    await stack.workflowOf(checkout.id).signal('hint', { eventId: 'evnt_3', eventKey: 'charge.complete' });
    await stack.untilStatus(checkout.id, 'paid');
    await stack.stopWorker();
    expect((await requestRefund(checkout, 'early', 10_000)).status).toBe(202);
    await stack.startWorker();
    await stack.until(checkout.id, ({ refunded_amount }) => refunded_amount === 10_000);
  });
});

it('a refund that the memo already shows gets no further signal while the provider is slow', async () => {
  const checkout = await left(true);
  await withHeldAnswer(stack, { method: 'POST', route: '/charges/{id}/refunds' }, async ({ arrived, release }) => {
    expect((await requestRefund(checkout, 'slow', 10_000)).status).toBe(202);
    await arrived;
    const signals = await signalsOf(checkout);
    expect(await statusesOf(5, () => requestRefund(checkout, 'slow', 10_000))).toEqual(Array<number>(5).fill(202));
    expect(await signalsOf(checkout)).toEqual(signals);
    release();
    await stack.until(checkout.id, ({ refunded_amount }) => refunded_amount === 10_000);
  });
});
