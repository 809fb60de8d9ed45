import type { Checkout, CheckoutStatus, Problem, ProblemCode, Refund } from './types.js';

/**
 * What a failed call means for the money.
 *
 * - `not_moved`: the call moved no money, and will not move any.
 * - `unknown`: the call may have had its effect, or may still have it. Nothing happens twice: repeat the call with the
 *   same reference, `after` or `idempotencyKey` to learn the outcome.
 * - `paid`: the customer has paid, and the money was not returned.
 * - `returned`: the customer has paid, and the money was returned.
 */
export type Money = 'not_moved' | 'unknown' | 'paid' | 'returned';

/** The codes of the SDK. All others are codes of the API. */
export type SdkCode =
  | 'aborted'
  | 'checkout_cancelled'
  | 'checkout_expired'
  | 'checkout_failed'
  | 'checkout_refunded'
  | 'invalid_argument'
  | 'invalid_settings'
  | 'no_answer'
  | 'outcome_pending'
  | 'refund_needs_approval'
  | 'refund_rejected'
  | 'unexpected_answer'
  | 'watch_ended';

/** A newer API may have further codes. */
export type ErrorCode = ProblemCode | SdkCode | (string & {});

/** What to give to the same call, so that it means the same checkout, attempt or refund. */
export type RepeatWith = {
  readonly reference?: string;
  readonly after?: number;
  readonly idempotencyKey?: string;
};

/** The fields of a {@link TillflowError} besides its message. */
export type ErrorDetails = {
  readonly code: ErrorCode;
  readonly money: Money;
  /** For people: what happened, without the part about the money. */
  readonly detail: string;
  /** HTTP status of the last answer, if there was one. */
  readonly status?: number | undefined;
  /** The API's error, as it answered it. `problem.type` is a page about it, `problem.request_id` finds it in the logs. */
  readonly problem?: Problem | undefined;
  /** The wait that the API asked for, in milliseconds. */
  readonly retryAfterMs?: number | undefined;
  /** How to repeat a call whose outcome is unknown. */
  readonly repeatWith?: RepeatWith | undefined;
  /** The newest state of the checkout that the call has seen. */
  readonly checkout?: Checkout | undefined;
  /** The newest state of the refund that the call has seen. */
  readonly refund?: Refund | undefined;
  readonly cause?: unknown;
};

/** Every failure of the SDK, apart from a {@link WebhookVerificationError}. `code` says what happened. */
export class TillflowError extends Error implements ErrorDetails {
  static {
    this.prototype.name = 'TillflowError';
  }

  readonly code: ErrorCode;
  readonly money: Money;
  readonly detail: string;
  readonly status: number | undefined;
  readonly problem: Problem | undefined;
  readonly retryAfterMs: number | undefined;
  readonly repeatWith: RepeatWith | undefined;
  readonly checkout: Checkout | undefined;
  readonly refund: Refund | undefined;

  /** @param sentence for people: what the failure means for the money. */
  constructor(details: ErrorDetails, sentence = sentenceOf(details)) {
    const { code, detail, money, repeatWith, cause } = details;
    super(`${code}: ${detail} ${sentence}`, cause === undefined ? undefined : { cause });
    this.code = code;
    this.money = money;
    this.detail = detail;
    this.status = details.status;
    this.problem = details.problem;
    this.retryAfterMs = details.retryAfterMs;
    this.repeatWith = repeatWith;
    this.checkout = details.checkout;
    this.refund = details.refund;
  }

  /** The fields for a log. `JSON.stringify` of a bare Error would lose name and message. */
  toJSON(): Record<string, unknown> {
    return { ...Object.fromEntries(Object.entries(this)), name: this.name, message: this.message };
  }
}

/** A mistake in the caller's program: nothing was sent. */
export function invalidArgument(detail: string): TillflowError {
  return new TillflowError({ code: 'invalid_argument', detail, money: 'not_moved' });
}

/** What the states of a checkout mean, besides the open ones. A newer API may have further ones. */
const MONEY_IN: Readonly<Partial<Record<CheckoutStatus, Money>>> = {
  paid: 'paid',
  partially_refunded: 'paid',
  refunded: 'returned',
};

/** Whether the payment of a checkout counts, as its state says. */
export function moneyIn({ status }: Pick<Checkout, 'status'>): Money {
  return MONEY_IN[status] ?? 'unknown';
}

const UNPAID_ENDS: ReadonlySet<string> = new Set<CheckoutStatus>(['cancelled', 'expired', 'failed']);

/** The checkout has ended without a payment in time. `paid_at` says whether a late one has come. */
export function hasEndedUnpaid({ status }: Pick<Checkout, 'status'>): boolean {
  return UNPAID_ENDS.has(status);
}

/** The customer may pay. */
export function isOpen({ status }: Pick<Checkout, 'status'>): boolean {
  return status === 'creating' || status === 'awaiting_payment';
}

/**
 * `untilPaid`, `newAttempt`: the checkout ended without a payment that counts. Its code is `checkout_failed`,
 * `checkout_expired`, `checkout_cancelled` or `checkout_refunded`. Tillflow returns a payment that comes after such an
 * end. The checkout becomes `paid` where the operator keeps late payments, or the provider refuses to return one.
 */
export class NotPaidError extends TillflowError {
  static {
    this.prototype.name = 'NotPaidError';
  }

  declare readonly checkout: Checkout;

  constructor(checkout: Checkout) {
    const { id, status, paid_at } = checkout;
    const isUnpaid = hasEndedUnpaid(checkout) && paid_at === null;
    const money = isUnpaid ? 'not_moved' : moneyIn(checkout);
    const details = { code: `checkout_${status}`, money, detail: `The checkout ${id} is ${status}.`, checkout };
    super(details, isUnpaid ? UNPAID : hasEndedUnpaid(checkout) ? PAID_LATE : undefined);
  }
}

/** `refund`: the money was not returned. Its code is `refund_rejected` or `refund_needs_approval`. */
export class NotRefundedError extends TillflowError {
  static {
    this.prototype.name = 'NotRefundedError';
  }

  declare readonly refund: Refund;

  constructor(refund: Refund) {
    const status: string = refund.status;
    const why = refund.failure_message ?? refund.failure_code;
    const isAbandoned = refund.failure_code === 'abandoned';
    const details: ErrorDetails = {
      code: `refund_${status}`,
      // A refund that is not rejected may still be made, and one that an operator gave up may have been made.
      money: status === 'rejected' && !isAbandoned ? 'not_moved' : 'unknown',
      detail: `The refund ${refund.key} is ${status}${why === null ? '.' : `: ${why}.`}`,
      repeatWith: { idempotencyKey: refund.key },
      refund,
    };
    super(details, isAbandoned ? ABANDONED : status === 'needs_approval' ? NEEDS_APPROVAL : undefined);
  }
}

const SENTENCES: Readonly<Record<Exclude<Money, 'unknown'>, string>> = {
  not_moved: 'This call moved no money.',
  paid: 'The customer has paid.',
  returned: 'The customer has paid, and the money was returned.',
};

const UNPAID = 'Not paid. Tillflow returns a payment that comes later, unless the operator keeps late payments.';
const NEEDS_APPROVAL =
  'No money has moved yet. It moves when another person approves the refund: listRefunds shows whether that has happened.';
const ABANDONED =
  'An operator gave this refund up before its outcome was known, so it may have been made. Ask the operator before you return the money again.';
const PAID_LATE =
  'A payment came after this end, and is being returned. Read the checkout until it is refunded or paid.';

function sentenceOf({ money, repeatWith = {} }: Pick<ErrorDetails, 'money' | 'repeatWith'>): string {
  if (money !== 'unknown') return SENTENCES[money];
  const names = Object.entries(repeatWith).map(([name, value]) => ` with the same ${name} (${value})`);
  return `The outcome is unknown. Nothing happens twice: repeat the call${names.join('')} to learn it.`;
}
