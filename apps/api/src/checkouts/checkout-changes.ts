import { EventEmitter } from 'node:events';
import { Injectable } from '@nestjs/common';

/** Announces to the watches of this process that a checkout may have changed, so that they read it before their next poll. */
@Injectable()
export class CheckoutChanges {
  readonly #listeners = new EventEmitter();

  announce(checkoutId: string): void {
    this.#listeners.emit('change', checkoutId);
  }

  listen(listener: (checkoutId: string) => void): void {
    this.#listeners.on('change', listener);
  }
}
