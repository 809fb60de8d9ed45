import {
  compareReceipts as compareMonth,
  formatInstant,
  monthOf,
  NO_FEES,
  plus,
  type Break,
  type FeesOfMonth,
  type Receipt,
  type Rules,
  type Window,
} from '@tillflow/domain';
import type { Charge, PaymentsClient, RequestOptions, Receipt as ProviderReceipt } from '@tillflow/payments-client';
import { embeddedRefunds, instantOf, textOf } from '../activities/charge-facts.js';
import { listByTime } from './list-by-time.js';

/** A charge is created at most this long before its payment, and voided at most this long after it, in milliseconds. */
const BEFORE_MS = 2 * 86_400_000;

const LONGEST_MONTH_MS = 31 * 86_400_000;
/** The provider dates a receipt at most this far from its creation, in milliseconds. Source: assumption. */
const DATED_WITHIN_MS = 2 * 86_400_000;

/**
 * Compares each month and currency for which a receipt was issued in a window: the sum of all receipts of that month,
 * also of those that were issued before or after the window, with the charges of the month.
 */
export async function compareReceipts(
  client: PaymentsClient,
  window: Window,
  rules: Rules,
  options: RequestOptions,
): Promise<Break[]> {
  if (window.from >= window.to) return [];
  const breaks: Break[] = [];
  // A receipt that was issued exactly at the end belongs to the next window.
  const issued = await receiptsIssued(client, { from: window.from, to: plus(window.to, -1) }, options);
  const months = new Map(issued.map((receipt) => [monthOf(receipt).from, monthOf(receipt)]));
  for (const month of months.values()) {
    const issuedFor = {
      from: plus(month.to, -DATED_WITHIN_MS),
      to: plus(month.to, LONGEST_MONTH_MS + DATED_WITHIN_MS),
    };
    const listed = [...issued, ...(await receiptsIssued(client, issuedFor, options))];
    const ofMonth = [...new Map(listed.map((receipt) => [receipt.id, receipt])).values()].filter(
      (receipt) => monthOf(receipt).from === month.from,
    );
    const fees = await feesOf(client, month, options);
    const isNew = (receipt: Receipt): boolean => issued.some(({ id }) => id === receipt.id);
    for (const currency of new Set(ofMonth.filter(isNew).map((receipt) => receipt.currency))) {
      const receipts = ofMonth.filter((receipt) => receipt.currency === currency);
      breaks.push(...compareMonth(receipts, fees.get(currency) ?? NO_FEES, rules));
    }
  }
  return breaks;
}

/** Receipts that were created from `from` to `to`, inclusive. */
async function receiptsIssued(
  client: PaymentsClient,
  { from, to }: Window,
  options: RequestOptions,
): Promise<Receipt[]> {
  const receipts: Receipt[] = [];
  const bounds = { from: formatInstant(from), to: formatInstant(to) };
  for await (const issued of client.receipts.iterate(bounds, options)) {
    const receipt = toReceipt(issued);
    if (receipt !== null) receipts.push(receipt);
  }
  return receipts;
}

/** The fees of a month by currency: of charges that were paid in it, less those of charges that were voided in it. */
async function feesOf(
  client: PaymentsClient,
  month: Window,
  options: RequestOptions,
): Promise<Map<string, FeesOfMonth>> {
  const sums = new Map<string, FeesOfMonth>();
  const list = (bounds: { readonly from: string; readonly to: string }) => client.charges.iterate(bounds, options);
  for await (const charge of listByTime(list, plus(month.from, -BEFORE_MS), month.to)) {
    const { fee, fee_vat: vat, currency } = charge;
    if (typeof fee !== 'number' || typeof vat !== 'number') continue;
    const isIn = (at: number | null): boolean => at !== null && at >= month.from && at < month.to;
    const { chargeFee, voidedFee, vat: sum } = sums.get(currency) ?? NO_FEES;
    const [paid, voided] = [isIn(instantOf(charge.paid_at)) ? 1 : 0, isIn(voidedAt(charge)) ? 1 : 0];
    sums.set(currency, {
      chargeFee: chargeFee + paid * fee,
      voidedFee: voidedFee + voided * fee,
      vat: sum + (paid - voided) * vat,
    });
  }
  return sums;
}

/** A void returns the fee. */
function voidedAt(charge: Charge): number | null {
  const voided = embeddedRefunds(charge).find((refund) => refund.voided === true);
  return voided === undefined ? null : instantOf(voided.created_at);
}

/** Null when the receipt lacks its currency, its total or its date. */
export function toReceipt(receipt: ProviderReceipt): Receipt | null {
  const { id, currency, total, adjustment_transaction: adjustment } = receipt;
  const day = (textOf(receipt.issued_on) ?? '').slice(0, 10);
  const issuedOn = instantOf(`${day}T00:00:00Z`) ?? instantOf(receipt.created_at);
  if (typeof currency !== 'string' || typeof total !== 'number' || issuedOn === null) return null;
  return {
    id,
    currency,
    isCreditNote: receipt.credit_note === true,
    issuedOn,
    transactionFee: receipt.transaction_fee ?? 0,
    transferFee: receipt.transfer_fee ?? 0,
    wht: receipt.wht ?? 0,
    total,
    transactionId: textOf(adjustment?.id),
  };
}
