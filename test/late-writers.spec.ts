import { cancel, newAttempt, refundRequest } from '@tillflow/workflows';
import { describe, expect, it, vi } from 'vitest';
import { findingsOf, expectRecords } from './support/records.js';
import { FULL } from './support/full.js';
import { FAST } from './support/money-calls.js';
import { startDirectly } from './support/paths.js';
import { chargeIdOf, type Stack, type StackOptions } from './support/stack.js';
import { withStack } from './support/with-stack.js';

/** Long after the checkout gives a call up (see {@link POLICY}), and before the late-effect check. */
const LATE_MS = 8_000;
const POLICY = {
  sendWithinMs: 1_000,
  callDeadlineMs: 1_000,
  settleMs: 100,
  lookupDelaysMs: [50, 100, 200],
  pollIntervalMs: 60_000,
  // A busy machine needs seconds for what the tests do before and after the late call.
  lateEffectCheckMs: LATE_MS + 12_000,
};
/** There are no webhooks, so only the late-effect check can find a call that took effect late. */
const WITHOUT_WEBHOOKS: StackOptions = { ...FAST, webhookUrl: null };
const ENOUGH_MS = 300_000;

/** The next call of this kind reaches the provider late. @returns when it has. */
function delayNext(stack: Stack, path: string): Promise<void> {
  stack.sandbox.faults.add({ method: 'POST', path, action: 'delay', delay_ms: LATE_MS, times: 1 });
  return new Promise((came) => {
    const end = stack.sandbox.on('response', (request) => {
      if (request.method !== 'POST' || request.fault !== 'delay') return;
      end();
      came();
    });
  });
}

/** A checkout whose first charge is under way, and will come too late. */
async function begunLate(stack: Stack): Promise<{ id: string; came: Promise<void> }> {
  await stack.startWorker();
  const came = delayNext(stack, '/charges');
  const { id } = await startDirectly(stack, POLICY);
  await vi.waitUntil(() => stack.requests('POST /charges').length > 0, { timeout: 90_000 });
  return { id, came };
}

const statuses = (stack: Stack, id: string): string[] => stack.chargesOf(id).map(({ status }) => status);

async function payAt(stack: Stack, came: Promise<void>, id: string): Promise<void> {
  await came;
  const late = stack.chargesOf(id).find(({ status }) => status === 'pending');
  stack.sandbox.mark(late?.id ?? '', { status: 'successful' });
}

describe.concurrent('a charge whose create takes effect after Tillflow has given it up', { timeout: ENOUGH_MS }, () => {
  it('a charge that takes effect late, after a cancel, is found by the late-effect check and expired', () =>
    withStack(WITHOUT_WEBHOOKS, async (stack) => {
      const { id, came } = await begunLate(stack);
      expect(await stack.workflowOf(id).executeUpdate(cancel, { args: [{}] })).toBe('cancelled');
      expect(statuses(stack, id)).toEqual([]);
      await came;
      expect(statuses(stack, id)).toEqual(['pending']);
      await stack.until(id, ({ attempts }) => attempts[0]?.charge_id !== null && attempts[0]?.status === 'expired');
      await vi.waitUntil(() => statuses(stack, id)[0] === 'expired', { timeout: 90_000 });
      await expectRecords(stack, id, { status: 'cancelled', refunds: [] });
    }));

  it(
    'a charge that takes effect late and is paid after a cancel is found by the late-effect check, and its payment is returned',
    FULL,
    () =>
      withStack(WITHOUT_WEBHOOKS, async (stack) => {
        const { id, came } = await begunLate(stack);
        expect(await stack.workflowOf(id).executeUpdate(cancel, { args: [{}] })).toBe('cancelled');
        await payAt(stack, came, id);
        await stack.untilStatus(id, 'refunded');
        await expectRecords(stack, id, { status: 'refunded', refunds: [150_000], kind: 'void' });
      }),
  );

  it(
    'a charge that takes effect late, next to the charge of the next attempt, is found by the late-effect check and expired',
    FULL,
    () =>
      withStack(WITHOUT_WEBHOOKS, async (stack) => {
        const { id, came } = await begunLate(stack);
        expect(await stack.workflowOf(id).executeUpdate(newAttempt, { args: [{ after: 1 }] })).toBe(2);
        await came;
        expect(statuses(stack, id)).toEqual(['pending', 'pending']);
        const [late, current] = await vi.waitUntil(
          async () => {
            const { body } = await stack.get(`/v1/checkouts/${id}`);
            return body.attempts[0]?.charge_id !== null && body.attempts;
          },
          { timeout: 60_000 },
        );
        await vi.waitUntil(() => statuses(stack, id).includes('expired'), { timeout: 90_000 });
        expect(stack.chargesOf(id)).toHaveLength(2);
        stack.sandbox.mark(current?.charge_id ?? '', { status: 'successful' });
        expect(stack.chargesOf(id).find((charge) => charge.id === late?.charge_id)?.status).toBe('expired');
      }),
  );

  it('of two paid charges, one of which took effect late, Tillflow accepts one payment and returns the other', () =>
    withStack(FAST, async (stack) => {
      const { id, came } = await begunLate(stack);
      expect(await stack.workflowOf(id).executeUpdate(newAttempt, { args: [{ after: 1 }] })).toBe(2);
      const { attempts } = await stack.until(id, ({ qr }) => qr !== null);
      stack.sandbox.mark(attempts[1]?.charge_id ?? '', { status: 'successful' });
      await stack.untilStatus(id, 'paid');
      stack.sandbox.webhooks.clear();
      await payAt(stack, came, id);
      await vi.waitUntil(() => stack.sandbox.state().refunds.length === 1, { timeout: 90_000 });
      await stack.until(id, ({ status, attention }) => status === 'paid' && attention === null);
      expect((await findingsOf(stack, id)).breaches).toEqual([]);
      expect(stack.chargesOf(id).map(({ refunded_amount }) => refunded_amount)).toEqual([0, 150_000]);
    }));
});

describe.concurrent('a refund that takes effect after Tillflow has given it up', { timeout: ENOUGH_MS }, () => {
  async function paid(stack: Stack): Promise<string> {
    await stack.startWorker();
    const { id } = await startDirectly(stack, { ...POLICY, pollIntervalMs: 500 });
    const ready = await stack.until(id, ({ qr }) => qr !== null);
    stack.sandbox.mark(chargeIdOf(ready), { status: 'successful' });
    await stack.untilStatus(id, 'paid');
    return id;
  }

  it('a refund that takes effect after Tillflow has repeated it raises refund_doubled: only a person can settle it with the customer', () =>
    withStack(WITHOUT_WEBHOOKS, async (stack) => {
      const id = await paid(stack);
      const came = delayNext(stack, '/charges/{id}/refunds');
      await stack.workflowOf(id).signal(refundRequest, { key: 'k', amount: 50_000, reason: null });
      await stack.untilStatus(id, 'partially_refunded');
      await came;
      const shown = await stack.until(id, ({ attention }) => attention !== null);
      expect(shown).toMatchObject({ attention: { code: 'refund_doubled' }, refunded_amount: 100_000 });
      expect((await stack.memoOf(id)).refunds).toMatchObject([
        { key: 'k', amount: 50_000, status: 'succeeded' },
        { reason: 'made elsewhere', amount: 50_000, status: 'succeeded' },
      ]);
    }));

  it.each([100_000, null])(
    'of %s cannot be made twice, because the charge has too little left to refund',
    FULL,
    (amount) =>
      withStack(WITHOUT_WEBHOOKS, async (stack) => {
        const id = await paid(stack);
        const came = delayNext(stack, '/charges/{id}/refunds');
        await stack.workflowOf(id).signal(refundRequest, { key: 'k', amount, reason: null });
        const status = amount === null ? 'refunded' : 'partially_refunded';
        await stack.untilStatus(id, status);
        await came;
        await expectRecords(stack, id, { status, refunds: [amount ?? 150_000] });
      }),
  );
});
