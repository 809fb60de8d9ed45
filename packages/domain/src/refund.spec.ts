import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parseInstant, plus } from './instant.js';
import {
  describeRefusal,
  leftToRefund,
  limitIn,
  refundKind,
  refuseNewRefund,
  refuseRefund,
  refuseRepetition,
  type RefundablePayment,
  type RefundRefusal,
} from './refund.js';
import { refundableUntil } from './windows.js';

const PAID_AT = parseInstant('2026-03-10T09:00:00Z');
const payment: RefundablePayment = { paid: 150_000, returned: 0, pending: 0, paidAt: PAID_AT };

describe('leftToRefund', () => {
  it('leftToRefund is the payment less the returned and the pending amounts, and never negative', () => {
    expect(leftToRefund(payment)).toBe(150_000);
    expect(leftToRefund({ ...payment, returned: 50_000, pending: 30_000 })).toBe(70_000);
    expect(leftToRefund({ ...payment, returned: 100_000, pending: 60_000 })).toBe(0);
  });
});

describe('a refund', () => {
  it('is refused while nothing is paid', () => {
    expect(refuseRefund({ ...payment, paidAt: null }, 1, PAID_AT)).toEqual({ code: 'not_paid' });
  });

  it('is possible until the last instant of the refund window, and refused one millisecond later', () => {
    const until = refundableUntil(PAID_AT);
    expect(refuseRefund(payment, 1, until)).toBeNull();
    expect(refuseRefund(payment, 1, plus(until, 1))).toEqual({ code: 'refund_window_closed', until });
  });

  it('may be all that is left, and is refused with one unit more', () => {
    const partly = { ...payment, returned: 50_000, pending: 30_000 };
    expect(refuseRefund(partly, 70_000, PAID_AT)).toBeNull();
    expect(refuseRefund(partly, null, PAID_AT)).toBeNull();
    expect(refuseRefund(partly, 70_001, PAID_AT)).toEqual({ code: 'refund_exceeds_paid', left: 70_000 });
  });

  it('without an amount is refused when nothing is left', () => {
    const refusal = { code: 'refund_exceeds_paid', left: 0 };
    expect(refuseRefund({ ...payment, returned: 150_000 }, null, PAID_AT)).toEqual(refusal);
    expect(refuseRefund({ ...payment, pending: 150_000 }, null, PAID_AT)).toEqual(refusal);
  });

  it('is never accepted beyond what was paid, whatever was returned or is pending', () => {
    const amount = fc.nat(200_000);
    fc.assert(
      fc.property(amount, amount, fc.integer({ min: 1, max: 200_000 }), (returned, pending, wanted) => {
        const refusal = refuseRefund({ ...payment, returned, pending }, wanted, PAID_AT);
        expect(refusal === null).toBe(returned + pending + wanted <= payment.paid);
      }),
    );
  });
});

describe('a new refund', () => {
  it('a new refund is refused once the checkout has a hundred', () => {
    expect(refuseNewRefund(payment, 99, 1, PAID_AT)).toBeNull();
    expect(refuseNewRefund(payment, 100, 1, PAID_AT)).toEqual({ code: 'too_many_refunds' });
  });

  it('a new refund that the payment does not cover is refused for the money, however many refunds there are', () => {
    const refusal = { code: 'refund_exceeds_paid', left: 150_000 };
    expect(refuseNewRefund(payment, 100, 150_001, PAID_AT)).toEqual(refusal);
  });
});

describe('a request with the key of a refund', () => {
  const conflict = { code: 'idempotency_conflict', amount: 50_000 };

  it.each([
    ['of a part', { amount: 50_000, asked: 50_000 }, 50_000],
    ['of the rest, without an amount', { amount: 50_000, asked: null }, null],
    ['of the rest, from a memo', { amount: 50_000 }, null],
    ['of the rest, by its amount', { amount: 50_000, asked: null }, 50_000],
  ])('a request with the key of a refund %s repeats it', (_, known, wanted) => {
    expect(refuseRepetition(known, wanted)).toBeNull();
  });

  it.each([
    ['another amount', { amount: 50_000, asked: 50_000 }, 49_999],
    ['another amount than the rest', { amount: 50_000, asked: null }, 49_999],
    ['no amount', { amount: 50_000, asked: 50_000 }, null],
  ])('a request with the key of a refund is refused with %s', (_, known, wanted) => {
    expect(refuseRepetition(known, wanted)).toEqual(conflict);
  });
});

it.each<[RefundRefusal, string]>([
  [{ code: 'not_paid' }, 'The checkout is not paid'],
  [{ code: 'refund_window_closed', until: PAID_AT }, 'The refund window ended at 2026-03-10T09:00:00.000Z'],
  [{ code: 'refund_exceeds_paid', left: 70_000 }, 'At most THB 700.00 can still be refunded'],
  [{ code: 'idempotency_conflict', amount: 50_000 }, 'This key already belongs to a refund of THB 500.00'],
  [{ code: 'too_many_refunds' }, 'A checkout has at most 100 refunds'],
])('describeRefusal of %j says: %s', (refusal, text) => {
  expect(describeRefusal(refusal, 'THB')).toBe(text);
});

describe('the kind of a refund', () => {
  it('is a void only for the whole, untouched payment while it can be voided', () => {
    expect(refundKind(payment, 150_000, true)).toBe('void');
    expect(refundKind(payment, 150_000, false)).toBe('refund');
    expect(refundKind(payment, 149_999, true)).toBe('refund');
    expect(refundKind({ ...payment, returned: 1 }, 150_000, true)).toBe('refund');
  });
});

describe('the limit of a requester', () => {
  it.each([
    ['null is none', null, null],
    ['of a number holds in every currency', 50_000, 50_000],
    ['of its currency', { THB: 50_000, SGD: 100 }, 50_000],
    ['in a currency that it does not name is 0', { SGD: 100 }, 0],
  ] as const)('%s', (_, limit, expected) => {
    expect(limitIn(limit, 'THB')).toBe(expected);
  });
});
