import { formatInstant, instant, type Instant } from '../instant.js';
import { compareTexts, toBreak, type Break } from './breaks.js';
import type { Rules } from './rules.js';

/** A statement of fees and taxes. Amounts are in the smallest unit of `currency`. Source: API reference, "Receipt". */
export type Receipt = {
  readonly id: string;
  readonly currency: string;
  /** It takes back what another receipt charged: see {@link compareReceipts}. */
  readonly isCreditNote: boolean;
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
 * Compares the sum of the receipts of one month and currency with the fees of the charges of that month: an invoice and
 * the credit note that corrects it state the month together. Tillflow does not know the fees of transfers and the
 * withheld tax, so it takes both from the receipts. A credit note lowers the sum, whether the provider writes its
 * amounts with a minus sign or without. Source: assumption, "Receipts of a month".
 * @param receipts at least one; their order does not matter
 */
export function compareReceipts(receipts: readonly Receipt[], fees: FeesOfMonth, { now }: Rules): Break[] {
  const [first] = receipts.toSorted((a, b) => a.issuedOn - b.issuedOn || compareTexts(a.id, b.id));
  if (first === undefined) return [];
  const { currency } = first;
  const signed = receipts.map((receipt) => ({ ...receipt, sign: receipt.isCreditNote && receipt.total > 0 ? -1 : 1 }));
  const total = signed.reduce((sum, one) => sum + one.sign * one.total, 0);
  const unknown = signed.reduce((sum, one) => sum + one.sign * (one.transactionFee + one.transferFee - one.wht), 0);
  const expected = fees.chargeFee - fees.voidedFee + fees.vat + unknown;
  if (expected === total) return [];
  const { from, to } = monthOf(first);
  return [
    toBreak({
      type: 'receipt_total',
      receipt_id: first.id,
      transaction_id: first.transactionId,
      expected: { status: null, amount: expected, currency },
      actual: { status: null, amount: total, currency },
      ageMs: now - first.issuedOn,
      around: { from: formatInstant(from), to: formatInstant(to) },
    }),
  ];
}
