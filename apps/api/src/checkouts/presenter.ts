import { Injectable } from '@nestjs/common';
import { toCheckout } from '@tillflow/workflows';
import type { StoredCheckout } from '@tillflow/temporal';
import { SignedLinks } from '../auth/signed-links.js';
import type { CheckoutReply, CustomerCheckoutReply } from './checkouts.schema.js';

const QR_ROUTE = '/v1/checkouts/:id/qr';
const EVENTS_ROUTE = '/v1/checkouts/:id/events';
const DAY_SECONDS = 86_400;

/** A checkout as every route shows it, with the addresses that only the API knows. */
@Injectable()
export class CheckoutPresenter {
  constructor(private readonly links: SignedLinks) {}

  present(stored: StoredCheckout): CheckoutReply {
    const { intent, state, timeline, closed, version } = stored;
    const checkout = toCheckout(intent, state, timeline);
    const { payment } = checkout;
    const { id } = intent;
    const location = `/v1/checkouts/${id}`;
    // The memo may be older: the API hides a QR code or a window that is over.
    const now = Date.now();
    const { voidable_until: voidable, refundable_until: refundable } = checkout;
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
      qr: qr === null ? null : { image_url: this.links.link(QR_ROUTE, { id }, expires), ...qr },
      version,
      events_url: isWatchable ? this.links.link(EVENTS_ROUTE, { id }, expires) : null,
      location,
    };
  }

  /** A checkout whose request got 202. Its `location` answers as soon as the checkout has changed again. */
  presentPending(stored: StoredCheckout): CheckoutReply {
    return { ...this.present(stored), location: waitingLocation(stored.intent.id, stored.version) };
  }

  /** A checkout as a link shows it: only what the customer sees at the till anyway. */
  presentToCustomer(stored: StoredCheckout): CustomerCheckoutReply {
    const { id, status, amount, currency, qr, paid_at, version, created_at, updated_at } = this.present(stored);
    const expires_at = openUntil(stored);
    return { id, status, amount, currency, qr, expires_at, paid_at, version, created_at, updated_at };
  }
}

/** Seconds. Clients and proxies often end a request after 30 s. */
const WAIT_S = 20;

/** Where a caller waits for a checkout to change after this version. */
export function waitingLocation(id: string, version: number): string {
  return `/v1/checkouts/${id}?wait=${WAIT_S}&after_version=${version}`;
}

/** The end of the time to pay: of the newest attempt, or as requested before the first one. ISO 8601 UTC. */
function openUntil({ intent, state }: StoredCheckout): string {
  const newest = state.attempts.at(-1);
  return newest?.expires_at ?? new Date(Date.parse(intent.created_at) + intent.expires_in * 1_000).toISOString();
}
