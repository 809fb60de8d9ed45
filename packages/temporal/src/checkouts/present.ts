import { toCheckout } from '@tillflow/workflows';
import type { StoredCheckout } from './checkout-workflow.js';
import type { LinkTo } from './links.js';

const QR_ROUTE = '/v1/checkouts/:id/qr';
const EVENTS_ROUTE = '/v1/checkouts/:id/events';
const RECEIPT_ROUTE = '/v1/checkouts/:id/receipt';
const DAY_SECONDS = 86_400;
/** A customer may need the receipt to return or to claim something. */
const RECEIPT_DAYS = 90;

/**
 * A checkout as the API answers it, and as events carry it. The memo may be older than `now`: a QR code or a window that
 * is over is not shown.
 * @param now milliseconds since 1970 UTC
 */
export function presentCheckout(stored: StoredCheckout, linkTo: LinkTo, now: number) {
  const { intent, state, timeline, closed, version } = stored;
  const checkout = toCheckout(intent, state, timeline);
  const { payment, voidable_until: voidable, refundable_until: refundable } = checkout;
  const { id } = intent;
  const qr = checkout.qr !== null && now < Date.parse(checkout.qr.expires_at) ? checkout.qr : null;
  const expires = Math.ceil(Date.parse(openUntil(stored)) / 1_000) + DAY_SECONDS;
  const isWatchable = !closed && now < expires * 1_000;
  return {
    ...checkout,
    metadata: { ...checkout.metadata },
    attempts: [...checkout.attempts],
    payment:
      payment === null ? null : { ...payment, discounts: payment.discounts === null ? null : [...payment.discounts] },
    voidable_until: voidable !== null && now < Date.parse(voidable) ? voidable : null,
    refundable_until: refundable !== null && now <= Date.parse(refundable) ? refundable : null,
    qr: qr === null ? null : { image_url: linkTo(QR_ROUTE, { id }, expires), ...qr },
    version,
    events_url: isWatchable ? linkTo(EVENTS_ROUTE, { id }, expires) : null,
    receipt_url: receiptUrl(stored, linkTo, now),
    location: `/v1/checkouts/${id}`,
  };
}

function receiptUrl({ intent: { id }, state }: StoredCheckout, linkTo: LinkTo, now: number): string | null {
  if (state.paid_at === null) return null;
  const expires = Math.ceil(Date.parse(state.paid_at) / 1_000) + RECEIPT_DAYS * DAY_SECONDS;
  return now < expires * 1_000 ? linkTo(RECEIPT_ROUTE, { id }, expires) : null;
}

/** The end of the time to pay: of the newest attempt, or as requested before the first one. ISO 8601 UTC. */
export function openUntil({ intent, state }: StoredCheckout): string {
  const newest = state.attempts.at(-1);
  return newest?.expires_at ?? new Date(Date.parse(intent.created_at) + intent.expires_in * 1_000).toISOString();
}
