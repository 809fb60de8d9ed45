/**
 * How a call that changes something at the provider ended.
 *
 * - `done`: the provider confirmed it, and its reply matches the request.
 * - `rejected`: provably no effect: a definite refusal, or the request was never sent. `retryable`: the same request may
 *   be made again (nothing was sent, or the provider limits its rate).
 * - `unknown`: anything else. It is not a failure, and is not repeated blindly: lookups decide.
 */
export type Outcome<T> =
  | { readonly kind: 'done'; readonly value: T }
  | { readonly kind: 'rejected'; readonly code: string; readonly message: string; readonly retryable: boolean }
  | { readonly kind: 'unknown'; readonly code: string; readonly message: string };
