import { resolve, type Resolution } from '@tillflow/workflows';
import { describe, expect, it, vi } from 'vitest';
import { expectRecords } from './support/records.js';
import { FULL } from './support/full.js';
import { expectRightEnd, FAST, MONEY_CALLS, strike, type MoneyCall } from './support/money-calls.js';
import { chargeIdOf, type Stack, type StackOptions } from './support/stack.js';
import { withStack } from './support/with-stack.js';

/**
 * After the first lookups nothing is due for an hour: a person's decision causes all that follows. The hour is the
 * fifth pause, because pauses after a call that was sent too late stop growing at the fourth.
 */
const WAITING: StackOptions = {
  ...FAST,
  api: {
    ...FAST.api,
    // A call that a busy machine sends too late is tried again, and in the end an hour later.
    SEND_WITHIN_MS: '3000',
    LOOK_DELAYS_MS: '50,100,100,100,3600000',
    POLL_INTERVAL_MS: '3600000',
    ATTENTION_AFTER_MS: '400',
  },
};
const ENOUGH_MS = 300_000;

const decide = (stack: Stack, id: string, resolution: Resolution): Promise<string> =>
  stack.workflowOf(id).executeUpdate(resolve, { args: [resolution] });

/** Makes the provider stop answering during the call. `made`: whether it has carried out the call. */
async function fallSilent(stack: Stack, call: MoneyCall, made: boolean, how: 'reset_before' | 'hang'): Promise<string> {
  const id = await call.prepare(stack);
  const struck = strike(stack, call, { action: made ? 'commit_then_reset' : 'reset_before' }, () =>
    stack.sandbox.faults.add({ action: how }),
  );
  await call.provoke(stack, id);
  await struck;
  return id;
}

const UNSETTLED = ['creating', 'awaiting_payment', 'paid'];

describe.concurrent('a provider that never answers again', { timeout: ENOUGH_MS }, () => {
  const rows = MONEY_CALLS.flatMap((call) => [true, false].map((made) => [call.name, made, call] as const));

  const expectAttention = (made: boolean, call: MoneyCall): Promise<void> =>
    withStack(WAITING, async (stack) => {
      await stack.startWorker();
      const id = await fallSilent(stack, call, made, 'reset_before');
      const shown = await stack.until(id, ({ attention }) => attention !== null, 90_000);
      expect(UNSETTLED).toContain(shown.status);
      expect(shown.attempts.map(({ status }) => status)).not.toContain('failed');
      const { refunds = [] } = await stack.memoOf(id);
      expect(refunds.map(({ status }) => status)).not.toContain('rejected');

      expect(UNSETTLED).toContain(await decide(stack, id, { action: 'look', reason: 'it may be back' }));
      expect((await stack.get(`/v1/checkouts/${id}`)).body.attention).not.toBeNull();

      stack.sandbox.faults.clear();
      await decide(stack, id, { action: 'look', reason: 'it is back' });
      await expectRightEnd(stack, call, id);
    });

  const isTested = ([name, made]: (typeof rows)[number]): boolean =>
    (name === 'the create of a charge' && made) || (name === 'a refund' && !made);
  it.each(rows.filter(isTested))(
    'after %s (carried out: %s) causes an attention, and no call is shown as failed',
    (_, made, call) => expectAttention(made, call),
  );
  it.each(rows.filter((row) => !isTested(row)))(
    'after %s (carried out: %s) causes an attention, and no call is shown as failed',
    FULL,
    (_, made, call) => expectAttention(made, call),
  );

  it.each(MONEY_CALLS)('and lets every request after $name hang causes an attention', FULL, (call) =>
    withStack(WAITING, async (stack) => {
      await stack.startWorker();
      const id = await fallSilent(stack, call, true, 'hang');
      const shown = await stack.until(id, ({ attention }) => attention !== null, 120_000);
      expect(UNSETTLED).toContain(shown.status);
    }),
  );
});

const [, CHARGE, , REFUND] = MONEY_CALLS;
if (CHARGE === undefined || REFUND === undefined) throw new Error('The table lacks a call');

describe.concurrent('an operator, while the outcome is unknown,', { timeout: ENOUGH_MS }, () => {
  it('can adopt a charge that the provider does not list: Tillflow verifies it and shows its QR', () =>
    withStack(WAITING, async (stack) => {
      await stack.startWorker();
      const id = await fallSilent(stack, CHARGE, true, 'reset_before');
      await stack.until(id, ({ attention }) => attention !== null, 60_000);
      const [charge] = stack.chargesOf(id);
      stack.sandbox.faults.clear();
      stack.sandbox.faults.add([
        { method: 'GET', path: '/sources/{id}', action: 'status', status: 500 },
        { method: 'GET', path: '/charges', action: 'status', status: 500 },
      ]);
      await decide(stack, id, { action: 'adopt', id: charge?.id ?? '', reason: 'seen in the dashboard' });
      const ready = await stack.until(id, ({ qr }) => qr !== null);
      expect(chargeIdOf(ready)).toBe(charge?.id);
      await expectRightEnd(stack, CHARGE, id);
    }));

  it("cannot adopt another checkout's charge", () =>
    withStack(WAITING, async (stack) => {
      await stack.startWorker();
      const { body: other } = await stack.create();
      const ofOther = await stack.until(other.id, ({ qr }) => qr !== null);
      stack.sandbox.mark(chargeIdOf(ofOther), { status: 'successful' });
      const id = await fallSilent(stack, CHARGE, false, 'reset_before');
      await stack.until(id, ({ attention }) => attention !== null, 60_000);
      stack.sandbox.faults.clear();
      stack.sandbox.faults.add({ method: 'GET', path: '/sources/{id}', action: 'status', status: 500 });
      await decide(stack, id, { action: 'adopt', id: chargeIdOf(ofOther), reason: 'a mistake' });
      const { body } = await stack.get(`/v1/checkouts/${id}`);
      expect(body).toMatchObject({ status: 'creating', attempts: [{ charge_id: null }] });
      stack.sandbox.faults.clear();
      await decide(stack, id, { action: 'look', reason: 'the mistake was seen' });
      await expectRightEnd(stack, CHARGE, id);
    }));

  it('can adopt a refund that was made at the dashboard instead, and Tillflow does not make it again', () =>
    withStack(WAITING, async (stack) => {
      await stack.startWorker();
      const id = await fallSilent(stack, REFUND, false, 'reset_before');
      await stack.until(id, ({ attention }) => attention !== null, 60_000);
      stack.sandbox.faults.clear();
      const [charge] = stack.chargesOf(id);
      stack.sandbox.faults.add({ method: 'GET', action: 'reset_before' });
      await stack.refundElsewhere(charge?.id ?? '', 50_000);
      const { refunds } = stack.sandbox.state();
      await decide(stack, id, { action: 'adopt', id: refunds[0]?.id ?? '', reason: 'made in the dashboard' });
      stack.sandbox.faults.clear();
      await decide(stack, id, { action: 'look', reason: 'it is back' });
      await expectRightEnd(stack, REFUND, id);
      expect((await stack.memoOf(id)).refunds).toMatchObject([{ key: 'the-only-one', status: 'succeeded' }]);
    }));

  it('can abandon a charge that was made: Tillflow finds and expires it later', () =>
    withStack(WAITING, async (stack) => {
      await stack.startWorker();
      const id = await fallSilent(stack, CHARGE, true, 'reset_before');
      await stack.until(id, ({ attention }) => attention !== null, 60_000);
      await decide(stack, id, { action: 'abandon', reason: 'the customer paid cash' });
      await stack.until(id, ({ status }) => status === 'expired');
      stack.sandbox.faults.clear();
      await decide(stack, id, { action: 'look', reason: 'it is back' });
      await stack.until(id, ({ attempts }) => attempts[0]?.charge_id !== null);
      await vi.waitUntil(() => stack.chargesOf(id)[0]?.status === 'expired', { timeout: 90_000 });
      await expectRecords(stack, id, { status: 'expired', refunds: [] });
    }));

  it('can abandon a charge that was paid: Tillflow returns the money', () =>
    withStack(WAITING, async (stack) => {
      await stack.startWorker();
      const id = await fallSilent(stack, CHARGE, true, 'reset_before');
      await stack.until(id, ({ attention }) => attention !== null, 60_000);
      await decide(stack, id, { action: 'abandon', reason: 'the customer paid cash' });
      stack.sandbox.mark(stack.chargesOf(id)[0]?.id ?? '', { status: 'successful' });
      stack.sandbox.faults.clear();
      await decide(stack, id, { action: 'look', reason: 'it is back' });
      await stack.untilStatus(id, 'refunded');
      await expectRecords(stack, id, { status: 'refunded', refunds: [150_000] });
    }));

  it('can abandon a refund that was made: the checkout shows it as soon as the provider does', () =>
    withStack(WAITING, async (stack) => {
      await stack.startWorker();
      const id = await fallSilent(stack, REFUND, true, 'reset_before');
      await stack.until(id, ({ attention }) => attention !== null, 60_000);
      await decide(stack, id, { action: 'abandon', reason: 'paid back in cash' });
      expect((await stack.memoOf(id)).refunds).toMatchObject([{ status: 'rejected', failure_code: 'abandoned' }]);
      stack.sandbox.faults.clear();
      await decide(stack, id, { action: 'look', reason: 'it is back' });
      await expectRightEnd(stack, REFUND, id);
    }));
});
