import type { CheckoutBook } from './book.js';
import { retrieveCharge } from './calls.js';
import { clock } from './clock.js';

/**
 * Retrieves the charge and applies its word.
 * @returns whether the provider answered.
 */
export async function look(book: CheckoutBook, chargeId: string): Promise<boolean> {
  const seen = await retrieveCharge(chargeId);
  if ('unseen' in seen) return false;
  book.apply(clock(), seen.seen);
  return true;
}

/** A hint that finds no change looks again: 1 s and 5 s after the first look. */
const LOOK_AGAIN_MS = [1_000, 4_000] as const;

/** News may come before the provider shows what it is about: the looks that are still owed to the last hint. */
export class LooksOwed {
  #pauses: readonly number[] = [];

  /** The pause before the next look that is owed, which is taken off; undefined when none is. */
  take(): number | undefined {
    const [next, ...rest] = this.#pauses;
    this.#pauses = rest;
    return next;
  }

  hintFoundNothing(): void {
    this.#pauses = LOOK_AGAIN_MS;
  }
}
