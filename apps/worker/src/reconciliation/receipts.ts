import {
  examineReceipt,
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
import type { Charge, PaymentsClient, RequestOptions, Receipt as TheirReceipt } from '@tillflow/payments-client';
import { embeddedRefunds, instantOf, textOf } from '../activities/charge-facts.js';
import { inTime } from './list-by-time.js';

/** A charge is made this long before it is paid at most, and voided this long after at most, in milliseconds. */
const BEFORE_MS = 2 * 86_400_000;

type Month = Window & { readonly receipts: Receipt[] };

/** Receipts issued in a window, each compared with the charges of its month, which are read for it. */
export async function compareReceipts(
  client: PaymentsClient,
  window: Window,
  rules: Rules,
  options: RequestOptions,
): Promise<Break[]> {
  const months = new Map<number, Month>();
  if (window.from >= window.to) return [];
  // Issued at the very end of the window, it is of the next one.
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
      breaks.push(...examineReceipt(receipt, fees.get(receipt.currency) ?? NO_FEES, rules));
    }
  }
  return breaks;
}

/** What the charges of a month were charged, by currency: when they were paid, and less when they were voided. */
async function feesOf(
  client: PaymentsClient,
  month: Window,
  options: RequestOptions,
): Promise<Map<string, FeesOfMonth>> {
  const sums = new Map<string, FeesOfMonth>();
  const list = (bounds: { readonly from: string; readonly to: string }) => client.charges.iterate(bounds, options);
  for await (const charge of inTime(list, plus(month.from, -BEFORE_MS), month.to)) {
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

/** A void gives the fee back. */
function voidedAt(charge: Charge): number | null {
  const voided = embeddedRefunds(charge).find((refund) => refund.voided === true);
  return voided === undefined ? null : instantOf(voided.created_at);
}

/** Null where it does not say what it is over, or when it was issued. */
export function toReceipt(receipt: TheirReceipt): Receipt | null {
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
