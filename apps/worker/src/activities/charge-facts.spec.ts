import type { Charge } from '@tillflow/payments-client';
import { describe, expect, it } from 'vitest';
import { toFacts } from './charge-facts.js';

const charge = (fields: Readonly<Record<string, unknown>>): Charge =>
  ({
    object: 'charge',
    id: 'chrg_test_1',
    status: 'successful',
    amount: 150_000,
    currency: 'THB',
    livemode: false,
    metadata: { checkout: 'chk_default_a', attempt: '1' },
    paid_at: '2026-03-10T16:00:00+07:00',
    ...fields,
  }) as unknown as Charge;

describe('the facts of a charge', () => {
  it('are its ids, its money, its status and whose it is, with times in UTC', () => {
    expect(toFacts(charge({}), false)).toEqual({
      chargeId: 'chrg_test_1',
      sourceId: null,
      status: 'successful',
      amount: 150_000,
      currency: 'THB',
      checkoutId: 'chk_default_a',
      attempt: '1',
      isOtherMode: false,
      failureCode: null,
      failureMessage: null,
      paidAt: '2026-03-10T09:00:00.000Z',
      qr: null,
      refundedAmount: 0,
      refunds: [],
      canVoid: false,
    });
  });

  it('say which of its refunds is in another currency', () => {
    const refund = (id: string, currency?: string) => ({
      object: 'refund',
      id,
      amount: 50_000,
      currency,
      status: 'closed',
    });
    const data = [refund('rfnd_1', 'THB'), refund('rfnd_2', 'MYR'), refund('rfnd_3')];
    const { refunds } = toFacts(charge({ refunds: { data } }), false);
    expect(refunds.map(({ otherCurrency }) => otherCurrency)).toEqual([undefined, 'MYR', undefined]);
  });

  it('of a reversed charge are never those of a payment', () => {
    expect(toFacts(charge({ reversed: true }), false).status).toBe('reversed');
  });

  it('of a voided charge say that all of it was given back, whatever sum it shows', () => {
    expect(toFacts(charge({ voided: true, refunded_amount: 0 }), false).refundedAmount).toBe(150_000);
    expect(toFacts(charge({ voided: true }), false).refundedAmount).toBe(150_000);
    expect(toFacts(charge({ voided: false, refunded_amount: 1 }), false).refundedAmount).toBe(1);
  });

  it('say when it is of the other mode', () => {
    expect(toFacts(charge({ livemode: true }), false).isOtherMode).toBe(true);
    expect(toFacts(charge({ livemode: true }), true).isOtherMode).toBe(false);
  });

  it.each([null, undefined, 'yesterday', '2026-02-30T00:00:00Z'])('take no time from %j', (paid_at) => {
    expect(toFacts(charge({ paid_at }), false).paidAt).toBeNull();
  });

  it.each([null, undefined, 7, { checkout: 7 }])('take no owner from the metadata %j', (metadata) => {
    expect(toFacts(charge({ metadata }), false).checkoutId).toBeNull();
  });
});
