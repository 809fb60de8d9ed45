import { parseInstant, plus } from '@tillflow/domain';
import { describe, expect, it } from 'vitest';
import type { CheckoutMemo, CheckoutState, StoredRefund } from '../view.js';
import { initialState } from '../view.js';
import { CheckoutBook } from './book.js';
import { emptyRecord } from './packed.js';
import { DEFAULT_POLICY, type CheckoutPolicy } from './policy.js';
import { reopen, showsPayment } from './reopened.js';
import { intent } from './simulated-provider.js';

const NOW = parseInstant('2026-04-10T09:00:00Z');
const late = { chargeId: 'chrg_1', attempt: '1' };
const attempt = {
  number: 1,
  source_id: 'src_1',
  charge_id: 'chrg_1',
  status: 'expired',
  failure_code: null,
  failure_message: null,
  created_at: '2026-03-10T09:00:00.000Z',
  expires_at: '2026-03-10T09:15:00.000Z',
} as const;
const expired: CheckoutState = { ...initialState(intent), status: 'expired', attempts: [attempt] };

const pending: StoredRefund = {
  id: null,
  key: 'k',
  charge_id: 'chrg_1',
  amount: 50_000,
  currency: 'THB',
  kind: 'refund',
  status: 'pending',
  reason: null,
  failure_code: null,
  failure_message: null,
  created_at: '2026-03-10T10:00:00.000Z',
};

function reopened(told: Partial<CheckoutMemo>, charge = late): CheckoutBook {
  const { resume = emptyRecord() } = reopen({ intent, opener: 'o', ...told }, {}, charge, NOW);
  return CheckoutBook.resume(intent, DEFAULT_POLICY, resume);
}

describe('a checkout that is opened again', () => {
  it('shows what it showed, says why it is open, and takes no attempt', () => {
    const book = reopened({ state: expired, version: 7 });
    expect({ ...book.state(NOW), updated_at: null }).toEqual({ ...expired, updated_at: null });
    expect(book.timeline).toMatchObject([{ what: 'reopened', detail: 'chrg_1 shows a payment' }]);
    expect(book.record.version).toBe(7);
    expect(book.refuseAttempt({ after: 1 })).toMatchObject({ code: 'checkout_closed' });
  });

  it('goes on without anything that it told, as after a termination in its first moment', () => {
    const book = reopened({}, { chargeId: 'chrg_2', attempt: '2' });
    book.advance(NOW);
    expect(book.record.attempts.map(({ number, status }) => [number, status])).toEqual([
      [1, 'expired'],
      [2, 'expired'],
    ]);
    book.hint(NOW, { eventId: 'e', eventKey: 'charge.complete', chargeId: 'chrg_2' });
    expect(book.next(NOW)).toEqual({ do: 'look', chargeId: 'chrg_2' });
  });

  it('looks for a refund that was under way when it ended before it asks for it again', () => {
    const paid = { ...attempt, status: 'successful' } as const;
    const state: CheckoutState = { ...expired, status: 'paid', attempts: [paid], paid_at: '2026-03-10T09:01:00.000Z' };
    const timeline = [{ at: '2026-03-10T09:01:00.000Z', what: 'paid', detail: 'chrg_1' }];
    const book = reopened({ state, refunds: [pending], timeline });
    book.advance(NOW);
    expect(book.record.refunding).toMatchObject({ key: 'k', stage: 'doubt', doubted: true });
    expect(book.record.refunding?.quietAt).toBeGreaterThan(NOW);
    expect(book.next(NOW)).toEqual({ do: 'look', chargeId: 'chrg_1' });
  });

  it('knows a refund again that was asked for without an amount, and one that was asked for with one', () => {
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

  it('knows a refund by its key alone where an older release did not write down what was asked for', () => {
    const book = reopened({ state: expired, refunds: [pending] });
    expect(book.refuseRefund(NOW, { key: 'k', amount: null, reason: null })).toBeNull();
    expect(book.refuseRefund(NOW, { key: 'k', amount: 50_000, reason: null })).toBeNull();
  });

  it('waits for what may still leave by the policy of the run that ended', () => {
    const told: CheckoutMemo = { intent, opener: 'o', state: expired, refunds: [pending] };
    const quietAt = (policy: Partial<CheckoutPolicy>): number =>
      (reopen(told, policy, late, NOW).resume?.refunds[0]?.quietAt ?? 0) - NOW;
    expect(quietAt({})).toBe(20_000);
    expect(quietAt({ sendWithinMs: 60_000, callDeadlineMs: 30_000 })).toBe(95_000);
  });

  it('that ended while late money went back goes on giving it back', () => {
    const paid = { ...attempt, status: 'successful' } as const;
    const state: CheckoutState = { ...expired, attempts: [paid], paid_at: '2026-04-09T09:01:00.000Z' };
    const book = reopened({ state, timeline: [{ at: state.updated_at, what: 'paid', detail: 'chrg_1' }] });
    book.advance(NOW);
    expect(book.refunds).toMatchObject([{ key: 'auto:chrg_1', status: 'pending', amount: 150_000 }]);
    expect(book.status).toBe('expired');
  });

  it('looks at a charge that only its attempt shows as paid: it may have been another one', () => {
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
    const book = reopened({ state, timeline });
    expect(book.record.kept).toBe('chrg_2');
    expect(book.record.charges).toMatchObject([
      { id: 'chrg_1', status: 'expired', lookAt: NOW },
      { id: 'chrg_2', status: 'successful', lookAt: null },
    ]);
    book.advance(plus(NOW, 1));
    expect(book.refunds).toEqual([]);
  });
});

describe('a payment', () => {
  it('is shown where the timeline names its charge, and nowhere else', () => {
    const timeline = [
      { at: '2026-03-10T09:01:00.000Z', what: 'paid', detail: 'chrg_1' },
      { at: '2026-03-10T09:02:00.000Z', what: 'paid_twice', detail: 'chrg_2' },
      { at: '2026-03-10T09:03:00.000Z', what: 'charge_created', detail: 'chrg_3' },
    ];
    expect(['chrg_1', 'chrg_2', 'chrg_3'].map((id) => showsPayment({ timeline }, id))).toEqual([true, true, false]);
    expect(showsPayment({}, 'chrg_1')).toBe(false);
  });
});
