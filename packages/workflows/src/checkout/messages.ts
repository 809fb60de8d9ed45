import type { CheckoutStatus } from '@tillflow/domain';
import { defineQuery, defineSignal, defineUpdate } from '@temporalio/workflow';
import type { Attributed } from '../shared/requester.js';
import type { CheckoutState, CheckoutView, StoredRefund } from './types.js';

/** The workflow's type, as `start` names it. */
export const CHECKOUT_WORKFLOW = 'checkout';
/** What a paid checkout continues as, under the same id. Both types answer every message. */
export const AFTERCARE_WORKFLOW = 'aftercare';

/** The id under which `begin` is sent, so that callers of one reference wait for one and the same answer. */
export const BEGIN_UPDATE_ID = 'begin';

/** What a webhook tells a workflow: that it is worth looking. Nothing in it is believed. */
export type Hint = {
  readonly eventId: string;
  /** The kind of event, as the provider spells it, such as `charge.complete`. */
  readonly eventKey: string;
  /** The charge that is worth a look; absent: every one of the checkout. */
  readonly chargeId?: string | null;
};

/** Asks for attempt `after` + 1. By number, so that a request that is repeated never ends the attempt it made. */
export type NewAttemptRequest = Attributed & { readonly after: number };

export type RefundRequest = Attributed & {
  /** Unique per checkout, chosen by the caller: the same key is the same refund. */
  readonly key: string;
  /** Smallest currency unit; null: all that is left. */
  readonly amount: number | null;
  readonly reason: string | null;
  /** Tells this request from every other one with the same key: only the request that opened the refund answers 201. */
  readonly nonce?: string;
};

/**
 * What an operator decides where the machine cannot.
 * - `look`: ask the provider about everything again, now.
 * - `adopt`: this charge or refund is ours; it is verified like any other before it counts.
 * - `abandon`: wait no longer for what is unresolved. Never makes anything paid; what shows up later is still taken in.
 */
export type Resolution = Attributed &
  (
    | { readonly action: 'look' | 'abandon'; readonly reason: string }
    | { readonly action: 'adopt'; readonly id: string; readonly reason: string }
  );

/**
 * Why an update was refused: the `type` of its `ApplicationFailure`. Nothing was changed; the message says why, with
 * the times and amounts that decide.
 */
export type Refusal =
  | 'already_paid'
  | 'checkout_closed'
  | 'attempt_unknown'
  | 'too_many_attempts'
  | 'not_paid'
  | 'refund_window_closed'
  | 'refund_exceeds_paid'
  | 'idempotency_conflict'
  | 'too_many_refunds'
  | 'invalid_refund'
  | 'invalid_resolution';

/** Why a request is refused. `message` is for people. */
export type Refused = { readonly code: Refusal; readonly message: string };

/** How a checkout began, and for whom: the request whose nonce is `requestNonce`. */
export type Begun = { readonly requestNonce: string; readonly state: CheckoutState };

/**
 * Answers once the customer can pay, or never will. It never fails: a completed update repeats its first answer for
 * ever. Sent with the start: the requestNonce may take the answer as it is, whoever joined reads the memo.
 */
export const begin = defineUpdate<Begun>('begin');

/**
 * Asks for the end of an unpaid checkout and answers with the status it came to: `cancelled`, or `paid` when the
 * customer was faster. Waits as long as the provider has not shown a final state.
 */
export const cancel = defineUpdate<CheckoutStatus, [Attributed]>('cancel');

/**
 * The request behind {@link cancel}, made durable: an update that no worker has accepted yet is lost when the server
 * restarts, a signal is not.
 */
export const cancelRequest = defineSignal<[Attributed]>('cancelRequest');

/**
 * Answers with the number of the attempt that follows `after`, once a customer can pay it or never will. An open
 * attempt is ended at the provider first. @throws ApplicationFailure `already_paid`, `checkout_closed`,
 * `attempt_unknown`, `too_many_attempts`.
 */
export const newAttempt = defineUpdate<number, [NewAttemptRequest]>('newAttempt');

/** The request behind {@link newAttempt}, made durable; one that would be refused is left alone. */
export const newAttemptRequest = defineSignal<[NewAttemptRequest]>('newAttemptRequest');

/**
 * Gives money back, by a void where the whole untouched amount can still be voided, else by a refund. Answers with
 * the refund: `pending` only when its outcome is not known yet. The same key answers with the same refund.
 * @throws ApplicationFailure `not_paid`, `refund_window_closed`, `refund_exceeds_paid`, `idempotency_conflict`,
 * `too_many_refunds`.
 */
export const refund = defineUpdate<StoredRefund, [RefundRequest]>('refund');

/** The request behind {@link refund}, made durable; one that is refused is noted in the timeline. */
export const refundRequest = defineSignal<[RefundRequest]>('refundRequest');

/**
 * An operator's decision; its reason is written to the timeline. Answers, once it was carried out, with the status.
 * @throws ApplicationFailure `invalid_resolution`.
 */
export const resolve = defineUpdate<CheckoutStatus, [Resolution]>('resolve');

/** A webhook arrived. */
export const hint = defineSignal<[Hint]>('hint');

/** The checkout and its timeline, for operators. The API reads the memo instead, which needs no worker. */
export const view = defineQuery<CheckoutView>('view');
