import { describe, expect, it } from 'vitest';
import { parseInstant, plus } from '../instant.js';
import { compareReceipts, monthOf, NO_FEES, type Receipt } from './compare-receipt.js';

const receipt: Receipt = {
  id: 'rcpt_1',
  currency: 'THB',
  isCreditNote: false,
  issuedOn: parseInstant('2026-03-05T00:00:00Z'),
  transactionFee: 100_000,
  transferFee: 20_000,
  wht: 3_000,
  total: 1_112_700,
  transactionId: 'trxn_1',
};
const FEES = { chargeFee: 1_000_000, voidedFee: 5_000, vat: 700 };
const RULES = { now: plus(receipt.issuedOn, 61_999), youngMs: 0, settleWithinMs: null };

describe('compareReceipts', () => {
  it('agrees with the fees of the month and of transfers, less voided fees and withheld tax', () => {
    expect(compareReceipts([receipt], FEES, RULES)).toEqual([]);
    expect(compareReceipts([{ ...receipt, total: 117_000 }], NO_FEES, RULES)).toEqual([]);
  });

  const invoice = { ...receipt, total: 1_200_000 };
  const creditNote = {
    ...receipt,
    id: 'rcpt_2',
    isCreditNote: true,
    issuedOn: plus(receipt.issuedOn, 86_400_000),
    transactionFee: 0,
    transferFee: 0,
    wht: 0,
  };

  it.each([
    ['without a minus sign', 87_300],
    ['with a minus sign', -87_300],
  ])('takes a credit note off the invoice of its month, written %s', (_, total) => {
    expect(compareReceipts([invoice, { ...creditNote, total }], FEES, RULES)).toEqual([]);
    expect(compareReceipts([{ ...creditNote, total }, invoice], FEES, RULES)).toEqual([]);
  });

  it('takes the fees of transfers off, too, when the credit note states them', () => {
    const [total, transferFee] = [20_000, 20_000];
    expect(compareReceipts([receipt, { ...creditNote, total, transferFee }], FEES, RULES)).toEqual([]);
  });

  it('adds up two invoices of one month', () => {
    const second = { ...creditNote, isCreditNote: false, total: -87_300 };
    expect(compareReceipts([invoice, second], FEES, RULES)).toEqual([]);
  });

  it('compares a month that has only a credit note', () => {
    const voided = { chargeFee: 0, voidedFee: 80_000, vat: -7_300 };
    expect(compareReceipts([{ ...creditNote, total: 87_300 }], voided, RULES)).toEqual([]);
  });

  it('names the first receipt of the month, with the sum of all', () => {
    const [found, ...others] = compareReceipts([{ ...creditNote, total: 5 }, invoice], FEES, RULES);
    expect([found?.receipt_id, found?.actual?.amount, found?.age_seconds]).toEqual(['rcpt_1', 1_199_995, 61]);
    expect(others).toEqual([]);
    expect(compareReceipts([], FEES, RULES)).toEqual([]);
  });

  it('states both totals, the age, and the month to compare again', () => {
    expect(compareReceipts([{ ...receipt, total: 5 }], FEES, RULES)).toEqual([
      {
        type: 'receipt_total',
        checkout_id: null,
        charge_id: null,
        refund_id: null,
        transaction_id: 'trxn_1',
        receipt_id: 'rcpt_1',
        expected: { status: null, amount: 1_112_700, currency: 'THB' },
        actual: { status: null, amount: 5, currency: 'THB' },
        age_seconds: 61,
        suggested_action:
          'pnpm tillflow reconcile --from 2026-02-01T00:00:00.000Z --to 2026-03-01T00:00:00.000Z --dry-run',
        healed: false,
      },
    ]);
  });
});

it.each([
  ['2026-03-05T00:00:00Z', '2026-02-01T00:00:00Z', '2026-03-01T00:00:00Z'],
  ['2026-01-31T00:00:00Z', '2025-12-01T00:00:00Z', '2026-01-01T00:00:00Z'],
])('monthOf a receipt of %s is from %s to %s', (issuedOn, from, to) => {
  const month = { from: parseInstant(from), to: parseInstant(to) };
  expect(monthOf({ ...receipt, issuedOn: parseInstant(issuedOn) })).toEqual(month);
});
