import type { Checkout } from '@tillflow/sdk';

/** What a page shows of a checkout. */
export type CheckoutScreen =
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

/** What the page of the till shows of a sale. `opening`: its checkout exists, and the API has not shown it yet. */
export type Screen = CheckoutScreen | 'opening';

/** Attentions by which Tillflow does not know, or does not believe, what happened to the payment. */
const UNKNOWN = new Set(['outcome_unknown', 'integrity_mismatch', 'unknown_status', 'provider_unreachable']);

/**
 * @param checkout null before the first answer
 * @param now the API's time in milliseconds; null before it is known
 */
export function screenOf(checkout: Checkout | null, now: number | null): CheckoutScreen {
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
      return isKeptAgainstWill(checkout) ? 'late' : 'paid';
    case 'refunded':
      return 'returned';
    case 'expired':
    case 'failed':
    case 'cancelled':
      // The attention may be a more serious one than that of the late payment.
      return checkout.paid_at === null ? status : 'late';
  }
}

/**
 * The payment came after the end, and the provider refuses to return it. The API calls it paid, because the shop has the
 * money. The attention names the charge, and another one when it is about a second payment.
 */
function isKeptAgainstWill({ attention, payment }: Checkout): boolean {
  const charge = payment?.charge_id ?? null;
  return attention?.code === 'return_refused' && charge !== null && attention.detail.includes(charge);
}

/** The customer may still pay, or the end is not known. */
export function isUnfinished(screen: Screen): boolean {
  return UNFINISHED.has(screen);
}

const UNFINISHED: ReadonlySet<Screen> = new Set(['opening', 'creating', 'awaiting', 'checking', 'unknown']);

/** The customer has paid, whatever happened to the money after that. */
export function isPaidAtAll(screen: Screen): boolean {
  return screen === 'paid' || screen === 'late' || screen === 'returned';
}

/**
 * Seconds until the QR code expires, from 0. Rounded, they are half a second wrong at most. That leaves a quarter for the
 * time until the page shows them, and a quarter for the clock.
 */
export function secondsLeft({ qr }: Checkout, now: number | null): number | null {
  return qr === null || now === null ? null : Math.max(0, Math.round((Date.parse(qr.expires_at) - now) / 1_000));
}
