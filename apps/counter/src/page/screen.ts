import type { Checkout } from '@tillflow/sdk';

/** What a page shows of a sale. */
export type Screen =
  /** The QR code is on its way. */
  | 'creating'
  /** The customer can pay. */
  | 'awaiting'
  /** The QR code is gone, and the end is not known yet: a customer may be confirming. */
  | 'checking'
  /** Nobody knows yet whether the payment exists at the provider, or the provider contradicts itself. */
  | 'unknown'
  | 'paid'
  /** Paid, and all of it returned. */
  | 'returned'
  /** Paid after the end: the money is on its way back. */
  | 'late'
  | 'expired'
  | 'failed'
  | 'cancelled';

/** Attentions by which Tillflow does not know, or does not believe, what happened to the payment. */
const UNKNOWN = new Set(['outcome_unknown', 'integrity_mismatch', 'unknown_status', 'provider_unreachable']);

/** Attentions of a payment that came after the end. */
const LATE = new Set(['late_payment', 'return_refused']);

/**
 * @param checkout null before the first answer
 * @param now the API's time in milliseconds; null before it is known
 */
export function screenOf(checkout: Checkout | null, now: number | null): Screen {
  if (checkout === null) return 'creating';
  const { status, qr, attention } = checkout;
  const code = attention?.code ?? '';
  switch (status) {
    case 'creating':
      return UNKNOWN.has(code) ? 'unknown' : 'creating';
    case 'awaiting_payment':
      if (qr !== null && (now === null || now < Date.parse(qr.expires_at))) return 'awaiting';
      return UNKNOWN.has(code) ? 'unknown' : 'checking';
    case 'paid':
    case 'partially_refunded':
      return 'paid';
    case 'refunded':
      return 'returned';
    case 'expired':
    case 'failed':
    case 'cancelled':
      return LATE.has(code) ? 'late' : status;
  }
}

/** The customer may still pay, or the end is not known. */
export function isUnfinished(screen: Screen): boolean {
  return screen === 'creating' || screen === 'awaiting' || screen === 'checking' || screen === 'unknown';
}

/** Whole seconds until the QR code expires, from 0. */
export function secondsLeft({ qr }: Checkout, now: number | null): number | null {
  return qr === null || now === null ? null : Math.max(0, Math.ceil((Date.parse(qr.expires_at) - now) / 1_000));
}
