import { EventEmitter } from 'node:events';
import { Injectable } from '@nestjs/common';

/** Tells the streams of this process that a checkout may have changed, so that they need not wait for their next look. */
@Injectable()
export class CheckoutChanges {
  readonly #listeners = new EventEmitter();

  /** Costs nothing when no one watches. */
  announce(checkoutId: string): void {
    this.#listeners.emit('news', checkoutId);
  }

  listen(listener: (checkoutId: string) => void): void {
    this.#listeners.on('news', listener);
  }
}
