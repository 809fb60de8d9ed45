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

describe('toFacts', () => {
  it('contains ids, money, status and checkout, with times in UTC', () => {
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

  it('marks a refund in another currency', () => {
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

  it('gives a reversed charge the status reversed', () => {
    expect(toFacts(charge({ reversed: true }), false).status).toBe('reversed');
  });

  it('counts a voided charge as refunded completely, whatever refunded_amount says', () => {
    expect(toFacts(charge({ voided: true, refunded_amount: 0 }), false).refundedAmount).toBe(150_000);
    expect(toFacts(charge({ voided: true }), false).refundedAmount).toBe(150_000);
    expect(toFacts(charge({ voided: false, refunded_amount: 1 }), false).refundedAmount).toBe(1);
  });

  it('marks a charge of the other mode', () => {
    expect(toFacts(charge({ livemode: true }), false).isOtherMode).toBe(true);
    expect(toFacts(charge({ livemode: true }), true).isOtherMode).toBe(false);
  });

  it.each([null, undefined, 'yesterday', '2026-02-30T00:00:00Z'])('has no payment time for %j', (paid_at) => {
    expect(toFacts(charge({ paid_at }), false).paidAt).toBeNull();
  });

  it.each([null, undefined, 7, { checkout: 7 }])('has no checkout for the metadata %j', (metadata) => {
    expect(toFacts(charge({ metadata }), false).checkoutId).toBeNull();
  });
});
