import { formatInstant, instant, plus } from '@tillflow/domain';
import { UnreadableRecord, type Charge, type PaymentsClient } from '@tillflow/payments-client';
import { describe, expect, it } from 'vitest';
import { ProviderRecords, toProviderCharge } from './provider-records.js';

const charge = (fields: Readonly<Record<string, unknown>> = {}): Charge =>
  ({
    object: 'charge',
    id: 'chrg_test_1',
    status: 'successful',
    amount: 150_000,
    currency: 'THB',
    funding_currency: 'THB',
    metadata: { checkout: 'chk_default_a' },
    created_at: '2026-03-10T15:59:00+07:00',
    paid_at: '2026-03-10T16:00:00+07:00',
    fee: 2_475,
    fee_vat: 173,
    net: 147_352,
    transaction_fees: { fee_flat: '0.0', fee_rate: '1.65', vat_rate: '7.0' },
    transaction: 'trxn_test_1',
    ...fields,
  }) as unknown as Charge;

const toTheirs = (fields?: Readonly<Record<string, unknown>>) => toProviderCharge(charge(fields), []);

describe('toProviderCharge', () => {
  it('contains ids, money, times and fees', () => {
    expect(toTheirs()).toEqual({
      id: 'chrg_test_1',
      checkoutId: 'chk_default_a',
      status: 'successful',
      amount: 150_000,
      currency: 'THB',
      till: { store: null, terminal: null },
      createdAt: Date.parse('2026-03-10T08:59:00Z'),
      paidAt: Date.parse('2026-03-10T09:00:00Z'),
      refundedAmount: 0,
      refunds: [],
      transactionId: 'trxn_test_1',
      fees: { fee: 2_475, vat: 173, net: 147_352, byRates: { fee: 2_475, vat: 173 } },
    });
  });

  it.each([[{}], [null], [{ checkout: 'order 7' }], [{ checkout: 'chk_other_a' }], [{ checkout: 7 }]])(
    'with the metadata %j is of another system',
    (metadata) => {
      expect(toTheirs({ metadata }).checkoutId).toBeNull();
    },
  );

  it.each([
    ['no fees', { fee: null }],
    ['another funding currency', { funding_currency: 'SGD' }],
  ])('has no fees for a charge with %s', (_, fields) => {
    expect(toTheirs(fields).fees).toBeNull();
  });

  it.each([
    ['no rates', null],
    ['no rate of VAT', { fee_flat: '0.0', fee_rate: '1.65' }],
    ['an empty rate', { fee_flat: '0.0', fee_rate: '', vat_rate: '7.0' }],
    ['rates of nothing', { fee_flat: '0', fee_rate: '0.0', vat_rate: '7' }],
    ['rates that are no numbers', { fee_flat: 'free', fee_rate: '1.65', vat_rate: '7' }],
  ])('has no fees by rates for a charge with %s', (_, transaction_fees) => {
    expect(toTheirs({ transaction_fees }).fees?.byRates).toBeNull();
  });

  it('has no fees for a voided charge whose fee was returned', () => {
    expect(toTheirs({ voided: true, fee: 0, fee_vat: 0, net: 0 }).fees).toBeNull();
    expect(toTheirs({ voided: true }).fees).toMatchObject({ fee: 2_475 });
  });

  it('sums the refunds when the charge has no refunded_amount', () => {
    const refund = { object: 'refund', id: 'rfnd_1', amount: 1_000, currency: 'THB', status: 'closed' } as const;
    expect(toProviderCharge(charge({ refunded_amount: null }), [refund, refund]).refundedAmount).toBe(2_000);
    expect(toProviderCharge(charge({ refunded_amount: 1_500 }), [refund, refund]).refundedAmount).toBe(1_500);
  });

  it('does not count interest as a fee', () => {
    expect(toTheirs({ interest: 100, interest_vat: 7, net: 147_245 }).fees?.net).toBe(147_352);
  });

  it('uses the creation time when a paid charge has no payment time', () => {
    expect(toTheirs({ paid_at: null }).paidAt).toBe(toTheirs().createdAt);
    expect(toTheirs({ paid_at: null, status: 'pending' }).paidAt).toBeNull();
  });

  it('gives a reversed charge the status reversed', () => {
    expect(toTheirs({ reversed: true }).status).toBe('reversed');
  });

  it('names the movement by id, also when the charge embeds the whole record', () => {
    expect(toTheirs({ transaction: { id: 'trxn_test_2' } }).transactionId).toBe('trxn_test_2');
    expect(toTheirs({ transaction: null }).transactionId).toBeNull();
  });
});

describe('the event of a refund', () => {
  const createdAt = instant(Date.parse('2026-03-10T09:00:00Z'));
  const movement = {
    id: 'trxn_1',
    chargeId: null,
    refundId: 'rfnd_1',
    amount: 1_000,
    currency: 'THB',
    createdAt,
    transferableAt: null,
  };

  /** A provider whose event comes later than the movement; the sandbox creates both at once. */
  const recordsOf = (laterMs: number, event: Readonly<Record<string, unknown>>) => {
    const at = formatInstant(plus(createdAt, laterMs));
    const client = {
      events: {
        async *iterateTolerant({ from, to }: { readonly from: string; readonly to: string }) {
          yield await Promise.resolve(
            new UnreadableRecord({ id: 'evnt_1', data: null }, {} as UnreadableRecord['error']),
          );
          if (at >= from && at <= to) yield await Promise.resolve(event);
        },
      },
      charges: { retrieve: (id: string) => Promise.resolve(charge({ id })) },
    } as unknown as PaymentsClient;
    return new ProviderRecords(client, 'default', false, new AbortController().signal);
  };
  const sought = async (laterMs: number, data: Readonly<Record<string, unknown>>) =>
    (await recordsOf(laterMs, { data }).refunded(movement))?.id;

  it.each([
    ['at once', 0, 'chrg_test_1'],
    ['seconds later', 5_000, 'chrg_test_1'],
    ['minutes later', 300_000, 'chrg_test_1'],
    ['before', -300_000, 'chrg_test_1'],
    ['much later', 300_001, undefined],
  ])('finds the charge by an event that came %s', async (_, laterMs, expected) => {
    expect(await sought(laterMs, { id: 'rfnd_1', charge: 'chrg_test_1' })).toBe(expected);
  });

  it('ignores the event of another refund, and one that names no charge', async () => {
    expect(await sought(0, { id: 'rfnd_2', charge: 'chrg_test_1' })).toBeUndefined();
    expect(await sought(0, { id: 'rfnd_1' })).toBeUndefined();
  });

  const OF_REFUND = { data: { id: 'rfnd_1', charge: 'chrg_test_1' } };

  it.each([
    ['all three', { actor_uid: 'user_1', user_uid: 'user_2', team_uid: 'acct_1' }],
    ['one of them', { actor_uid: null, user_uid: null, team_uid: 'acct_1' }],
  ])('names who made the refund, with %s', async (_, names) => {
    expect(await recordsOf(60_000, { ...OF_REFUND, ...names }).madeBy('rfnd_1', createdAt)).toEqual(names);
  });

  it.each([
    ['no name', OF_REFUND],
    ['names that are not texts', { ...OF_REFUND, actor_uid: 7, user_uid: null }],
    ['empty names', { ...OF_REFUND, actor_uid: '', team_uid: '' }],
    ['the id of another refund', { data: { id: 'rfnd_2' }, actor_uid: 'user_1' }],
  ])('names no one when the event has %s', async (_, event) => {
    expect(await recordsOf(0, event).madeBy('rfnd_1', createdAt)).toBeNull();
  });
});
