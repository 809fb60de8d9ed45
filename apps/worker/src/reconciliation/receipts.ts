import {
  compareReceipt,
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

type Month = Window & { readonly receipts: Receipt[] };

/** Compares each receipt that was issued in a window with the charges of its month. */
export async function compareReceipts(
  client: PaymentsClient,
  window: Window,
  rules: Rules,
  options: RequestOptions,
): Promise<Break[]> {
  const months = new Map<number, Month>();
  if (window.from >= window.to) return [];
  // A receipt that was issued exactly at the end belongs to the next window.
  const bounds = { from: formatInstant(window.from), to: formatInstant(plus(window.to, -1)) };
  for await (const issued of client.receipts.iterate(bounds, options)) {
    const receipt = toReceipt(issued);
    if (receipt === null) continue;
    const month = monthOf(receipt);
    months.set(month.from, { ...month, receipts: [...(months.get(month.from)?.receipts ?? []), receipt] });
  }
  const breaks: Break[] = [];
  for (const month of months.values()) {
    const fees = await feesOf(client, month, options);
    for (const receipt of month.receipts) {
      breaks.push(...compareReceipt(receipt, fees.get(receipt.currency) ?? NO_FEES, rules));
    }
  }
  return breaks;
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
    issuedOn,
    transactionFee: receipt.transaction_fee ?? 0,
    transferFee: receipt.transfer_fee ?? 0,
    wht: receipt.wht ?? 0,
    total,
    transactionId: textOf(adjustment?.id),
  };
}
