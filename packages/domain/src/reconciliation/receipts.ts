import { formatInstant, instant, type Instant } from '../instant.js';
import { toBreak, type Break } from './breaks.js';
import type { Rules } from './examine.js';

/** A statement of fees and taxes. Amounts are in the smallest unit of `currency`. Source: API reference, "Receipt". */
export type Receipt = {
  readonly id: string;
  readonly currency: string;
  /** The day on it. */
  readonly issuedOn: Instant;
  readonly transactionFee: number;
  readonly transferFee: number;
  readonly wht: number;
  readonly total: number;
  /** The movement that it booked besides; null for none. */
  readonly transactionId: string | null;
};

/** What the charges of a month and currency were charged, in its smallest unit. Voids give it back. */
export type FeesOfMonth = { readonly chargeFee: number; readonly voidedFee: number; readonly vat: number };

export const NO_FEES: FeesOfMonth = { chargeFee: 0, voidedFee: 0, vat: 0 };

/** The calendar month, in UTC, that had ended last when the receipt was issued. Source: assumption, "Receipts". */
export function monthOf({ issuedOn }: Receipt): { readonly from: Instant; readonly to: Instant } {
  const day = new Date(issuedOn);
  const start = (months: number): Instant => instant(Date.UTC(day.getUTCFullYear(), day.getUTCMonth() + months, 1));
  return { from: start(-1), to: start(0) };
}

/**
 * Whether the receipt states what the charges of its month came to. What we cannot know, fees of transfers and withheld
 * tax, is taken from the receipt.
 */
export function examineReceipt(receipt: Receipt, fees: FeesOfMonth, { now }: Rules): Break[] {
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
