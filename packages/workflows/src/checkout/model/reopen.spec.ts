import { parseInstant, plus } from '@tillflow/domain';
import { describe, expect, it } from 'vitest';
import type { CheckoutMemo, CheckoutState } from '../types.js';
import { CheckoutModel } from './checkout-model.js';
import { emptyState } from './state.js';
import { DEFAULT_POLICY, type CheckoutPolicy } from '../policy.js';
import { reopen, showsPayment } from './reopen.js';
import { attempt, expired, late, pending } from '../../testing/closed-checkout.js';
import { intent } from '../../testing/simulated-provider.js';

const NOW = parseInstant('2026-04-10T09:00:00Z');
function reopened(published: Partial<CheckoutMemo>, charge = late): CheckoutModel {
  const { resume = emptyState() } = reopen({ intent, requestNonce: 'o', ...published }, {}, charge, NOW);
  return CheckoutModel.resume(intent, DEFAULT_POLICY, resume);
}

describe('a reopened checkout', () => {
  it('a reopened checkout shows its published state and the reason, and refuses a new attempt', () => {
    const model = reopened({ state: expired, version: 7 });
    expect({ ...model.projection(NOW), updated_at: null }).toEqual({ ...expired, updated_at: null });
    expect(model.timeline).toMatchObject([{ what: 'reopened', detail: 'chrg_1 shows a payment' }]);
    expect(model.state.published.version).toBe(7);
    expect(model.refuseAttempt({ after: 1 })).toMatchObject({ code: 'checkout_closed' });
  });

  it('a checkout that published nothing before it closed can be reopened', () => {
    const model = reopened({}, { chargeId: 'chrg_2', attempt: '2' });
    model.advanceTo(NOW);
    expect(model.state.attempts.list.map(({ number, status }) => [number, status])).toEqual([
      [1, 'expired'],
      [2, 'expired'],
    ]);
    model.hint(NOW, { eventId: 'e', eventKey: 'charge.complete', chargeId: 'chrg_2' });
    expect(model.nextStep(NOW)).toEqual({ do: 'retrieveCharge', chargeId: 'chrg_2' });
  });

  it('a reopened checkout looks up a refund that was in flight before it repeats it', () => {
    const paid = { ...attempt, status: 'successful' } as const;
    const state: CheckoutState = { ...expired, status: 'paid', attempts: [paid], paid_at: '2026-03-10T09:01:00.000Z' };
    const timeline = [{ at: '2026-03-10T09:01:00.000Z', what: 'paid', detail: 'chrg_1' }];
    const model = reopened({ state, refunds: [pending], timeline });
    model.advanceTo(NOW);
    expect(model.state.refunding.inProgress).toMatchObject({ key: 'k', stage: 'unknown', wasUnknown: true });
    expect(model.state.refunding.inProgress?.inFlightUntil).toBeGreaterThan(NOW);
    expect(model.nextStep(NOW)).toEqual({ do: 'retrieveCharge', chargeId: 'chrg_1' });
  });

  it('a reopened checkout recognizes a repeated refund request with and without an amount', () => {
    const paid = { ...attempt, status: 'successful' } as const;
    const state: CheckoutState = { ...expired, status: 'paid', attempts: [paid], paid_at: '2026-03-10T09:01:00.000Z' };
    const timeline = [{ at: '2026-03-10T09:01:00.000Z', what: 'paid', detail: 'chrg_1' }];
    const before = reopened({ state, timeline });
    before.requestRefund(NOW, { key: 'exact', amount: 50_000, reason: null });
    before.requestRefund(NOW, { key: 'rest', amount: null, reason: null });
    const { refunds } = before;
    const after = reopened({ state, timeline, refunds });
    const refusal = (key: string, amount: number | null) => after.refuseRefund(NOW, { key, amount, reason: null });
    expect([refusal('rest', null), refusal('rest', 100_000), refusal('exact', 50_000)]).toEqual([null, null, null]);
    for (const conflict of [refusal('exact', null), refusal('exact', 1), refusal('rest', 1)]) {
      expect(conflict).toMatchObject({ code: 'idempotency_conflict' });
    }
  });

  it('a reopened checkout recognizes a refund by its key when the requested amount is not recorded', () => {
    const model = reopened({ state: expired, refunds: [pending] });
    expect(model.refuseRefund(NOW, { key: 'k', amount: null, reason: null })).toBeNull();
    expect(model.refuseRefund(NOW, { key: 'k', amount: 50_000, reason: null })).toBeNull();
  });

  it('a reopened checkout takes the time in flight from the policy of the closed run', () => {
    const memo: CheckoutMemo = { intent, requestNonce: 'o', state: expired, refunds: [pending] };
    const inFlightUntil = (policy: Partial<CheckoutPolicy>): number =>
      (reopen(memo, policy, late, NOW).resume?.refunds[0]?.inFlightUntil ?? 0) - NOW;
    expect(inFlightUntil({})).toBe(20_000);
    expect(inFlightUntil({ sendWithinMs: 60_000, callDeadlineMs: 30_000 })).toBe(95_000);
  });

  it('a reopened checkout continues the refund of a late payment', () => {
    const paid = { ...attempt, status: 'successful' } as const;
    const state: CheckoutState = { ...expired, attempts: [paid], paid_at: '2026-04-09T09:01:00.000Z' };
    const model = reopened({ state, timeline: [{ at: state.updated_at, what: 'paid', detail: 'chrg_1' }] });
    model.advanceTo(NOW);
    expect(model.refunds).toMatchObject([{ key: 'auto:chrg_1', status: 'pending', amount: 150_000 }]);
    expect(model.status).toBe('expired');
  });

  it('a reopened checkout retrieves a charge that only its attempt shows as paid', () => {
    const state: CheckoutState = {
      ...expired,
      status: 'paid',
      paid_at: '2026-03-10T09:01:00.000Z',
      attempts: [
        { ...attempt, status: 'successful' },
        { ...attempt, number: 2, charge_id: 'chrg_2', status: 'successful' },
      ],
    };
    const timeline = [{ at: '2026-03-10T09:01:00.000Z', what: 'paid', detail: 'chrg_2' }];
    const model = reopened({ state, timeline });
    expect(model.state.charges.accepted).toBe('chrg_2');
    expect(model.state.charges.all).toMatchObject([
      { id: 'chrg_1', status: 'expired', retrieveAt: NOW },
      { id: 'chrg_2', status: 'successful', retrieveAt: null },
    ]);
    model.advanceTo(plus(NOW, 1));
    expect(model.refunds).toEqual([]);
  });
});

describe('showsPayment', () => {
  it('a payment is shown if and only if the timeline names its charge', () => {
    const timeline = [
      { at: '2026-03-10T09:01:00.000Z', what: 'paid', detail: 'chrg_1' },
      { at: '2026-03-10T09:02:00.000Z', what: 'paid_twice', detail: 'chrg_2' },
      { at: '2026-03-10T09:03:00.000Z', what: 'charge_created', detail: 'chrg_3' },
    ];
    expect(['chrg_1', 'chrg_2', 'chrg_3'].map((id) => showsPayment({ timeline }, id))).toEqual([true, true, false]);
    expect(showsPayment({}, 'chrg_1')).toBe(false);
  });
});
