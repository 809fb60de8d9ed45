/**
 * How a call that changes something at the provider ended. There is no fourth way.
 *
 * - `done`: the provider confirmed it, and its reply matched what was asked.
 * - `rejected`: provably no effect: a definite refusal, or the request never left. `retryable` says whether the
 *   same request may be made again (nothing was sent, or the provider is limiting its rate).
 * - `unknown`: anything else. It is not a failure and is never repeated blindly: it is resolved by looking.
 */
export type Outcome<T> =
  | { readonly kind: 'done'; readonly value: T }
  | { readonly kind: 'rejected'; readonly code: string; readonly message: string; readonly retryable: boolean }
  | { readonly kind: 'unknown'; readonly code: string; readonly message: string };
