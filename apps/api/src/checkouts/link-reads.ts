import { Injectable } from '@nestjs/common';
import { checkoutId, type CheckoutKey } from '@tillflow/domain';
import type { StoredCheckout } from '@tillflow/temporal';
import { CheckoutChanges } from './checkout-changes.js';
import { CheckoutsRepository } from './checkouts.repository.js';

/** How long a look answers later requests. Milliseconds. */
const KEEP_MS = 500;

/**
 * Looks at checkouts for callers with a link, whom the API does not know: one look per checkout answers all of them, and
 * takes no place from callers with a key.
 */
@Injectable()
export class LinkReads {
  readonly #looks = new Map<string, Promise<StoredCheckout>>();

  constructor(
    private readonly repository: CheckoutsRepository,
    news: CheckoutChanges,
  ) {
    news.listen((id) => this.#looks.delete(id));
  }

  /** A watch has seen something newer: whoever comes back must not see an older state. */
  drop(key: CheckoutKey): void {
    this.#looks.delete(checkoutId(key));
  }

  /**
   * The checkout as it was at most half a second ago; never from before a change that this process made or has seen.
   * @throws {Problem} `not_found`, `checkout_unreadable`, `temporal_unavailable`.
   */
  get(key: CheckoutKey): Promise<StoredCheckout> {
    const id = checkoutId(key);
    const known = this.#looks.get(id);
    if (known !== undefined) return known;
    const look = this.repository.look(key);
    this.#looks.set(id, look);
    const forgetLater = (): void => void setTimeout(() => this.#forget(id, look), KEEP_MS).unref();
    look.then(forgetLater, forgetLater);
    return look;
  }

  #forget(id: string, look: Promise<StoredCheckout>): void {
    if (this.#looks.get(id) === look) this.#looks.delete(id);
  }
}
