import { describe, expect, it } from 'vitest';
import { parseInstant, plus } from '../instant.js';
import { compareReceipt, monthOf, NO_FEES, type Receipt } from './compare-receipt.js';

const receipt: Receipt = {
  id: 'rcpt_1',
  currency: 'THB',
  issuedOn: parseInstant('2026-03-05T00:00:00Z'),
  transactionFee: 100_000,
  transferFee: 20_000,
  wht: 3_000,
  total: 1_112_700,
  transactionId: 'trxn_1',
};
const FEES = { chargeFee: 1_000_000, voidedFee: 5_000, vat: 700 };
const RULES = { now: plus(receipt.issuedOn, 61_999), youngMs: 0, settleWithinMs: null };

describe('compareReceipt', () => {
  it('agrees with the fees of the month and of transfers, less voided fees and withheld tax', () => {
    expect(compareReceipt(receipt, FEES, RULES)).toEqual([]);
    expect(compareReceipt({ ...receipt, total: 117_000 }, NO_FEES, RULES)).toEqual([]);
  });

  it('states both totals, the age, and the month to compare again', () => {
    expect(compareReceipt({ ...receipt, total: 5 }, FEES, RULES)).toEqual([
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
