import type { Attributed } from './requester.js';

/**
 * What an operator decides where Tillflow cannot.
 * - `look`: ask the provider about everything again, now.
 * - `adopt`: this charge or refund is the one that was asked for. It is verified like any other before it counts.
 * - `abandon`: stop waiting for what is unresolved. It makes nothing paid, and what shows up later is still applied.
 */
export type Resolution = Attributed &
  (
    | { readonly action: 'look' | 'abandon'; readonly reason: string }
    | { readonly action: 'adopt'; readonly id: string; readonly reason: string }
  );

/** The ids of charges and refunds, as `adopt` accepts them for a checkout. */
export const ADOPTABLE_ID = /^(?:chrg|rfnd)_\w+$/;
