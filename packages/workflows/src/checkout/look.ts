import { plus } from '@tillflow/domain';
import type { CheckoutBook } from './book.js';
import { findCharge, retrieveCharge } from './calls.js';
import { clock } from './clock.js';

/**
 * Retrieves the charge, or looks for one where none is known, and applies its word.
 * @returns whether the provider answered.
 */
export async function look(book: CheckoutBook): Promise<boolean> {
  const { chargeId, sourceId } = book.attempt;
  if (chargeId === null && sourceId === null) return true;
  const looked =
    chargeId === null
      ? await findCharge(book, sourceId ?? '', plus(book.expiresAt, book.policy.sendWithinMs))
      : await retrieveCharge(chargeId);
  if ('unseen' in looked) return false;
  if (looked.seen !== null) book.apply(clock(), looked.seen);
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
