import { Injectable } from '@nestjs/common';
import { checkoutId, type CheckoutKey } from '@tillflow/domain';
import type { StoredCheckout } from '@tillflow/temporal';
import { CheckoutChanges } from './checkout-changes.js';
import { CheckoutsRepository } from './checkouts.repository.js';

/** How long one read answers later requests. Milliseconds. */
const KEEP_MS = 500;

/**
 * Reads checkouts for callers with a link, whom the API does not know. One read per checkout answers all of them, and
 * takes no place from callers with a key.
 */
@Injectable()
export class LinkReads {
  readonly #reads = new Map<string, Promise<StoredCheckout>>();

  constructor(
    private readonly repository: CheckoutsRepository,
    changes: CheckoutChanges,
  ) {
    changes.listen((id) => this.#reads.delete(id));
  }

  /**
   * Drops the stored read of a checkout after a stream has shown a newer state, so that its reader does not see an
   * older one.
   */
  drop(key: CheckoutKey): void {
    this.#reads.delete(checkoutId(key));
  }

  /**
   * The checkout as it was at most half a second ago, and never older than a change that this process made or saw.
   * @throws {Problem} `not_found`, `checkout_unreadable`, `temporal_unavailable`.
   */
  get(key: CheckoutKey): Promise<StoredCheckout> {
    const id = checkoutId(key);
    const known = this.#reads.get(id);
    if (known !== undefined) return known;
    const read = this.repository.getInBackground(key);
    this.#reads.set(id, read);
    const forgetLater = (): void => void setTimeout(() => this.#forget(id, read), KEEP_MS).unref();
    read.then(forgetLater, forgetLater);
    return read;
  }

  #forget(id: string, read: Promise<StoredCheckout>): void {
    if (this.#reads.get(id) === read) this.#reads.delete(id);
  }
}
