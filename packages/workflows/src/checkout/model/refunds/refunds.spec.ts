import { parseInstant, plus } from '@tillflow/domain';
import { describe, expect, it } from 'vitest';
import type { RefundFacts } from '../../activities.js';
import { DrivenCheckout, listed, paidCharge, refusal, withRefunds } from '../../../testing/driven-checkout.js';
import { unknownOutcome } from '../../../testing/runner.js';
import { DAY, HOUR, SECOND } from '../../../testing/simulated-provider.js';

const MONEY = ['refund_requested', 'refunded', 'voided', 'refunded_elsewhere', 'void_refused', 'refund_rejected'];

function abandoned(checkout: DrivenCheckout): DrivenCheckout {
  checkout.model.resolve(checkout.now, { action: 'abandon', reason: 'no answer' });
  return checkout;
}

/** A refund of 500 baht was sent and abandoned; it can take effect for 20 s. */
function abandonedRefund(): DrivenCheckout {
  const checkout = DrivenCheckout.paid();
  checkout.askRefund('k', 50_000);
  checkout.sendRefund();
  return abandoned(checkout);
}

describe('a refund request', () => {
  const INVALID_KEY = 'The key must have at least one character and must not begin with auto:';
  const INVALID_AMOUNT = 'The amount must be a whole number above zero, in the smallest currency unit';

  it.each([
    ['the key of a refund over another amount', 'k', 1, 'This key already belongs to a refund of THB 500.00'],
    ['an empty key', '', 1, INVALID_KEY],
    ["a key of Tillflow's own", 'auto:chrg_1', 1, INVALID_KEY],
    ['no amount above zero', 'new', 0, INVALID_AMOUNT],
    ['a negative amount', 'new', -1, INVALID_AMOUNT],
    ['a fraction of the smallest unit', 'new', 1.5, INVALID_AMOUNT],
    ['more than is left', 'new', 100_001, 'At most THB 1,000.00 can still be refunded'],
  ])('a refund request with %s is refused', (_, key, amount, message) => {
    const checkout = DrivenCheckout.paid();
    checkout.askRefund('k', 50_000);
    const code =
      key === 'k' ? 'idempotency_conflict' : message.startsWith('At most') ? 'refund_exceeds_paid' : 'invalid_refund';
    expect(checkout.model.refuseRefund(checkout.now, { key, amount, reason: null })).toEqual({ code, message });
  });

  it('a refund request is refused while nothing is paid', () => {
    const { model, now } = DrivenCheckout.payable();
    const refused = { code: 'not_paid', message: 'The checkout is not paid' };
    expect(model.refuseRefund(now, { key: 'k', amount: 1, reason: null })).toEqual(refused);
  });

  it('a refund request is refused after a hundred refunds', () => {
    const { model, now } = DrivenCheckout.paid();
    for (let count = 1; count <= 100; count += 1) {
      const request = { key: `k${count}`, amount: 1, reason: null };
      expect(model.refuseRefund(now, request)).toBeNull();
      model.requestRefund(now, request);
    }
    expect(model.refuseRefund(now, { key: 'one more', amount: 1, reason: null })).toEqual({
      code: 'too_many_refunds',
      message: 'A checkout has at most 100 refunds',
    });
  });

  it('a refund request with the key of an earlier one adds no refund', () => {
    const checkout = DrivenCheckout.paid();
    checkout.askRefund('k', 50_000);
    checkout.askRefund('k', 50_000);
    expect(checkout.model.refunds).toHaveLength(1);
  });

  it('a refund request is shown with its requester, the requested amount and the expected kind', () => {
    const { model, now } = DrivenCheckout.paid();
    model.requestRefund(now, { key: 'k', amount: null, reason: 'a broken cup', by: 'till-1', nonce: 'n' });
    expect(model.refund('k')).toStrictEqual({
      id: null,
      key: 'k',
      charge_id: 'chrg_1',
      amount: 150_000,
      currency: 'THB',
      kind: 'void',
      status: 'pending',
      reason: 'a broken cup',
      failure_code: null,
      failure_message: null,
      created_at: '2026-03-10T09:00:00.000Z',
      requested_by: 'till-1',
      nonce: 'n',
    });
    expect(model.state.refunds).toMatchObject([{ by: 'caller' }]);
    expect(model.timeline.at(-1)).toEqual({
      at: '2026-03-10T09:00:00.000Z',
      what: 'refund_requested',
      detail: 'THB 1,500.00',
      by: 'till-1',
    });
  });

  it.each([
    ['a part of the payment', 50_000, 0],
    ['a payment of the day before', null, DAY],
  ])('a refund request for %s is expected to be no void', (_, amount, later) => {
    const checkout = DrivenCheckout.paid().pass(later);
    checkout.askRefund('k', amount);
    expect(checkout.model.refund('k')?.kind).toBe('refund');
  });
});

describe('the money of an abandoned refund', () => {
  const whole = { key: 'whole', amount: null, reason: null };
  const all = { key: 'all', amount: 150_000, reason: null };

  it('the money of an abandoned refund is kept back until the refund can take no effect', () => {
    const { model, now } = abandonedRefund();
    expect(model.refund('k')).toMatchObject({
      status: 'rejected',
      failure_code: 'abandoned',
      failure_message: 'an operator no longer waits for its outcome',
    });
    const refused = { code: 'refund_exceeds_paid', message: 'At most THB 1,000.00 can still be refunded' };
    expect(model.refuseRefund(plus(now, 20 * SECOND - 1), all)).toEqual(refused);
    expect(model.refuseRefund(plus(now, 20 * SECOND), all)).toBeNull();
  });

  it('the money of an abandoned refund counts once when the refund turns out to be made', () => {
    const checkout = abandonedRefund();
    checkout.retrieve(withRefunds([listed('rfnd_1', 50_000, 'k')]));
    checkout.model.requestRefund(checkout.now, whole);
    expect(checkout.model.refund('k')).toMatchObject({ status: 'succeeded', kind: 'refund' });
    expect(checkout.model.refund('whole')?.amount).toBe(100_000);
    expect(checkout.timeline(...MONEY).slice(1)).toEqual([
      { what: 'refund_rejected', detail: 'k: abandoned' },
      { what: 'refunded', detail: 'THB 500.00, rfnd_1' },
      { what: 'refund_requested', detail: 'THB 1,000.00' },
    ]);
  });

  it("a refund that counted as made elsewhere becomes the caller's when the provider shows its key", () => {
    const checkout = abandonedRefund();
    const theirs = listed('rfnd_8', 10_000, null);
    checkout.retrieve(withRefunds([theirs, { ...listed('rfnd_9', 50_000, null), isVoid: true }]));
    expect(checkout.model.refunds).toMatchObject([
      { key: 'k', status: 'rejected' },
      { key: 'rfnd_8', id: 'rfnd_8', kind: 'refund', status: 'succeeded', reason: 'made elsewhere' },
      { key: 'rfnd_9', id: 'rfnd_9', kind: 'void', status: 'succeeded', reason: 'made elsewhere' },
    ]);
    checkout.retrieve(withRefunds([theirs, listed('rfnd_9', 50_000, 'k')]));
    expect(checkout.model.refunds.map(({ key, id }) => [key, id])).toEqual([
      ['k', 'rfnd_9'],
      ['rfnd_8', 'rfnd_8'],
    ]);
    expect(checkout.view.refunded_amount).toBe(60_000);
    expect(checkout.timeline(...MONEY).slice(2)).toEqual([
      { what: 'refunded_elsewhere', detail: 'THB 100.00, rfnd_8' },
      { what: 'refunded_elsewhere', detail: 'THB 500.00, rfnd_9' },
      { what: 'refunded', detail: 'THB 500.00, rfnd_9' },
    ]);
  });
});

describe('a refund in another currency', () => {
  const inOtherCurrency = (refund: RefundFacts): RefundFacts => ({ ...refund, otherCurrency: 'MYR' });
  const mismatch = { code: 'integrity_mismatch', detail: 'refund rfnd_9 is in MYR, not THB' };

  it('integrity_mismatch shows for as long as the provider lists a refund in another currency', () => {
    const checkout = DrivenCheckout.paid();
    const right = listed('rfnd_9', 50_000, null);
    for (const [refund, attention] of [
      [inOtherCurrency(right), mismatch],
      [right, null],
      [inOtherCurrency(right), mismatch],
      [right, null],
    ] as const) {
      checkout.retrieve(withRefunds([refund]));
      expect(checkout.view).toMatchObject({ refunded_amount: 50_000, attention });
    }
  });

  it('the amount of a refund in another currency is not refunded again, although the charge does not count it', () => {
    const checkout = DrivenCheckout.paid();
    checkout.askRefund('k', null);
    checkout.sendRefund(withRefunds([inOtherCurrency(listed('rfnd_9', 50_000, null))], { refundedAmount: 0 }));
    expect(checkout.model.refund('k')).toMatchObject({ amount: 150_000, failure_code: 'refund_exceeds_paid' });
  });

  it.each(['void', 'refund'] as const)(
    'a %s that the provider refused is pending, and not sent again, while the provider lists it in another currency',
    (kind) => {
      const checkout = DrivenCheckout.paid();
      const refund = listed('rfnd_9', 150_000, 'k');
      checkout.askRefund('k', null);
      checkout.sendRefund({ ...paidCharge, canVoid: kind === 'void' });
      checkout.answerRefund('k', refusal);
      for (let hours = 0; hours < 48; hours += 1) {
        checkout.retrieve(withRefunds([inOtherCurrency(refund)], { refundedAmount: 0 }));
        expect(checkout.pass(HOUR).step.do).not.toBe('createRefund');
        expect(checkout.model.refund('k')).toMatchObject({ status: 'pending', kind });
      }
      checkout.retrieve(withRefunds([refund]));
      checkout.model.advanceTo(checkout.now);
      expect(checkout.model.refund('k')).toMatchObject({ status: 'succeeded', id: 'rfnd_9' });
      expect(checkout.view).toMatchObject({ status: 'refunded', attention: null });
    },
  );

  it('a refund of unknown outcome is made although the provider lists another refund in another currency', () => {
    const checkout = DrivenCheckout.paid();
    const other = withRefunds([inOtherCurrency(listed('rfnd_9', 1_000, null))], { canVoid: false });
    checkout.askRefund('k', 50_000);
    checkout.sendRefund();
    checkout.answerRefund('k', unknownOutcome);
    expect(checkout.retrieveUntilOther(other)).toMatchObject({ do: 'createRefund', key: 'k', amount: 50_000 });
  });

  it('integrity_mismatch of a refund that was made twice ends when the provider lists both in the right currency', () => {
    const checkout = DrivenCheckout.paid();
    checkout.askRefund('k', 50_000);
    checkout.sendRefund();
    checkout.answerRefund('k', unknownOutcome);
    const both = ['rfnd_1', 'rfnd_2'].map((id) => listed(id, 50_000, 'k'));
    checkout.retrieve(withRefunds(both.map(inOtherCurrency)));
    expect(checkout.view.attention?.code).toBe('integrity_mismatch');
    checkout.retrieve(withRefunds(both));
    expect(checkout.view).toMatchObject({ refunded_amount: 100_000, attention: { code: 'refund_doubled' } });
  });
});

describe('a void', () => {
  it('a void that the provider made shows in the refund and in the timeline', () => {
    const checkout = DrivenCheckout.paid();
    checkout.askRefund('k', null);
    checkout.sendRefund();
    checkout.answerRefund('k', { kind: 'done', value: { ...listed('rfnd_1', 150_000, 'k'), isVoid: true } });
    expect(checkout.model.refund('k')).toMatchObject({ kind: 'void', status: 'succeeded', id: 'rfnd_1' });
    expect(checkout.view.status).toBe('refunded');
    expect(checkout.timeline(...MONEY).at(-1)).toEqual({ what: 'voided', detail: 'THB 1,500.00, rfnd_1' });
  });

  it('a void that the provider refused shows its code and that a refund takes its place', () => {
    const checkout = DrivenCheckout.paid();
    checkout.askRefund('k', null);
    checkout.sendRefund();
    checkout.answerRefund('k', refusal);
    checkout.retrieve(paidCharge);
    expect(checkout.model.refund('k')).toMatchObject({ failure_code: 'failed', failure_message: 'no' });
    expect(checkout.timeline(...MONEY).at(-1)).toEqual({
      what: 'void_refused',
      detail: 'failed: a refund takes its place',
    });
    expect(checkout.timeline('refund_absent', 'refund_unknown')).toEqual([]);
  });
});

describe('a return that the provider refuses', () => {
  const RETURNED = { what: 'refund_requested', by: 'auto:late_payment' };

  /** A late payment, whose return the provider refuses. */
  function refusedReturn(checkout = DrivenCheckout.paidLate(), facts = { ...paidCharge, canVoid: false }) {
    checkout.sendRefund(facts);
    checkout.answerRefund('auto:chrg_1', refusal);
    checkout.retrieve(facts);
    return checkout;
  }

  it('a return that the provider refuses is tried again after an hour, then after a day', () => {
    const checkout = refusedReturn();
    const first = checkout.now;
    expect(checkout.step).toEqual({
      do: 'wait',
      until: parseInstant('2026-03-10T10:00:00Z'),
      why: 'then try to return the money again',
    });
    checkout.now = plus(first, 3_600_000);
    refusedReturn(checkout);
    expect(checkout.model.state.refunds).toMatchObject([{ retryAt: plus(first, 3_600_000 + DAY), refusals: 2 }]);
    expect(checkout.view.attention).toEqual({
      code: 'return_refused',
      since: '2026-03-10T09:00:00.000Z',
      detail: 'THB 1,500.00 of chrg_1: failed, no',
    });
    const why = ', paid after the checkout was published as expired';
    expect(checkout.timeline('refund_requested', 'refund_rejected')).toEqual([
      { ...RETURNED, detail: `THB 1,500.00${why}` },
      { what: 'refund_rejected', detail: 'auto:chrg_1: failed' },
      { ...RETURNED, detail: 'auto:chrg_1: again' },
      { what: 'refund_rejected', detail: 'auto:chrg_1: failed' },
    ]);
  });

  it('a return that the provider refuses is not tried again when the money was returned meanwhile', () => {
    const checkout = DrivenCheckout.paidLate();
    checkout.sendRefund({ ...paidCharge, canVoid: false });
    checkout.answerRefund('auto:chrg_1', refusal);
    checkout.retrieve(withRefunds([listed('rfnd_9', 150_000, null)]));
    expect(checkout.step).toMatchObject({ do: 'wait' });
    expect(checkout.view).toMatchObject({ status: 'refunded', attention: null });
    expect(checkout.model.state.refunds).toMatchObject([{ status: 'rejected', retryAt: null, refusals: 0 }, {}]);
  });

  it('a return is not tried again after the refund window has closed', () => {
    const checkout = DrivenCheckout.paidLate();
    checkout.model.advanceTo(checkout.now);
    checkout.now = parseInstant('2027-03-10T09:00:00.001Z');
    checkout.retrieve(paidCharge);
    checkout.model.advanceTo(checkout.now);
    expect(checkout.model.state.refunds).toMatchObject([{ status: 'rejected', retryAt: null }]);
    expect(checkout.view.attention?.detail).toBe(
      'THB 1,500.00 of chrg_1: refund_window_closed, The refund window ended at 2027-03-10T09:00:00.000Z',
    );
  });

  it("a caller's refund that the provider refuses is not tried again and raises no attention", () => {
    const checkout = DrivenCheckout.paid();
    checkout.askRefund('k', 50_000);
    checkout.sendRefund();
    checkout.answerRefund('k', refusal);
    checkout.retrieve(paidCharge);
    expect(checkout.step).toMatchObject({ do: 'wait' });
    expect(checkout.model.refund('k')).toMatchObject({ status: 'rejected', failure_code: 'failed' });
    expect(checkout.view.attention).toBeNull();
  });
});

it('the timeline names an unknown outcome, and the lookup that shows no refund', () => {
  const checkout = DrivenCheckout.paid();
  checkout.askRefund('k', 50_000);
  checkout.sendRefund();
  checkout.answerRefund('k', unknownOutcome);
  expect(checkout.retrieveUntilOther()).toMatchObject({ do: 'createRefund', key: 'k' });
  expect(checkout.timeline('refund_unknown', 'refund_absent')).toEqual([
    { what: 'refund_unknown', detail: 'timeout: no answer' },
    { what: 'refund_absent', detail: 'k' },
  ]);
});
