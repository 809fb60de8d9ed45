import { formatInstant, parseInstant, type Instant } from '@tillflow/domain';
import type { Charge, Refund } from '@tillflow/payments-client';
import type { ChargeFacts, RefundFacts } from '@tillflow/workflows';

/** The metadata by which Tillflow finds records. The provider may return other metadata changed. */
export const SEARCHED_METADATA = ['checkout', 'attempt', 'refund_key', 'plan'] as const;

/** Reduces a charge to what a checkout needs: whole charges would fill the history. */
export function toFacts(charge: Charge, livemode: boolean): ChargeFacts {
  const { source, metadata } = charge;
  const code = source?.scannable_code;
  const uri = code?.image?.download_uri;
  return {
    chargeId: charge.id,
    sourceId: source?.id ?? null,
    // A reversed charge keeps its status, but the payment is gone.
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
    refundedAmount: refundedAmountOf(charge) ?? 0,
    refunds: embeddedRefunds(charge).map((refund) => toRefundFacts(refund, charge.currency)),
    canVoid: charge.can_perform_void === true,
  };
}

/**
 * What was refunded or voided of a charge, in the smallest currency unit; null where the provider does not say. A void
 * returns the whole amount: that `refunded_amount` shows it too is an assumption.
 */
export function refundedAmountOf({ voided, amount, refunded_amount: refunded }: Charge): number | null {
  return voided === true ? amount : (refunded ?? null);
}

/** The refunds that are embedded in a charge. The client does not check them, so anything else is left out. */
export function embeddedRefunds({ refunds }: Charge): Refund[] {
  const data: unknown = refunds?.data;
  return Array.isArray(data) ? data.filter(isRefund) : [];
}

function isRefund(value: unknown): value is Refund {
  if (typeof value !== 'object' || value === null) return false;
  const { id, amount } = value as Partial<Refund>;
  return typeof id === 'string' && Number.isSafeInteger(amount);
}

/** @param paidIn the currency of the refunded charge */
export function toRefundFacts({ id, amount, currency, voided, metadata }: Refund, paidIn: string): RefundFacts {
  return {
    refundId: id,
    amount,
    // An embedded refund may lack its currency.
    ...(textOf(currency) === null || currency === paidIn ? {} : { otherCurrency: currency }),
    isVoid: voided === true,
    key: textOf(metadata?.['refund_key']),
  };
}

export function textOf(value: unknown): string | null {
  return typeof value === 'string' ? value : null;
}

/** Null for an invalid time: the workflow then uses its own clock. */
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
