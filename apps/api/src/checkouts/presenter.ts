import { Injectable } from '@nestjs/common';
import { openUntil, presentCheckout, type StoredCheckout } from '@tillflow/temporal';
import { SignedLinks } from '../auth/signed-links.js';
import type { CheckoutReply, CustomerCheckoutReply } from './checkouts.schema.js';

/** A checkout as every route shows it, with the addresses that only the API knows. */
@Injectable()
export class CheckoutPresenter {
  constructor(private readonly links: SignedLinks) {}

  present(stored: StoredCheckout): CheckoutReply {
    return presentCheckout(
      stored,
      (template, params, expires) => this.links.link(template, params, expires),
      Date.now(),
    );
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
