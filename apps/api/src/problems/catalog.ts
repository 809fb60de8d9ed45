/** Every error the API answers with: its status, and what it means for the money. Source: RFC 9457. */
export const PROBLEMS = {
  invalid_request: {
    status: 400,
    title: 'The request is not well formed',
    meaning: 'Nothing was changed. Correct the fields named in `errors`.',
  },
  signature_invalid: {
    status: 400,
    title: 'The webhook is not signed by the provider',
    meaning: 'Nothing was changed. Compare the webhook secret and the clock.',
  },
  unauthorized: {
    status: 401,
    title: 'A key is needed',
    meaning: 'Nothing was changed. Send `Authorization: Bearer <key>`.',
  },
  forbidden: {
    status: 403,
    title: 'The key may not do this',
    meaning: 'Nothing was changed. Use a key of the role that the route names.',
  },
  not_found: {
    status: 404,
    title: 'Not found',
    meaning: 'There is no such thing, or it was forgotten after its retention.',
  },
  qr_gone: {
    status: 404,
    title: 'There is no QR to pay with',
    meaning: 'The checkout is not open for payment, or not yet. Read its status.',
  },
  reference_conflict: {
    status: 409,
    title: 'The reference is taken by another amount',
    meaning: 'The first checkout of this reference stands. Nothing was changed. Use a new reference.',
  },
  already_paid: {
    status: 409,
    title: 'The checkout is paid',
    meaning: 'The customer was faster. The money is there; give it back with a refund.',
  },
  body_too_large: { status: 413, title: 'The body is too large', meaning: 'Nothing was changed.' },
  unsupported_media_type: {
    status: 415,
    title: 'The body is not JSON',
    meaning: 'Nothing was changed. Send `Content-Type: application/json`.',
  },
  amount_out_of_range: {
    status: 422,
    title: 'The provider does not take this amount',
    meaning: 'Nothing was changed. The limits are in `detail`.',
  },
  unsupported_currency: {
    status: 422,
    title: 'The provider does not take this currency',
    meaning: 'Nothing was changed. Use THB, SGD or MYR.',
  },
  source_mismatch: {
    status: 422,
    title: 'The source does not fit',
    meaning: 'Nothing was charged. The source must be a fresh one of this type, amount and currency.',
  },
  rate_limited: {
    status: 429,
    title: 'Too many requests',
    meaning: 'Nothing was changed. Wait as long as `Retry-After` says.',
  },
  internal_error: {
    status: 500,
    title: 'Something went wrong here',
    meaning: 'What was asked may have happened. Repeat with the same reference: it is never done twice.',
  },
  checkout_unreadable: {
    status: 500,
    title: 'The checkout cannot be read',
    meaning:
      'It stands, and the money is where it was. It was encrypted with a key that the API does not have: put the key named in the log back into `PAYLOAD_KEYS`, then repeat.',
  },
  provider_unavailable: {
    status: 502,
    title: 'The provider did not answer',
    meaning: 'Nothing was changed. Try again.',
  },
  temporal_unavailable: {
    status: 503,
    title: 'The payment engine does not answer',
    meaning: 'What was asked may have happened. Repeat with the same reference: it is never done twice.',
  },
} as const satisfies Readonly<Record<string, { status: number; title: string; meaning: string }>>;

export type ProblemCode = keyof typeof PROBLEMS;

export function isProblemCode(text: string): text is ProblemCode {
  return Object.hasOwn(PROBLEMS, text);
}
