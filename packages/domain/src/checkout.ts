/** The states of a checkout, as the API and the search attribute `CheckoutStatus` spell them. */
export const CHECKOUT_STATUSES = [
  'creating',
  'awaiting_payment',
  'expired',
  'failed',
  'cancelled',
  'paid',
  'partially_refunded',
  'refunded',
] as const;
export type CheckoutStatus = (typeof CHECKOUT_STATUSES)[number];

const PAID: ReadonlySet<CheckoutStatus> = new Set(['paid', 'partially_refunded', 'refunded']);
const OPEN: ReadonlySet<CheckoutStatus> = new Set(['creating', 'awaiting_payment']);

export function isCheckoutStatus(text: string): text is CheckoutStatus {
  return (CHECKOUT_STATUSES as readonly string[]).includes(text);
}

/** True once the customer has paid, even if the money was returned later. */
export function isPaid(status: CheckoutStatus): boolean {
  return PAID.has(status);
}

/** True while the customer may still pay: no end is published. */
export function isAwaitingPayment(status: CheckoutStatus): boolean {
  return OPEN.has(status);
}
