import { describe, expect, it } from 'vitest';
import { reopen } from '../reopen.js';
import { CheckoutModel } from '../checkout-model.js';
import { emptyState } from '../state.js';
import { DEFAULT_POLICY } from '../../policy.js';
import { initialState, type StoredRefund } from '../../types.js';
import {
  DrivenCheckout,
  listed,
  paidCharge,
  pendingCharge,
  refusal,
  withRefunds,
} from '../../../testing/driven-checkout.js';
import { sampleIntent } from '../../../testing/sample-intent.js';
import { HOUR, START } from '../../../testing/simulated-provider.js';
import type { RefundEntry } from './refunds.js';
import { wasReturnRefused } from './returns.js';

const LATE = 'paid after the checkout was published as expired';
const noVoid = { ...paidCharge, canVoid: false };
const look = { action: 'look', reason: 'again', by: 'cli:ann' } as const;

/** Two attempts, both paid. */
function paidTwice(): DrivenCheckout {
  const checkout = DrivenCheckout.payable();
  checkout.model.requestAttempt(checkout.now, { after: 1 });
  checkout.retrieve({ ...pendingCharge, status: 'expired' });
  checkout.model.advanceTo(checkout.now);
  checkout.model.applySource(checkout.now, { kind: 'done', value: { sourceId: 'src_2' } });
  const second = { ...paidCharge, chargeId: 'chrg_2', sourceId: 'src_2', attempt: '2' };
  checkout.model.applyCharge(checkout.now, { kind: 'done', value: second }, checkout.now);
  checkout.model.wasPublished();
  checkout.retrieve(paidCharge);
  checkout.model.advanceTo(checkout.now);
  return checkout;
}

/** A late payment, whose return the provider refused. */
function refusedReturn(): DrivenCheckout {
  const checkout = DrivenCheckout.paidLate();
  checkout.sendRefund(noVoid);
  checkout.answerRefund('auto:chrg_1', refusal);
  checkout.retrieve(noVoid);
  return checkout;
}

describe('money that Tillflow does not keep', () => {
  it('a late payment is returned, and the refund says why', () => {
    const checkout = DrivenCheckout.paidLate();
    checkout.model.advanceTo(checkout.now);
    expect(checkout.model.refunds).toMatchObject([
      { key: 'auto:chrg_1', amount: 150_000, asked: 150_000, requested_by: 'auto:late_payment', reason: LATE },
    ]);
    expect(checkout.timeline('refund_requested')).toEqual([
      { what: 'refund_requested', detail: `THB 1,500.00, ${LATE}`, by: 'auto:late_payment' },
    ]);
  });

  it('a second payment is returned, and the refund says why', () => {
    const reason = 'second payment: the checkout had already accepted chrg_2';
    expect(paidTwice().model.refunds).toMatchObject([
      { key: 'auto:chrg_1', charge_id: 'chrg_1', amount: 150_000, requested_by: 'auto:second_payment', reason },
    ]);
  });

  it('a second payment that was returned leaves the first payment, and no attention', () => {
    const checkout = paidTwice();
    expect(checkout.view).toMatchObject({ status: 'paid', attention: { code: 'double_payment' } });
    checkout.sendRefund({ ...noVoid, chargeId: 'chrg_1' });
    checkout.answerRefund('auto:chrg_1', { kind: 'done', value: listed('rfnd_1', 150_000, 'auto:chrg_1') });
    checkout.model.advanceTo(checkout.now);
    expect(checkout.view).toMatchObject({ status: 'paid', refunded_amount: 0, attention: null });
  });

  it.each([
    ['all of it', null, []],
    ['a part of it', 50_000, [100_000]],
  ])('a late payment is not returned twice when a caller already requested %s back', (_, amount, returns) => {
    const checkout = DrivenCheckout.paidLate();
    checkout.askRefund('k', amount);
    checkout.model.advanceTo(checkout.now);
    const own = checkout.model.refunds.filter(({ key }) => key.startsWith('auto:'));
    expect(own.map((refund) => refund.amount)).toEqual(returns);
  });

  it('a refused return is tried again from its hour on, and not before', () => {
    const checkout = refusedReturn();
    checkout.model.advanceTo(checkout.pass(HOUR - 1).now);
    expect(checkout.model.refunds).toMatchObject([{ status: 'rejected' }]);
    checkout.model.advanceTo(checkout.pass(1).now);
    expect(checkout.model.refunds).toMatchObject([{ status: 'pending' }]);
  });
});

describe('an operator who looks', () => {
  it('an operator who looks has a refused return tried again at once', () => {
    const checkout = refusedReturn();
    checkout.model.resolve(checkout.now, look);
    expect(checkout.model.refunds).toMatchObject([{ status: 'pending', amount: 150_000 }]);
    expect(checkout.timeline('refund_requested').at(-1)).toEqual({
      what: 'refund_requested',
      detail: 'auto:chrg_1: again',
      by: 'cli:ann',
    });
  });

  it("an operator who looks does not repeat a caller's refused refund", () => {
    const checkout = DrivenCheckout.paid();
    checkout.askRefund('k', 50_000);
    checkout.sendRefund();
    checkout.answerRefund('k', refusal);
    checkout.retrieve(paidCharge);
    checkout.model.resolve(checkout.now, look);
    expect(checkout.model.refunds).toMatchObject([{ key: 'k', status: 'rejected' }]);
  });

  it('an operator who looks does not repeat a return of money that someone returned meanwhile', () => {
    const checkout = refusedReturn();
    expect(checkout.view.attention?.code).toBe('return_refused');
    checkout.retrieve(withRefunds([listed('rfnd_9', 150_000, null)]));
    checkout.model.advanceTo(checkout.now);
    expect(checkout.view.attention).toBeNull();
    checkout.model.resolve(checkout.now, look);
    expect(checkout.model.refunds).toMatchObject([{ key: 'auto:chrg_1', status: 'rejected' }, { key: 'rfnd_9' }]);
  });

  it('an operator who looks does not repeat a return that was made, when a part of the payment is left', () => {
    const checkout = DrivenCheckout.paidLate();
    checkout.askRefund('k', 50_000);
    checkout.sendRefund();
    checkout.answerRefund('k', refusal);
    checkout.retrieve(paidCharge);
    checkout.sendRefund();
    checkout.answerRefund('auto:chrg_1', { kind: 'done', value: listed('rfnd_1', 100_000, 'auto:chrg_1') });
    checkout.model.resolve(checkout.now, look);
    expect(checkout.model.refund('auto:chrg_1')).toMatchObject({ status: 'succeeded', amount: 100_000 });
  });

  /** The memo of a checkout whose attempts do not show the charge that was returned. */
  function reopenedWith(status: StoredRefund['status']): DrivenCheckout {
    const refund: StoredRefund = {
      id: null,
      key: 'auto:chrg_9',
      charge_id: 'chrg_9',
      amount: 150_000,
      currency: 'THB',
      kind: 'refund',
      status,
      reason: null,
      failure_code: null,
      failure_message: null,
      created_at: '2026-03-10T09:00:00.000Z',
    };
    const intent = sampleIntent();
    const state = { ...initialState(intent), status: 'expired' } as const;
    const memo = { intent, requestNonce: 'n', state, refunds: [refund] };
    const { resume = emptyState() } = reopen(memo, {}, { chargeId: 'chrg_9', attempt: '1' }, START);
    const checkout = DrivenCheckout.resumed(CheckoutModel.resume(intent, DEFAULT_POLICY, resume), START);
    checkout.model.advanceTo(START);
    return checkout;
  }

  it('an operator who looks does not repeat a return of a charge that no retrieve has shown', () => {
    const checkout = reopenedWith('rejected');
    checkout.model.resolve(checkout.now, look);
    expect(checkout.model.refunds).toMatchObject([{ status: 'rejected' }]);
  });

  it('an operator can abandon a return of a charge that no retrieve has shown', () => {
    const checkout = reopenedWith('pending');
    checkout.model.resolve(checkout.now, { action: 'abandon', reason: 'no answer' });
    expect(checkout.model.refunds).toMatchObject([{ status: 'rejected', failure_code: 'abandoned' }]);
    expect(checkout.view.attention).toBeNull();
  });
});

describe('a checkout whose late payment is not returned', () => {
  const refusedOnce: Partial<RefundEntry> = { by: 'tillflow', chargeId: 'chrg_1', status: 'rejected', refusals: 1 };

  it.each<[string, boolean, readonly Partial<RefundEntry>[]]>([
    ['is refused once the provider refused to return it', true, [refusedOnce]],
    ['is refused whatever another refund became', true, [{ ...refusedOnce, status: 'succeeded' }, refusedOnce]],
    ['is refused while it is tried again', true, [{ ...refusedOnce, status: 'pending' }]],
    ['is not refused before the first answer', false, [{ ...refusedOnce, refusals: 0 }]],
    ['is not refused once it was made', false, [{ ...refusedOnce, status: 'succeeded' }]],
    ['is not refused when that of another charge was', false, [{ ...refusedOnce, chargeId: 'chrg_2' }]],
  ])('the return of a payment %s', (_, expectation, entries) => {
    expect(wasReturnRefused(entries as RefundEntry[], 'chrg_1')).toBe(expectation);
  });
});
