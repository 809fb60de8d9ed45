import { formatInstant, instant, type Instant } from '../instant.js';
import { toBreak, type Break } from './breaks.js';
import type { Rules } from './rules.js';

/** A statement of fees and taxes. Amounts are in the smallest unit of `currency`. Source: API reference, "Receipt". */
export type Receipt = {
  readonly id: string;
  readonly currency: string;
  /** Midnight UTC of the day on the receipt. */
  readonly issuedOn: Instant;
  readonly transactionFee: number;
  readonly transferFee: number;
  readonly wht: number;
  readonly total: number;
  /** The adjustment of the balance that it names; null for none. */
  readonly transactionId: string | null;
};

/** The fees of the charges of a month in one currency, in its smallest unit. A void returns the fee. */
export type FeesOfMonth = { readonly chargeFee: number; readonly voidedFee: number; readonly vat: number };

export const NO_FEES: FeesOfMonth = { chargeFee: 0, voidedFee: 0, vat: 0 };

/** The last complete calendar month (UTC) before the receipt was issued. Source: assumption, "Receipts". */
export function monthOf({ issuedOn }: Receipt): { readonly from: Instant; readonly to: Instant } {
  const day = new Date(issuedOn);
  const start = (months: number): Instant => instant(Date.UTC(day.getUTCFullYear(), day.getUTCMonth() + months, 1));
  return { from: start(-1), to: start(0) };
}

/**
 * Compares the total of a receipt with the fees of the charges of its month. Tillflow does not know the fees of transfers
 * and the withheld tax, so it takes both from the receipt.
 */
export function compareReceipt(receipt: Receipt, fees: FeesOfMonth, { now }: Rules): Break[] {
  const { currency, total, transactionFee, transferFee, wht } = receipt;
  const expected = fees.chargeFee - fees.voidedFee + fees.vat + transactionFee + transferFee - wht;
  if (expected === total) return [];
  const { from, to } = monthOf(receipt);
  return [
    toBreak({
      type: 'receipt_total',
      receipt_id: receipt.id,
      transaction_id: receipt.transactionId,
      expected: { status: null, amount: expected, currency },
      actual: { status: null, amount: total, currency },
      ageMs: now - receipt.issuedOn,
      around: { from: formatInstant(from), to: formatInstant(to) },
    }),
  ];
}
