import { Injectable } from '@nestjs/common';
import { toCheckout } from '@tillflow/workflows';
import type { StoredCheckout } from '@tillflow/temporal';
import { SignedLinks } from '../auth/signed-links.js';
import type { CheckoutReply } from './checkouts.schema.js';

/** A checkout as every route shows it: with the addresses that only the API knows. */
@Injectable()
export class CheckoutPresenter {
  constructor(private readonly links: SignedLinks) {}

  present({ intent, state, closed }: StoredCheckout): CheckoutReply {
    const checkout = toCheckout(intent, state);
    const location = `/v1/checkouts/${intent.id}`;
    // The memo may be older: a QR, or a window, past its time is never shown.
    const now = Date.now();
    const { voidable_until: voidable, refundable_until: refundable } = checkout;
    const qr = checkout.qr !== null && now < Date.parse(checkout.qr.expires_at) ? checkout.qr : null;
    return {
      ...checkout,
      metadata: { ...checkout.metadata },
      attempts: [...checkout.attempts],
      voidable_until: voidable !== null && now < Date.parse(voidable) ? voidable : null,
      refundable_until: refundable !== null && now <= Date.parse(refundable) ? refundable : null,
      qr: qr === null ? null : { image_url: this.links.sign(`${location}/qr`), ...qr },
      events_url: closed ? null : this.links.sign(`${location}/events`),
      location,
    };
  }
}
