import type { Charge } from '@tillflow/payments-client';
import { describe, expect, it } from 'vitest';
import { paymentDetails } from './payment-details.js';

const SOURCE = {
  object: 'source',
  id: 'src_test_1',
  references: { customer_amount: 32_145, customer_currency: 'CNY', customer_exchange_rate: 0.2143 },
  provider_references: { reference_number_1: '4200001', reference_number_2: 'W12', buyer_name: 'Somchai P.' },
  receipt_amount: 150_000,
  discounts: [{ name: 'Monday', amount: 500 }],
};
const CHARGE = {
  object: 'charge',
  id: 'chrg_test_1',
  status: 'successful',
  amount: 150_000,
  currency: 'THB',
  fee: 5_475,
  fee_vat: 383,
  net: 144_142,
  acquirer_reference_number: '700012',
  approval_code: 'A1B2C3',
};

/** @param fields of the charge @param inSource of its source */
const detailsOf = (fields: object = {}, inSource: object = {}) =>
  paymentDetails({ ...CHARGE, source: { ...SOURCE, ...inSource }, ...fields } as unknown as Charge);

describe('the details of a payment', () => {
  it('contain fees, the amount in the currency of the customer, discounts and references', () => {
    expect(detailsOf()).toEqual({
      customer: [32_145, 'CNY', 0.2143],
      receipt: 150_000,
      discounts: [{ name: 'Monday', amount: 500 }],
      fees: [5_475, 383, 144_142],
      slip: ['4200001', 'W12', '700012', 'A1B2C3'],
    });
  });

  it('never contain the name of the buyer', () => {
    expect(JSON.stringify(detailsOf())).not.toContain('Somchai');
  });

  it.each([
    ['no source', { source: null }],
    ['a source without details', { source: { object: 'source', id: 'src_test_1' } }],
  ])('of a charge with %s contain only what the charge says', (_name, fields) => {
    const [fees, slip] = [
      [5_475, 383, 144_142],
      [null, null, '700012', 'A1B2C3'],
    ];
    expect(detailsOf(fields)).toEqual({ discounts: null, fees, slip });
  });

  it.each([null, undefined, 'x', {}, [], true, Number.NaN, Infinity, 1.5])('leave out numbers that are %j', (value) => {
    const details = detailsOf(
      { fee: value, fee_vat: value, net: value },
      { receipt_amount: value, references: { customer_amount: value } },
    );
    expect(Object.keys(details).toSorted()).toEqual(['discounts', 'slip']);
  });

  it.each([null, 0, -1, '0.2', Number.NaN, Infinity])('leave out the exchange rate %j', (customer_exchange_rate) => {
    const details = detailsOf({}, { references: { ...SOURCE.references, customer_exchange_rate } });
    expect(details.customer).toEqual([32_145, 'CNY', null]);
  });

  it.each([null, 'cny', 'YUAN', 7])('leave out the currency %j', (customer_currency) => {
    const details = detailsOf({}, { references: { ...SOURCE.references, customer_currency } });
    expect(details.customer).toEqual([32_145, null, 0.2143]);
  });

  it.each([{ refunded_amount: 1 }, { voided: true }])('leave out the fees after a refund: %j', (refund) => {
    expect(detailsOf(refund)).not.toHaveProperty('fees');
  });

  it.each([null, 7, '', '  ', 'a\nb', '\uD800', 'x'.repeat(65), '\uFDFA'.repeat(4)])(
    'leave out the reference %j',
    (value) => {
      const provider_references = { reference_number_1: value, reference_number_2: value };
      const details = detailsOf({ acquirer_reference_number: value }, { provider_references });
      expect(details.slip).toEqual([null, null, null, 'A1B2C3']);
    },
  );

  it('contain a reference of 64 characters', () => {
    expect(detailsOf({ approval_code: 'x'.repeat(64) }).slip?.[3]).toHaveLength(64);
  });

  it.each([null, 'none', {}, [{ name: 'x'.repeat(500) }]])('do not know the discounts %j', (discounts) => {
    expect(detailsOf({}, { discounts }).discounts).toBeNull();
  });

  it('leave out an empty list of discounts, and the name of the buyer in any of them', () => {
    expect(detailsOf({}, { discounts: [] })).not.toHaveProperty('discounts');
    const discounts = [{ amount: 500, by: { buyer_name: 'Somchai P.' } }];
    expect(detailsOf({}, { discounts }).discounts).toEqual([{ amount: 500, by: {} }]);
  });
});
