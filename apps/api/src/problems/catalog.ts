/** One error, for the people who meet it. */
export type Explanation = {
  readonly status: number;
  readonly title: string;
  /** What happened. */
  readonly meaning: string;
  /** What that means for the money. */
  readonly money: string;
  /** What to do now. */
  readonly action: string;
  /** A `detail` as it may read. */
  readonly example: string;
};

const UNTOUCHED = 'Nothing was changed and the provider was not called.';
const NOT_CHANGED = 'Nothing was changed.';
const PERHAPS_DONE =
  'What was asked may have happened, or may still happen. It is never done twice: repeating the request is safe.';
const REPEAT = 'Repeat the same request, with the same reference, the same `after` or the same `Idempotency-Key`.';

/** Every error the API answers with. `docs/errors` is made from it: `pnpm api-docs`. Source: RFC 9457. */
export const PROBLEMS = {
  invalid_request: {
    status: 400,
    title: 'The request is not well formed',
    meaning: 'A field, a header or the address is missing, misspelt or outside what it may be.',
    money: UNTOUCHED,
    action: 'Correct what `errors` names and send it again.',
    example: 'See errors',
  },
  idempotency_key_required: {
    status: 400,
    title: 'An Idempotency-Key is needed',
    meaning: 'Without a name for the refund or the plan, a request that is repeated would move the money twice.',
    money: UNTOUCHED,
    action:
      'Send `Idempotency-Key` with 1 to 128 visible ASCII characters that do not begin with `auto:`: a new one for each refund or plan, the same one when you repeat the request.',
    example: 'Send Idempotency-Key: <a name for this request, new for each>',
  },
  signature_invalid: {
    status: 400,
    title: 'The webhook is not signed by the provider',
    meaning: 'The signature is missing, made with another secret, for another body, or too old.',
    money: `${NOT_CHANGED} A payment that it was about is noticed by the next look.`,
    action: 'Compare `PROVIDER_WEBHOOK_SECRET` with the secret at the provider, and the clock of this machine.',
    example: 'The signature was refused: mismatch',
  },
  upload_incomplete: {
    status: 400,
    title: 'The upload did not arrive whole',
    meaning: 'The multipart body ended too early, is malformed, or took too long.',
    money: UNTOUCHED,
    action: 'Send it again. What was stored by an earlier request is not stored again.',
    example: 'The multipart body is malformed or ended too early',
  },
  unauthorized: {
    status: 401,
    title: 'A key is needed',
    meaning: 'There is no key, the key is not known, or the link has expired or is not one that the API signed.',
    money: UNTOUCHED,
    action: 'Send `Authorization: Bearer <key>`, or read the checkout for a new link.',
    example: 'Send Authorization: Bearer <key>',
  },
  forbidden: {
    status: 403,
    title: 'The key may not do this',
    meaning: 'The key is known, but its role does not open this route.',
    money: UNTOUCHED,
    action: 'Use a key of the role that the route names.',
    example: `The key's role may not do this`,
  },
  not_found: {
    status: 404,
    title: 'Not found',
    meaning:
      'There is no such route, or nothing with this id: no checkout, or none that is not forgotten after its retention; no record at the provider.',
    money: NOT_CHANGED,
    action: 'Compare the address and the id. A checkout that is long over is in the books of the provider.',
    example: 'No checkout has this id',
  },
  qr_gone: {
    status: 404,
    title: 'There is no QR to pay with',
    meaning: 'The checkout is not open for payment, or not yet.',
    money: NOT_CHANGED,
    action: 'Read the status of the checkout. A new attempt makes a new QR while the checkout is open.',
    example: 'The checkout is expired',
  },
  method_not_allowed: {
    status: 405,
    title: 'The path does not take this method',
    meaning: 'There is a route at this path, for other methods. `Allow` names them.',
    money: UNTOUCHED,
    action: 'Use one of the methods in `Allow`.',
    example: 'This path takes GET, HEAD, POST',
  },
  request_timeout: {
    status: 408,
    title: 'The request did not arrive in time',
    meaning: 'Its head or its body took longer than `REQUEST_TIMEOUT_MS`.',
    money: UNTOUCHED,
    action: 'Send it again, over a better connection.',
    example: 'The request took too long to arrive',
  },
  reference_conflict: {
    status: 409,
    title: 'The reference is taken by another amount',
    meaning: 'A checkout with this reference exists, over another amount or in another currency.',
    money: 'The first checkout of this reference stands. Nothing was changed.',
    action: 'Use a new reference for a new sale.',
    example: 'till-7-000142 is a checkout over THB 1,500.00',
  },
  already_paid: {
    status: 409,
    title: 'The checkout is paid',
    meaning: 'The customer was faster than the cancel or the new attempt.',
    money: 'The money is there, once.',
    action: 'Treat the sale as paid, or give the money back with a refund.',
    example: 'Paid at 2026-11-21T05:30:18.000Z',
  },
  checkout_closed: {
    status: 409,
    title: 'The checkout takes no attempt any more',
    meaning: 'It was cancelled, or it ended unpaid so long ago that it has closed.',
    money: 'Nothing was changed, and nothing can be paid through this checkout.',
    action: 'Begin a new checkout with a new reference: this one stays with the checkout that closed.',
    example: 'The checkout is expired and has closed',
  },
  attempt_unknown: {
    status: 409,
    title: 'There is no attempt of this number to follow',
    meaning: '`after` is higher than the newest attempt.',
    money: NOT_CHANGED,
    action: 'Read the checkout and send the number of its newest attempt.',
    example: 'The newest attempt is 1',
  },
  too_many_attempts: {
    status: 409,
    title: 'The checkout has had all its attempts',
    meaning: 'A checkout has a limit of attempts.',
    money: NOT_CHANGED,
    action: 'Cancel it and begin a new checkout with a new reference.',
    example: 'A checkout may have 20 attempts',
  },
  not_paid: {
    status: 409,
    title: 'There is no payment to give back',
    meaning: 'The provider has not shown a payment of this checkout.',
    money: 'Nothing was given back. No payment is known.',
    action: 'Read the checkout. To end one that is still open, cancel it.',
    example: 'The checkout is awaiting_payment',
  },
  refund_window_closed: {
    status: 409,
    title: 'The payment can no longer be given back',
    meaning: 'The provider gives money back for one year after the payment.',
    money: 'Nothing was given back.',
    action: 'Give the money back to the customer in another way.',
    example: 'The payment could be refunded until 2027-11-21T05:30:18.000Z',
  },
  idempotency_conflict: {
    status: 409,
    title: 'The key is taken by another request',
    meaning: 'A refund with this `Idempotency-Key` exists, over another amount; or a plan, of another content.',
    money: 'What was first asked for under this key stands. Nothing more was moved.',
    action: 'Use a new key for a new refund or plan, or repeat the first request as it was.',
    example: 'The key return-17 is a refund of THB 500.00',
  },
  too_many_refunds: {
    status: 409,
    title: 'The checkout has had all its refunds',
    meaning: 'A checkout has a limit of refunds.',
    money: 'Nothing was given back.',
    action: `Give the rest back in another way, or at the provider; what is done there is taken over.`,
    example: 'A checkout may have 100 refunds',
  },
  reconciliation_incomplete: {
    status: 409,
    title: 'The reconciliation has not completed',
    meaning: 'It is still running, or it failed: what it found so far would be taken for all there is.',
    money: NOT_CHANGED,
    action: 'Read the reconciliation until its `status` is `completed`. When it failed, `failure` says why.',
    example: 'The reconciliation is running',
  },
  change_in_progress: {
    status: 409,
    title: 'Another change of this is under way',
    meaning: 'A change of the same card or of the account was asked for, and its outcome is not known yet.',
    money: 'This change was not made. The earlier one goes on.',
    action: 'Wait a moment and ask again.',
    example: 'A change of name, city is under way since 2026-11-21T05:30:18.021Z',
  },
  documents_locked: {
    status: 409,
    title: 'The documents of the dispute no longer change',
    meaning: 'The provider takes and gives up documents only while a dispute is open.',
    money: 'Nothing was stored or deleted. What was handed in before counts.',
    action: 'Read the dispute. Of one that is still pending, ask the provider.',
    example: 'The dispute is won: its documents no longer change.',
  },
  live_mode: {
    status: 409,
    title: 'Only in test mode',
    meaning: 'The API works with a live key: payments are made by customers.',
    money: UNTOUCHED,
    action: 'Use a test key of the provider for trials.',
    example: 'The provider key is a live one',
  },
  body_too_large: {
    status: 413,
    title: 'The body is too large',
    meaning: 'It is larger than `BODY_LIMIT_BYTES`; or it is a webhook of more than 64 KB.',
    money: UNTOUCHED,
    action: 'Send less.',
    example: 'Request body is too large',
  },
  file_too_large: {
    status: 413,
    title: 'A file is too large',
    meaning: 'The provider takes documents of at most 10 MB each, and a request has at most 10 of them.',
    money: `${UNTOUCHED} None of the request's files was stored.`,
    action: 'Make the file that `errors` names smaller, or send fewer at a time.',
    example: 'A document may have at most 10485760 bytes',
  },
  unsupported_media_type: {
    status: 415,
    title: 'The body is of another type than the route reads',
    meaning: 'The API reads `application/json` only, and evidence as `multipart/form-data`.',
    money: UNTOUCHED,
    action: 'Send JSON with `Content-Type: application/json`; files as `multipart/form-data`.',
    example: 'Unsupported Media Type',
  },
  amount_out_of_range: {
    status: 422,
    title: 'The provider does not take this amount',
    meaning: 'One payment has a lower and an upper limit in each currency.',
    money: UNTOUCHED,
    action: 'Ask for an amount within the limits in `detail`.',
    example: 'One payment may be from THB 20.00 to THB 150,000.00',
  },
  unsupported_currency: {
    status: 422,
    title: 'The provider does not take this currency',
    meaning: 'QR payments are taken in THB, SGD and MYR, or in those of them that this shop sells in (CURRENCIES).',
    money: UNTOUCHED,
    action: 'Use one that the detail names, in capitals.',
    example: 'USD is not one of THB, SGD, MYR',
  },
  source_mismatch: {
    status: 422,
    title: 'The source does not fit',
    meaning: 'It is not a QR source, was used already, is over another amount or currency, or does not exist.',
    money: 'Nothing was charged.',
    action: 'Make a fresh source of this amount and currency, or leave `source` out.',
    example: 'src_test_own is not over THB 1,500.00',
  },
  unsupported_file_type: {
    status: 422,
    title: 'A file is of a type that the provider does not take',
    meaning: 'By its first bytes a file is no PNG, JPEG or PDF, or the ending of its name says otherwise.',
    money: `${UNTOUCHED} None of the request's files was stored.`,
    action: 'Replace the file that `errors` names by a PNG, JPEG or PDF whose name ends so.',
    example: 'See errors',
  },
  provider_refused: {
    status: 422,
    title: 'The provider refused it',
    meaning: 'The request is well formed, and the provider does not do it: `provider_code` and `detail` say why.',
    money: 'Nothing was changed.',
    action: 'Correct what `detail` names. An `Idempotency-Key` that made nothing may be used again.',
    example: 'The schedule has expired.',
  },
  refund_exceeds_paid: {
    status: 422,
    title: 'More would be given back than was paid',
    meaning: 'The amount is more than what was paid less what was given back or is on its way back.',
    money: 'Nothing more was given back.',
    action: 'Ask for at most what `detail` says is left, or leave `amount` out to give back all of it.',
    example: 'THB 1,000.00 are left of THB 1,500.00',
  },
  rate_limited: {
    status: 429,
    title: 'Too many requests',
    meaning:
      'This key has made more requests than `RATE_LIMIT` allows in a second, or this address more requests without a known key than `OPEN_RATE_LIMIT` allows.',
    money: UNTOUCHED,
    action: 'Wait as long as `Retry-After` says, then repeat the request.',
    example: 'More requests than this key may make in a second',
  },
  headers_too_large: {
    status: 431,
    title: 'The head of the request is too large',
    meaning: 'The address and the headers together have more than 16 KB.',
    money: UNTOUCHED,
    action: 'Send fewer or shorter headers.',
    example: 'The address and the headers have more than 16 KB',
  },
  internal_error: {
    status: 500,
    title: 'Something went wrong here',
    meaning: 'A failure that was not foreseen. It was logged with the `request_id`.',
    money: PERHAPS_DONE,
    action: REPEAT,
    example: 'The failure was logged under request_id',
  },
  checkout_unreadable: {
    status: 500,
    title: 'The checkout cannot be read',
    meaning: 'It was encrypted with a key that the API does not have.',
    money:
      'The checkout stands. A refund that you asked for may have been made: its `Idempotency-Key` tells once the key is back.',
    action: 'Put the key named in the log back into `PAYLOAD_KEYS`, then repeat the request.',
    example: 'A key of its payloads is missing',
  },
  command_unreadable: {
    status: 500,
    title: 'The worker cannot read what was asked',
    meaning: 'API and worker have different values of `PROVIDER_SECRET_KEY`, as while one of them is changed.',
    money: NOT_CHANGED,
    action: 'Give both the same key, then repeat the request.',
    example: 'API and worker must have the same PROVIDER_SECRET_KEY',
  },
  provider_key_refused: {
    status: 502,
    title: 'The provider does not take our key',
    meaning: '`PROVIDER_SECRET_KEY` is wrong, was revoked, or may not do this.',
    money: NOT_CHANGED,
    action: 'Compare the key with the one at the provider.',
    example: 'The provider refused the key: authentication_failure',
  },
  provider_unavailable: {
    status: 502,
    title: 'The provider did not answer',
    meaning:
      'The provider could not be reached, or answered with something that is no answer. A change was not sent, or is proved to have had no effect; a read can be repeated.',
    money: NOT_CHANGED,
    action: 'Try again.',
    example: 'The source could not be checked',
  },
  provider_busy: {
    status: 503,
    title: 'The provider takes no more requests now',
    meaning: 'The provider limits how many requests it takes in a time, and refused this one.',
    money: NOT_CHANGED,
    action: 'Wait as long as `Retry-After` says, then repeat the request.',
    example: 'The provider is limiting requests',
  },
  temporal_unavailable: {
    status: 503,
    title: 'The payment engine does not answer',
    meaning: 'Temporal cannot be reached, or did not take the request in time.',
    money: PERHAPS_DONE,
    action: `Wait as long as \`Retry-After\` says. ${REPEAT}`,
    example: 'The payment engine does not answer',
  },
  overloaded: {
    status: 503,
    title: 'The payment engine has too much to do',
    meaning:
      'This process has as many calls to Temporal under way as it may, and a place would have become free too late. The request was not sent.',
    money: UNTOUCHED,
    action: `Wait as long as \`Retry-After\` says. ${REPEAT}`,
    example: 'The payment engine has more to do than it can answer in time',
  },
  too_many_uploads: {
    status: 503,
    title: 'Too many uploads are under way',
    meaning: 'This process takes only a few uploads at a time, because each needs room on disk and in memory.',
    money: UNTOUCHED,
    action: 'Wait as long as `Retry-After` says, then send it again.',
    example: 'No more uploads can be taken now',
  },
  provider_timeout: {
    status: 504,
    title: 'The provider did not answer in time',
    meaning: 'A read took longer than `ANSWER_WITHIN_MS`.',
    money: 'Nothing was changed: it was a read.',
    action: 'Try again.',
    example: 'The provider did not answer in time',
  },
  outcome_unknown: {
    status: 504,
    title: 'Nobody knows whether it was done',
    meaning: 'It was sent to the provider, which gave no answer that can be believed, although it was asked again.',
    money:
      'What was asked may have happened. Repeating the request is safe: it sets the same again. Only where `detail` says that it was ended by hand, look first.',
    action: 'Read the record, then repeat the request.',
    example: 'The provider did not confirm it',
  },
  too_many_streams: {
    status: 503,
    title: 'Too many streams are open',
    meaning:
      'This process holds as many event streams as `STREAM_LIMIT` allows, or the share of this checkout, of this address, or of all links is used up.',
    money: NOT_CHANGED,
    action: 'Read the checkout instead, and open the stream later.',
    example: 'No more streams can be opened now',
  },
} as const satisfies Readonly<Record<string, Explanation>>;

export type ProblemCode = keyof typeof PROBLEMS;

export function isProblemCode(text: string): text is ProblemCode {
  return Object.hasOwn(PROBLEMS, text);
}
