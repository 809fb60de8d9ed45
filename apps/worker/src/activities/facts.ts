import { formatInstant, parseInstant, type Instant } from '@tillflow/domain';
import type { Charge, Refund } from '@tillflow/payments-client';
import type { ChargeFacts, RefundFacts } from '@tillflow/workflows';

/** The metadata that records are found again by. Whatever else a caller sent may come back otherwise. */
export const SEARCHED_METADATA = ['checkout', 'attempt', 'refund_key', 'plan'] as const;

/** A charge reduced to what a checkout acts on: a whole one would fill the history. */
export function toFacts(charge: Charge, livemode: boolean): ChargeFacts {
  const { source, metadata } = charge;
  const code = source?.scannable_code;
  const uri = code?.image?.download_uri;
  return {
    chargeId: charge.id,
    sourceId: source?.id ?? null,
    // A reversed charge keeps its status; it is not the payment that its status says it is.
    status: charge.reversed === true ? 'reversed' : charge.status,
    amount: charge.amount,
    currency: charge.currency,
    checkoutId: textOf(metadata?.['checkout']),
    attempt: textOf(metadata?.['attempt']),
    isOtherMode: (charge.livemode ?? livemode) !== livemode,
    failureCode: charge.failure_code ?? null,
    failureMessage: charge.failure_message ?? null,
    paidAt: timeOf(charge.paid_at),
    qr: uri === null || uri === undefined ? null : { downloadUri: uri, rawData: code?.raw_data ?? null },
    // A void gives all of it back; that the sum says so too is an assumption.
    refundedAmount: charge.voided === true ? charge.amount : (charge.refunded_amount ?? 0),
    refunds: embeddedRefunds(charge).map((refund) => toRefundFacts(refund, charge.currency)),
    canVoid: charge.can_perform_void === true,
  };
}

/** The refunds that a charge carries. Replies are not checked this deep: what is no refund is left out. */
export function embeddedRefunds({ refunds }: Charge): Refund[] {
  const data: unknown = refunds?.data;
  return Array.isArray(data) ? data.filter(isRefund) : [];
}

function isRefund(value: unknown): value is Refund {
  if (typeof value !== 'object' || value === null) return false;
  const { id, amount } = value as Partial<Refund>;
  return typeof id === 'string' && Number.isSafeInteger(amount);
}

/** @param paidIn the currency of the charge that it is of. */
export function toRefundFacts({ id, amount, currency, voided, metadata }: Refund, paidIn: string): RefundFacts {
  return {
    refundId: id,
    amount,
    // A refund that a charge carries may lack its currency: it contradicts nothing then.
    ...(textOf(currency) === null || currency === paidIn ? {} : { otherCurrency: currency }),
    isVoid: voided === true,
    key: textOf(metadata?.['refund_key']),
  };
}

export function textOf(value: unknown): string | null {
  return typeof value === 'string' ? value : null;
}

/** A time that cannot be read is no time: the workflow then takes its own. */
function timeOf(text: string | null | undefined): string | null {
  const at = instantOf(text);
  return at === null ? null : formatInstant(at);
}

export function instantOf(text: string | null | undefined): Instant | null {
  if (text === null || text === undefined) return null;
  try {
    return parseInstant(text);
  } catch {
    return null;
  }
}
