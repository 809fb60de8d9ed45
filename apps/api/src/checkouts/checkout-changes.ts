import { EventEmitter } from 'node:events';
import { Injectable } from '@nestjs/common';

/** What happened to a checkout, as far as this process knows. */
export type Change =
  /** Temporal started it. Its QR code follows. */
  | 'started'
  /** It was sent a message. What the message changes follows. */
  | 'messaged'
  /** It has changed. */
  | 'changed';

/** A change, and when this process learned of it, in milliseconds of `performance.now()`. */
export type Announced = { readonly change: Change; readonly at: number };

type Listener = (checkoutId: string, announced: Announced) => void;

/** A watch that begins later than this after a change reads as usual. Milliseconds. */
const RECENT_MS = 2_000;

/**
 * Announces to the watches of this process that a checkout may have changed, so that they read it before their next
 * poll.
 */
@Injectable()
export class CheckoutChanges {
  readonly #listeners = new EventEmitter<{ change: Parameters<Listener> }>();
  /** The oldest first. */
  readonly #recent = new Map<string, Announced>();

  announce(checkoutId: string, change: Change): void {
    const announced = { change, at: performance.now() };
    this.#recent.delete(checkoutId);
    this.#recent.set(checkoutId, announced);
    this.#forget(announced.at - RECENT_MS);
    this.#listeners.emit('change', checkoutId, announced);
  }

  listen(listener: Listener): void {
    this.#listeners.on('change', listener);
  }

  /** The latest change of the last two seconds: whoever begins to watch then would miss it otherwise. */
  recent(checkoutId: string): Announced | undefined {
    this.#forget(performance.now() - RECENT_MS);
    return this.#recent.get(checkoutId);
  }

  #forget(before: number): void {
    for (const [id, { at }] of this.#recent) {
      if (at >= before) return;
      this.#recent.delete(id);
    }
  }
}
