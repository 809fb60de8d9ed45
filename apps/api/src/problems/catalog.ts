/** One error, explained for people. */
export type Explanation = {
  readonly status: number;
  readonly title: string;
  /** What happened. */
  readonly meaning: string;
  /** What it means for the money. */
  readonly money: string;
  /** The request may have had an effect. Absent: it had none. */
  readonly mayHaveHadEffect?: true;
  /** What to do now. */
  readonly action: string;
  /** An example of a `detail`. */
  readonly example: string;
};

const UNTOUCHED = 'No money moved. Nothing was changed, and the provider was not called.';
const NOT_CHANGED = 'No money moved. Nothing was changed.';
const PERHAPS_DONE =
  'The change may have happened, or may still happen. It never happens twice, so you can repeat the request.';
const REPEAT = 'Repeat the request with the same `reference`, `after` or `Idempotency-Key`.';

/** Every error of the API. `pnpm api-docs` writes `docs/errors` from it. Source: RFC 9457. */
export const PROBLEMS = {
  invalid_request: {
    status: 400,
    title: 'The request is not valid',
    meaning: 'A field, a header or the address is missing, has a wrong name, or has a value that is not allowed.',
    money: UNTOUCHED,
    action: 'Correct the fields that `errors` names, and send the request again.',
    example: 'See errors',
  },
  idempotency_key_required: {
    status: 400,
    title: 'The request needs an Idempotency-Key',
    meaning: 'Without a key for the refund or the plan, a repeated request would move the money twice.',
    money: UNTOUCHED,
    action:
      'Send `Idempotency-Key` with 1 to 128 visible ASCII characters, not beginning with `auto:`. Use a new key for each refund or plan, and the same key when you repeat a request.',
    example: 'Send Idempotency-Key: <a name for this request, new for each>',
  },
  signature_invalid: {
    status: 400,
    title: 'The webhook is not signed by the provider',
    meaning: 'The signature is missing or too old, or it was made with another secret or for another body.',
    money: `${NOT_CHANGED} If the event was about a payment, Tillflow finds the payment when it next polls the charge.`,
    action: 'Compare `PROVIDER_WEBHOOK_SECRET` with the secret at the provider, and check the clock of this machine.',
    example: 'The signature was refused: mismatch',
  },
  upload_incomplete: {
    status: 400,
    title: 'The upload is incomplete',
    meaning: 'The multipart body ended too early, is malformed, or took too long.',
    money: UNTOUCHED,
    action: 'Send it again. A document that an earlier request stored is not stored twice.',
    example: 'The multipart body is malformed or ended too early',
  },
  unauthorized: {
    status: 401,
    title: 'The request needs a key',
    meaning:
      'The request has no key, an unknown key or an expired key. Or its link or its counter session has expired, was revoked, or was not signed by the API.',
    money: UNTOUCHED,
    action:
      'Send `Authorization: Bearer <key>`. For a link of a checkout, read the checkout again. For the counter, create a new link.',
    example: 'Send Authorization: Bearer <key>',
  },
  forbidden: {
    status: 403,
    title: 'The key is not allowed to do this',
    meaning:
      'The key is known, but it does not have the scope that the route needs, or it is for some stores or tills only.',
    money: UNTOUCHED,
    action: 'Use a key that may do this. `GET /v1/me` says what a key may do.',
    example: 'The key does not have the scope refunds:write',
  },
  second_person_required: {
    status: 403,
    title: 'Another key must approve the refund',
    meaning: 'The key that asked for a refund cannot approve or reject it.',
    money: UNTOUCHED,
    action: 'Let a second person decide, with another key that has the scope `refunds:approve`.',
    example: 'Another key than the one that asked for the refund must decide',
  },
  not_found: {
    status: 404,
    title: 'Not found',
    meaning:
      'The route does not exist, or no record has this id. Temporal removes a checkout when its retention is over.',
    money: NOT_CHANGED,
    action: 'Check the address and the id. The provider still has the records of an old checkout.',
    example: 'No checkout has this id',
  },
  qr_gone: {
    status: 404,
    title: 'There is no QR code to pay with',
    meaning: 'The checkout does not accept a payment now: it has ended, or its QR code is not there yet.',
    money: NOT_CHANGED,
    action:
      'Read the status of the checkout. Unless it is paid, cancelled or closed, a new attempt creates a new QR code.',
    example: 'The checkout is expired',
  },
  method_not_allowed: {
    status: 405,
    title: 'The path does not support this method',
    meaning: 'The path exists for other methods. The header `Allow` names them.',
    money: UNTOUCHED,
    action: 'Use one of the methods in `Allow`.',
    example: 'This path supports GET, HEAD, POST',
  },
  not_acceptable: {
    status: 406,
    title: 'The API cannot answer in this media type',
    meaning: '`Accept` names no type that the route can answer with.',
    money: UNTOUCHED,
    action: 'Send `Accept` with one of the types that `detail` names, or leave it out.',
    example: 'The answer can be application/json, text/html, text/plain',
  },
  request_timeout: {
    status: 408,
    title: 'The request did not arrive in time',
    meaning: 'The headers or the body took longer than `REQUEST_TIMEOUT_MS` to arrive.',
    money: UNTOUCHED,
    action: 'Send the request again, over a better connection.',
    example: 'The request took too long to arrive',
  },
  reference_conflict: {
    status: 409,
    title: 'This reference was already used with a different amount or currency',
    meaning:
      'A checkout with this reference exists. Its amount or its currency is different, or it belongs to a till that this caller may not reach.',
    money: 'The first checkout with this reference stays as it is. Nothing was changed.',
    action: 'Use a new reference for a new sale.',
    example: 'The reference till-7-000142 already belongs to a checkout of THB 1,500.00',
  },
  already_paid: {
    status: 409,
    title: 'The checkout is already paid',
    meaning: 'The customer paid before the cancel or the new attempt.',
    money:
      'The customer has paid, once. Tillflow returns a payment that came too late, unless the operator keeps it or the provider refuses the return.',
    action:
      'Read the checkout, and go on by its `status`. Treat a paid sale as paid, or return the money with a refund.',
    example: 'Paid at 2026-11-21T05:30:18.000Z',
  },
  checkout_closed: {
    status: 409,
    title: 'The checkout has closed',
    meaning:
      'The checkout was cancelled, or it ended unpaid so long ago that it has closed. It accepts no new attempt.',
    money: 'Nothing was changed. While a cancel is under way, the customer may still be paying.',
    action:
      'Read the checkout, and wait until it has ended. Create a new one with a new reference only when it has ended unpaid, without `paid_at`.',
    example: 'The checkout is expired and has closed',
  },
  attempt_unknown: {
    status: 409,
    title: 'The checkout has no attempt with this number',
    meaning: '`after` is higher than the newest attempt.',
    money: NOT_CHANGED,
    action: 'Read the checkout and send the number of its newest attempt.',
    example: 'The newest attempt is 1',
  },
  too_many_attempts: {
    status: 409,
    title: 'The checkout has no attempts left',
    meaning: 'A checkout can have 20 attempts.',
    money: NOT_CHANGED,
    action: 'Cancel the checkout. Create a new one with a new reference only when the cancel has answered 200.',
    example: 'A checkout has at most 20 attempts',
  },
  too_many_endpoints: {
    status: 409,
    title: 'The account has too many event endpoints',
    meaning: 'An account can have 100 endpoints.',
    money: UNTOUCHED,
    action: 'Delete an endpoint that is not needed.',
    example: 'An account can have 100 endpoints',
  },
  not_paid: {
    status: 409,
    title: 'The checkout has no payment',
    meaning: 'Tillflow has not seen a payment of this checkout, so there is nothing to refund and no receipt.',
    money: 'No money was returned.',
    action: 'Read the checkout. To end one that is still open, cancel it.',
    example: 'The checkout is awaiting_payment',
  },
  not_refunded: {
    status: 409,
    title: 'The refund is not made',
    meaning:
      'The receipt of a refund exists only once the provider has made the refund. This one is pending, waits for approval, or is rejected.',
    money:
      'A pending refund, and one that waits for approval, may still be made. A rejected one moved no money, unless its `failure_code` is `abandoned`: then it may show later that it was made.',
    action: 'Read the refund until its `status` is `succeeded`, then ask for its receipt.',
    example: 'The refund is pending',
  },
  refund_window_closed: {
    status: 409,
    title: 'The payment can no longer be refunded',
    meaning: 'The provider refunds a payment for one year.',
    money: 'No money was returned.',
    action: 'Return the money to the customer in another way.',
    example: 'The refund window ended at 2027-11-21T05:30:18.000Z',
  },
  idempotency_conflict: {
    status: 409,
    title: 'This Idempotency-Key was already used for a different request',
    meaning:
      'A refund with this `Idempotency-Key` has a different amount, or a plan with this key has different content.',
    money: 'The first request with this key stays as it is. No more money moved.',
    action: 'Use a new key for a new refund or plan, or repeat the first request unchanged.',
    example: 'This key already belongs to a refund of THB 500.00',
  },
  too_many_refunds: {
    status: 409,
    title: 'The checkout has no refunds left',
    meaning: 'A checkout can have 100 refunds.',
    money: 'No money was returned.',
    action:
      'Return the rest in another way, or in the dashboard of the provider. Tillflow takes over refunds that are made there.',
    example: 'A checkout has at most 100 refunds',
  },
  refund_decided: {
    status: 409,
    title: 'The refund does not wait for approval',
    meaning: 'The refund was approved or rejected before, it needed no approval, or its 24 hours are over.',
    money: 'This request changed nothing.',
    action: 'Read the refund: `status` says what became of it. To refund after a rejection, use another key.',
    example: 'The refund does not wait for approval: it is rejected',
  },
  reconciliation_incomplete: {
    status: 409,
    title: 'The reconciliation has not completed',
    meaning: 'The reconciliation is still running, or it failed. Its list of breaks is not complete.',
    money: NOT_CHANGED,
    action: 'Read the reconciliation until its `status` is `completed`. When it failed, `failure` says why.',
    example: 'The reconciliation is running',
  },
  change_in_progress: {
    status: 409,
    title: 'Another change is in progress',
    meaning: 'An earlier request changes the same card or the account, and its outcome is not known yet.',
    money: 'This change was not made. The earlier one continues.',
    action: 'Wait a moment, and send the request again.',
    example: 'A change of name, city is in progress since 2026-11-21T05:30:18.021Z',
  },
  documents_locked: {
    status: 409,
    title: 'The documents of the dispute can no longer change',
    meaning: 'The provider accepts and removes documents only while a dispute is open.',
    money: 'Nothing was stored or deleted. Earlier documents still count.',
    action: 'Read the dispute. If it is still pending, ask the provider.',
    example: 'The dispute is won: its documents no longer change.',
  },
  live_mode: {
    status: 409,
    title: 'The route works only in test mode',
    meaning: 'The API uses a live key of the provider. With a live key, only a customer can pay or refuse a charge.',
    money: UNTOUCHED,
    action: 'For trials, use a test key of the provider.',
    example: 'The API uses a live key of the provider',
  },
  body_too_large: {
    status: 413,
    title: 'The body is too large',
    meaning: 'The body is larger than `BODY_LIMIT_BYTES`, or it is a webhook of more than 64 KB.',
    money: UNTOUCHED,
    action: 'Send a smaller body.',
    example: 'The body is too large',
  },
  file_too_large: {
    status: 413,
    title: 'A file is too large',
    meaning: 'A document can have at most 10 MB, and a request at most 10 documents.',
    money: `${UNTOUCHED} None of the request's files was stored.`,
    action: 'Make the file that `errors` names smaller, or send fewer files at a time.',
    example: 'A document can have at most 10485760 bytes',
  },
  unsupported_media_type: {
    status: 415,
    title: 'The route does not read bodies of this type',
    meaning: 'The API reads `application/json` only, and evidence as `multipart/form-data`.',
    money: UNTOUCHED,
    action: 'Send JSON with `Content-Type: application/json`, and files as `multipart/form-data`.',
    example: 'The route does not read bodies of this type',
  },
  endpoint_refused: {
    status: 422,
    title: 'Events may not go to this address',
    meaning:
      'The address contains a user name or a password, is link-local, or is outside of `EVENT_ENDPOINT_NETWORKS` and not public or not https.',
    money: UNTOUCHED,
    action:
      'Use an https address without a user name and a password. For a network of the shop, ask the operator to add it to `EVENT_ENDPOINT_NETWORKS`. Events never go to a link-local address.',
    example: '10.20.0.7 is not a public address, and not in EVENT_ENDPOINT_NETWORKS',
  },
  amount_out_of_range: {
    status: 422,
    title: 'The amount is outside the limits of the provider',
    meaning: 'A payment has a minimum and a maximum in each currency.',
    money: UNTOUCHED,
    action: 'Use an amount within the limits in `detail`.',
    example: 'A payment can be from THB 20.00 to THB 150,000.00',
  },
  unsupported_currency: {
    status: 422,
    title: 'Checkouts in this currency are not possible',
    meaning: 'QR payments work in THB, SGD and MYR. The setting `CURRENCIES` can exclude some of them.',
    money: UNTOUCHED,
    action: 'Use a currency that `detail` names, in capital letters.',
    example: 'USD is not one of THB, SGD, MYR',
  },
  source_mismatch: {
    status: 422,
    title: 'The source does not match the checkout',
    meaning: 'The source does not exist, is not a QR source, was already used, or has a different amount or currency.',
    money: 'Nothing was charged.',
    action: 'Create a new source with this amount and currency, or leave `source` out.',
    example: 'src_test_own is not a source of THB 1,500.00',
  },
  unsupported_file_type: {
    status: 422,
    title: 'The provider does not accept this type of file',
    meaning: 'The file is not a PNG, JPEG or PDF, or its name does not match its content.',
    money: `${UNTOUCHED} None of the request's files was stored.`,
    action:
      'Replace the file that `errors` names with a PNG, JPEG or PDF. Its name must end in `.png`, `.jpg`, `.jpeg` or `.pdf`.',
    example: 'See errors',
  },
  provider_refused: {
    status: 422,
    title: 'The provider refused the request',
    meaning: 'The request is valid, but the provider refuses it. `provider_code` and `detail` say why.',
    money: NOT_CHANGED,
    action:
      'Correct the cause that `detail` names. You can use the same `Idempotency-Key` again, because the refused request created nothing.',
    example: 'The schedule has expired.',
  },
  refund_exceeds_paid: {
    status: 422,
    title: 'The refund exceeds the amount that is left',
    meaning: 'The amount is higher than the payment minus all earlier refunds, including pending ones.',
    money: 'No more money was returned.',
    action: 'Refund at most the amount that `detail` names, or leave `amount` out to refund everything that is left.',
    example: 'At most THB 1,000.00 can still be refunded',
  },
  rate_limited: {
    status: 429,
    title: 'Too many requests',
    meaning:
      'This key made more requests in one second than `RATE_LIMIT` allows, or this address without a known key, or this counter link, made more than `OPEN_RATE_LIMIT` allows.',
    money: UNTOUCHED,
    action: 'Wait as long as `Retry-After` says, then repeat the request.',
    example: 'This key made too many requests in one second',
  },
  headers_too_large: {
    status: 431,
    title: 'The headers of the request are too large',
    meaning: 'The address and the headers together have more than 16 KB.',
    money: UNTOUCHED,
    action: 'Send fewer or shorter headers.',
    example: 'The address and the headers have more than 16 KB',
  },
  internal_error: {
    status: 500,
    title: 'The API failed',
    meaning: 'The API had an unexpected failure. It logged the failure under the `request_id`.',
    money: PERHAPS_DONE,
    mayHaveHadEffect: true,
    action: REPEAT,
    example: 'The API logged the failure under this request_id',
  },
  checkout_unreadable: {
    status: 500,
    title: 'The checkout cannot be read',
    meaning: 'The checkout was encrypted with a key that the API does not have.',
    money:
      'The checkout still exists. If you requested a refund, it may have been made. Repeat it with the same `Idempotency-Key` when the key is back.',
    mayHaveHadEffect: true,
    action: 'Put the key named in the log back into `PAYLOAD_KEYS`, then repeat the request.',
    example: 'PAYLOAD_KEYS has no key for this checkout',
  },
  command_unreadable: {
    status: 500,
    title: 'The worker cannot read the request',
    meaning: 'The API and the worker have different values of `PROVIDER_SECRET_KEY`.',
    money: NOT_CHANGED,
    action: 'Give both the same value, then repeat the request.',
    example: 'API and worker must have the same PROVIDER_SECRET_KEY',
  },
  provider_key_refused: {
    status: 502,
    title: "The provider refuses Tillflow's key",
    meaning: '`PROVIDER_SECRET_KEY` is wrong, was revoked, or is not allowed to do this.',
    money: NOT_CHANGED,
    action: 'Compare the key with the one at the provider.',
    example: 'The provider refused the key: authentication_failure',
  },
  provider_unavailable: {
    status: 502,
    title: 'The provider did not answer',
    meaning:
      'The API could not reach the provider, or could not read its answer. A change was not sent, or provably had no effect.',
    money: NOT_CHANGED,
    action: 'Try again.',
    example: 'The source could not be checked',
  },
  provider_busy: {
    status: 503,
    title: 'The provider limits requests',
    meaning: 'The provider received too many requests, and refused this one.',
    money: NOT_CHANGED,
    action: 'Wait as long as `Retry-After` says, then repeat the request.',
    example: 'The provider is limiting requests',
  },
  temporal_unavailable: {
    status: 503,
    title: 'The payment engine does not answer',
    meaning: 'The API cannot reach Temporal, or Temporal did not accept the request in time.',
    money: PERHAPS_DONE,
    mayHaveHadEffect: true,
    action: `Wait as long as \`Retry-After\` says. ${REPEAT}`,
    example: 'The payment engine does not answer',
  },
  overloaded: {
    status: 503,
    title: 'The payment engine is overloaded',
    meaning:
      'This API process has its maximum number of calls to Temporal in progress, or of requests that wait for a change. It refused the request without sending it to Temporal.',
    money: UNTOUCHED,
    action: `Wait as long as \`Retry-After\` says. ${REPEAT}`,
    example: 'The payment engine is too busy to answer in time',
  },
  not_accepting: {
    status: 503,
    title: 'New payments are paused',
    meaning:
      'An operator has paused payments. `detail` has the reason. Open checkouts can still be paid, and refunds continue.',
    money:
      'No money moved, and this request created nothing. A checkout or an attempt that was requested before the pause continues.',
    action:
      'Take another means of payment. `GET /v1/availability` says when new payments are accepted again. Repeat the request only then.',
    example: 'Payments are paused: the provider moves to another data centre',
  },
  too_many_uploads: {
    status: 503,
    title: 'Too many uploads are in progress',
    meaning: 'This process accepts only a few uploads at a time, because each needs disk space and memory.',
    money: UNTOUCHED,
    action: 'Wait as long as `Retry-After` says, then send the files again.',
    example: 'No more uploads are possible now',
  },
  provider_timeout: {
    status: 504,
    title: 'The provider did not answer in time',
    meaning: 'A read took longer than `ANSWER_WITHIN_MS`.',
    money: 'No money moved. The request only read.',
    action: 'Try again.',
    example: 'The provider did not answer in time',
  },
  outcome_unknown: {
    status: 504,
    title: 'The outcome of the change is unknown',
    meaning:
      'Tillflow sent the change to the provider. The provider did not confirm it, even after Tillflow asked again.',
    money:
      'The change may have happened. You can repeat the request, because it sets the same values again. If `detail` says that an operator ended the change, check the record first.',
    mayHaveHadEffect: true,
    action: 'Read the record, then repeat the request.',
    example: 'The provider did not confirm it',
  },
  too_many_streams: {
    status: 503,
    title: 'Too many streams are open',
    meaning:
      'This process has as many open event streams as `STREAM_LIMIT` allows, or the streams of this checkout, this key, this counter link, this address or of all links together have reached their limit.',
    money: NOT_CHANGED,
    action: 'Read the checkout instead, and open the stream later.',
    example: 'No more streams are possible now',
  },
} as const satisfies Readonly<Record<string, Explanation>>;

export type ProblemCode = keyof typeof PROBLEMS;

/** Whether a request that gets this error may have had an effect. */
export function mayHaveHadEffect(code: ProblemCode): boolean {
  const explanation: Explanation = PROBLEMS[code];
  return explanation.mayHaveHadEffect === true;
}

export function isProblemCode(text: string): text is ProblemCode {
  return Object.hasOwn(PROBLEMS, text);
}
