import { randomUUID } from 'node:crypto';
import { newAttempt, refund, resolve, type CheckoutResult, type StoredRefund } from '@tillflow/workflows';
import { ApplicationFailure } from '@temporalio/common';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { chargeIdOf, Stack, type CheckoutJson, type ProblemJson } from './support/stack.js';
import { fastForward } from './support/time.js';

const HOUR = 3_600_000;
const DAY = 24 * HOUR;
const MINUTE = 60_000;

let stack: Stack;
// One for each test: the provider's clock goes only forward.
beforeEach(async () => {
  // Time skipping fires every timer on the way: one poll a day is enough.
  stack = await Stack.start({ api: { POLL_INTERVAL_MS: '86400000', VOID_DATE_OFFSET_MINUTES: '0' } });
});
afterEach(() => stack.stop());

const handleOf = ({ reference }: CheckoutJson) =>
  stack.temporal.client.workflow.getHandle<() => Promise<CheckoutResult>>(`checkout/default/${reference}`);

const refundOf = (checkout: CheckoutJson, amount: number | null, key: string = randomUUID()): Promise<StoredRefund> =>
  handleOf(checkout).executeUpdate(refund, { args: [{ key, amount, reason: null }] });

const words = async (id: string): Promise<string[]> => (await stack.timeline(id)).map(({ what }) => what);

/** Why an update was refused. */
async function refusal(update: Promise<unknown>): Promise<string> {
  try {
    await update;
  } catch (error) {
    if (error instanceof Error && error.cause instanceof ApplicationFailure) {
      return error.cause.type ?? '';
    }
    throw error;
  }
  return 'not refused';
}

/** Both clocks, the workflow's and the provider's, are moved to the next `hour` o'clock UTC. */
async function moveToNext(checkout: CheckoutJson, hour: number): Promise<void> {
  const now = Date.now();
  const midnight = Math.floor(now / DAY) * DAY;
  const today = midnight + hour * HOUR;
  // It is that hour: a whole day ahead is when the QR runs out.
  if (now >= today && now < today + MINUTE) return;
  const target = today > now ? today : today + DAY;
  await fastForward(stack, checkout.reference, target - now);
}

async function pay(checkout: CheckoutJson): Promise<CheckoutJson> {
  stack.sandbox.mark(chargeIdOf(checkout), { status: 'successful' });
  return stack.untilStatus(checkout.id, 'paid');
}

async function firedTimersSince(checkout: CheckoutJson, events: number): Promise<number> {
  const { events: all = [] } = await handleOf(checkout).fetchHistory();
  return (all ?? []).slice(events).filter(({ timerFiredEventAttributes: fired }) => fired).length;
}

/** Paid at about nine in the morning, UTC, whatever the time is now. */
async function paidAtNine(): Promise<CheckoutJson> {
  const { body } = await stack.create({ expires_in: 86_400, metadata: { order: '7' } });
  await moveToNext(body, 9);
  return pay(body);
}

describe('a paid checkout', () => {
  it('can be voided until a minute before the cut-off of its day, and says so', async () => {
    const paid = await paidAtNine();
    const cutOff = `${paid.paid_at?.slice(0, 10)}T16:15:00.000Z`;
    expect(paid.voidable_until).toBe(cutOff);
    await fastForward(stack, paid.reference, 7 * HOUR + 14 * MINUTE - 2_000);
    expect(await refundOf(paid, null)).toMatchObject({ kind: 'void', status: 'succeeded', amount: 150_000 });
    expect(await stack.untilStatus(paid.id, 'refunded')).toMatchObject({
      refunded_amount: 150_000,
      voidable_until: null,
    });
    expect(stack.chargesOf(paid.id)).toMatchObject([{ voided: true, refunded_amount: 150_000 }]);
  });

  it('can no longer be voided after the cut-off; a refund is still possible, and no timer fires at the cut-off', async () => {
    const paid = await paidAtNine();
    const before = (await stack.workflowOf(paid.id).describe()).historyLength;
    await fastForward(stack, paid.reference, 7 * HOUR + 16 * MINUTE);
    expect(await firedTimersSince(paid, before)).toBe(0);
    expect(await refundOf(paid, null)).toMatchObject({ kind: 'refund', status: 'succeeded', amount: 150_000 });
    expect(stack.chargesOf(paid.id)).toMatchObject([{ voided: false, refunded_amount: 150_000 }]);
  });

  it('continues as aftercare in the night after the payment, and knows all that it knew before', async () => {
    const paid = await paidAtNine();
    const first = await refundOf(paid, 50_000, 'first');
    await fastForward(stack, paid.reference, 14 * HOUR);
    expect((await stack.workflowOf(paid.id).describe()).type).toBe('aftercare');
    expect(await refundOf(paid, 50_000, 'first')).toEqual(first);
    expect(await refundOf(paid, null)).toMatchObject({ kind: 'refund', amount: 100_000, status: 'succeeded' });
    expect(await stack.untilStatus(paid.id, 'refunded')).toMatchObject({ attempts: paid.attempts });
  });

  it('accepts partial refunds for a year, includes a refund made elsewhere, and keeps all of them in its record when it closes', async () => {
    const paid = await paidAtNine();
    const chargeId = chargeIdOf(paid);
    await fastForward(stack, paid.reference, 90 * DAY);
    const first = await refundOf(paid, 50_000, 'first');
    expect(first).toMatchObject({ kind: 'refund', status: 'succeeded', amount: 50_000, key: 'first' });
    expect(await refundOf(paid, 50_000, 'first')).toEqual(first);
    expect(await refusal(refundOf(paid, 60_000, 'first'))).toBe('idempotency_conflict');
    expect(await refusal(refundOf(paid, 100_001))).toBe('refund_exceeds_paid');

    await fastForward(stack, paid.reference, 90 * DAY);
    await stack.refundElsewhere(chargeId, 20_000);
    const status = await handleOf(paid).executeUpdate(resolve, {
      args: [{ action: 'look', reason: 'the monthly check' }],
    });
    expect(status).toBe('partially_refunded');
    expect((await stack.get(`/v1/checkouts/${paid.id}`)).body).toMatchObject({ refunded_amount: 70_000 });
    expect(await refusal(refundOf(paid, 80_001))).toBe('refund_exceeds_paid');

    await fastForward(stack, paid.reference, 184 * DAY);
    expect(await refundOf(paid, null)).toMatchObject({ amount: 80_000, status: 'succeeded' });
    await fastForward(stack, paid.reference, 2 * DAY);

    const result = await handleOf(paid).result();
    expect(result).toMatchObject({
      checkout: { id: paid.id, status: 'refunded', refunded_amount: 150_000, refundable_until: null, attention: null },
      refunds: [
        { key: 'first', amount: 50_000, kind: 'refund', status: 'succeeded' },
        { amount: 20_000, kind: 'refund', status: 'succeeded', reason: 'made elsewhere' },
        { amount: 80_000, kind: 'refund', status: 'succeeded' },
      ],
    });
    expect(result.timeline.map(({ what }) => what)).toEqual(
      expect.arrayContaining(['opened', 'charge_created', 'paid', 'refunded', 'refunded_elsewhere', 'resolve']),
    );
    expect(stack.chargesOf(paid.id)).toMatchObject([{ refunded_amount: 150_000 }]);
  });

  it('closes after a year without any request, and then refuses a refund', async () => {
    const paid = await paidAtNine();
    await fastForward(stack, paid.reference, 366 * DAY);
    const { checkout } = await handleOf(paid).result();
    expect(checkout).toMatchObject({ status: 'paid', refunded_amount: 0, refundable_until: null });
    // One retrieve for the payment, and one when the checkout closed.
    expect(stack.requests('GET /charges/{id}')).toHaveLength(2);
    const headers = { 'idempotency-key': 'too-late' };
    const late = await stack.request<ProblemJson>('POST', `/v1/checkouts/${paid.id}/refunds`, { body: {}, headers });
    expect(late).toMatchObject({ status: 409, body: { code: 'refund_window_closed' } });
    expect(late.body.detail).toContain(paid.refundable_until);
  });

  it('makes one refund at a time, so parallel requests never refund more than was paid', async () => {
    const paid = await paidAtNine();
    const answers = await Promise.all([1, 2, 3, 4, 5].map(async () => refusal(refundOf(paid, 40_000))));
    expect(answers.filter((one) => one === 'not refused')).toHaveLength(3);
    expect(answers.filter((one) => one === 'refund_exceeds_paid')).toHaveLength(2);
    expect(stack.chargesOf(paid.id)).toMatchObject([{ refunded_amount: 120_000 }]);
  });

  it('is refunded once when two requests with the same key arrive at the same time', async () => {
    const paid = await paidAtNine();
    const [one, other] = await Promise.all([refundOf(paid, 40_000, 'k'), refundOf(paid, 40_000, 'k')]);
    expect(one).toEqual(other);
    expect(stack.chargesOf(paid.id)).toMatchObject([{ refunded_amount: 40_000 }]);
  });

  it('is refunded when the provider refuses the void, and its refund shows why', async () => {
    const paid = await paidAtNine();
    stack.sandbox.faults.add({
      method: 'POST',
      path: '/charges/{id}/refunds',
      action: 'status',
      status: 400,
      times: 1,
    });
    expect(await refundOf(paid, null)).toMatchObject({
      kind: 'refund',
      status: 'succeeded',
      failure_code: 'bad_request',
    });
    expect(await words(paid.id)).toEqual(expect.arrayContaining(['void_refused', 'refunded']));
    expect(stack.chargesOf(paid.id)).toMatchObject([{ voided: false, refunded_amount: 150_000 }]);
  });
});

describe('another attempt', () => {
  const attemptAfter = (checkout: CheckoutJson, after: number): Promise<number> =>
    handleOf(checkout).executeUpdate(newAttempt, { args: [{ after }] });

  it('replaces the open attempt, which is ended first; the same request again returns the same attempt', async () => {
    const { body } = await stack.create();
    expect(await Promise.all([attemptAfter(body, 1), attemptAfter(body, 1)])).toEqual([2, 2]);
    expect(await attemptAfter(body, 1)).toBe(2);
    const { attempts, status, qr } = (await stack.get(`/v1/checkouts/${body.id}`)).body;
    expect(attempts).toMatchObject([
      { number: 1, status: 'expired' },
      { number: 2, status: 'pending' },
    ]);
    expect(status).toBe('awaiting_payment');
    expect(qr?.raw_data).not.toBe(body.qr?.raw_data);
    expect(await refusal(attemptAfter(body, 3))).toBe('attempt_unknown');
    stack.sandbox.mark(attempts[1]?.charge_id ?? '', { status: 'successful' });
    expect(await stack.untilStatus(body.id, 'paid')).toMatchObject({ attempts: [{}, { status: 'successful' }] });
    expect(await refusal(attemptAfter(body, 2))).toBe('already_paid');
  });

  it('lets the checkout accept the first of two payments and return the other', async () => {
    const { body } = await stack.create({ expires_in: 86_400 });
    await moveToNext(body, 9);
    await attemptAfter(body, 1);
    const { attempts } = (await stack.get(`/v1/checkouts/${body.id}`)).body;
    const [old, current] = attempts.map(({ charge_id }) => charge_id ?? '');
    stack.sandbox.mark(current ?? '', { status: 'successful' });
    await stack.untilStatus(body.id, 'paid');
    stack.sandbox.mark(old ?? '', { status: 'successful', force: true });
    await expect
      .poll(() => stack.chargesOf(body.id).map(({ refunded_amount }) => refunded_amount))
      .toEqual([150_000, 0]);
    const after = await stack.until(body.id, ({ attention }) => attention === null);
    expect(after).toMatchObject({ status: 'paid', refunded_amount: 0 });
    expect(await words(body.id)).toEqual(expect.arrayContaining(['paid', 'paid_twice', 'voided']));
  });

  it('loses its QR when the customer pays the attempt before it, and the checkout is paid', async () => {
    const body = await stack.open();
    await attemptAfter(body, 1);
    stack.sandbox.mark(chargeIdOf(body), { status: 'successful', force: true });
    const paid = await stack.untilStatus(body.id, 'paid');
    expect(paid).toMatchObject({ qr: null, attempts: [{ status: 'successful' }, {}] });
    await stack.until(body.id, ({ attempts }) => attempts[1]?.status === 'expired');
    expect(stack.chargesOf(body.id).map(({ status }) => status)).toEqual(['successful', 'expired']);
  });

  it('is refused for a checkout that was cancelled', async () => {
    const { body } = await stack.create();
    await stack.post(`/v1/checkouts/${body.id}/cancel`);
    expect(await refusal(attemptAfter(body, 1))).toBe('checkout_closed');
  });
});
