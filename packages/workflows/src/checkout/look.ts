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
