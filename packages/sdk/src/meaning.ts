// What the API's answers mean. Source: docs/errors, which is made from the API's catalog of errors.

/** With these, the API did nothing, although the status is 5xx. */
const NOT_BEGUN: ReadonlySet<string> = new Set([
  'command_unreadable',
  'not_accepting',
  'overloaded',
  'provider_busy',
  'provider_key_refused',
  'provider_timeout',
  'provider_unavailable',
  'too_many_streams',
  'too_many_uploads',
]);

/** Another request would get the same answer until a person does something. */
const LASTING: ReadonlySet<string> = new Set([
  'checkout_unreadable',
  'command_unreadable',
  'not_accepting',
  'outcome_unknown',
  'provider_key_refused',
]);

/**
 * These depend on the request alone, or on what never changes. So an earlier request of the same call, whose answer was
 * lost, had no effect either.
 */
const CONCLUSIVE: ReadonlySet<string> = new Set([
  'amount_out_of_range',
  'body_too_large',
  'headers_too_large',
  'idempotency_conflict',
  'idempotency_key_required',
  'invalid_request',
  'method_not_allowed',
  'not_acceptable',
  'reference_conflict',
  'unsupported_currency',
  'unsupported_media_type',
]);

/** Statuses by which the API or a proxy refuses a request only for now: too slow, too early, too many. */
const FOR_NOW: ReadonlySet<number> = new Set([408, 425, 429]);

/** The same request may get another answer soon. */
export function isForNow(status: number, code: string): boolean {
  return FOR_NOW.has(status) || (status >= 500 && !LASTING.has(code));
}

/** The request may have had an effect. */
export function mayHaveHappened(status: number, code: string): boolean {
  return status >= 500 && !NOT_BEGUN.has(code);
}

/** The refusal holds for each earlier request of the same call. */
export function isConclusive(code: string): boolean {
  return CONCLUSIVE.has(code);
}
