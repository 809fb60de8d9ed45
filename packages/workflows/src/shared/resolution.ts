import type { Attributed } from './requester.js';

/**
 * An operator's decision in a case that Tillflow cannot decide.
 * - `look`: ask the provider about everything again, now.
 * - `adopt`: this charge or refund is the one that was asked for. It is verified like any other before it counts.
 * - `abandon`: stop waiting for unresolved charges, refunds or plans. It makes no checkout paid, and the workflow still
 *   applies a result that appears later.
 */
export type Resolution = Attributed &
  (
    | { readonly action: 'look' | 'abandon'; readonly reason: string }
    | { readonly action: 'adopt'; readonly id: string; readonly reason: string }
  );

/** The ids of charges and refunds, as `adopt` accepts them for a checkout. */
export const ADOPTABLE_ID = /^(?:chrg|rfnd)_\w+$/;
