import type { CheckoutStatus, RefundLimit } from '@tillflow/domain';
import { defineQuery, defineSignal, defineUpdate } from '@temporalio/workflow';
import type { Attributed } from '../shared/requester.js';
import type { Resolution } from '../shared/resolution.js';
import type { Snapshot } from './model/snapshot.js';
import type { ModelState } from './model/state.js';
import type { CheckoutPolicy } from './policy.js';
import type { CheckoutIntent, CheckoutState, CheckoutView, StoredRefund } from './types.js';

/** The workflow's type, as `start` names it. */
export const CHECKOUT_WORKFLOW = 'checkout';
/** A paid checkout continues as this type, under the same id. Both types answer every message. */
export const AFTERCARE_WORKFLOW = 'aftercare';

/** Refunds have limits from the start of the run. Absent: an older version began it, so they have from the next one on. */
export type Limited = { readonly limits?: true };

/** How a checkout starts. `by` requested it. The intent is in the memo. */
export type CheckoutInput = Attributed & {
  /**
   * Set by versions before 1.0: their runs make every provider call as a regular activity (ADR 13). A worker of such a
   * version cannot run an input without it, and leaves the run to a newer worker.
   */
  readonly intent?: CheckoutIntent;
  /** What differs from `DEFAULT_POLICY`. */
  readonly policy?: Partial<CheckoutPolicy>;
  /** What an earlier run of the same checkout knew, when it continued as new. */
  readonly resume?: ModelState;
} & Limited;

/** Intent and timeline are in the memo. The input stays small, because this run stays open for a year. */
export type AftercareInput = Limited & {
  readonly state: Snapshot;
  /** What differs from `DEFAULT_POLICY`. */
  readonly policy?: Partial<CheckoutPolicy>;
};

/** The update id of `begin`, so that all callers of one reference wait for the same answer. */
export const BEGIN_UPDATE_ID = 'begin';

/** A webhook, the event tail or a reconciliation asks for a retrieve of charges. The workflow believes nothing else. */
export type Hint = {
  readonly eventId: string;
  /** The kind of event, as the provider spells it, such as `charge.complete`. */
  readonly eventKey: string;
  /** The charge to retrieve; absent: every charge of the checkout. */
  readonly chargeId?: string | null;
  /** The transaction of this charge, as the event names it: it is retrieved together with the charge. */
  readonly transactionId?: string;
};

/** Requests attempt `after` + 1. By number, so that a repeated request never ends the attempt that it made. */
export type NewAttemptRequest = Attributed & { readonly after: number };

export type RefundRequest = Attributed & {
  /** Unique per checkout, chosen by the caller: the same key is the same refund. */
  readonly key: string;
  /** Smallest currency unit; null: all that is left. */
  readonly amount: number | null;
  readonly reason: string | null;
  /** The requester's limit as the API knows it; absent: none. The worker may know a lower one. */
  readonly limit?: RefundLimit;
  /** Distinguishes requests with the same key: only the request that opened the refund answers 201. */
  readonly nonce?: string;
};

/** A second person decides about a refund that waits for approval. */
export type RefundDecision = Attributed & {
  readonly key: string;
  readonly decision: 'approve' | 'reject';
  /** For people. */
  readonly reason: string | null;
};

/** Why an update was refused: the `type` of its `ApplicationFailure`. Nothing was changed. */
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
  | 'refund_unknown'
  | 'refund_decided'
  | 'second_person_required'
  | 'may_not_approve'
  | 'invalid_resolution';

/** `message` is for people, and names the times and amounts that decide. */
export type Refused = { readonly code: Refusal; readonly message: string };

/** The checkout as it was when `begin` answered. */
export type Begun = {
  /** The nonce of the request that opened it. */
  readonly requestNonce: string;
  readonly state: CheckoutState;
  /** The version of this state. */
  readonly version: number;
};

/**
 * Answers when the checkout has a QR or has ended. It never fails, because a completed update repeats its first answer
 * for as long as the workflow exists. Sent together with the start. The request that opened the checkout may use the
 * answer as it is; every other request reads the memo.
 */
export const begin = defineUpdate<Begun>('begin');

/**
 * Requests the end of an unpaid checkout. Answers with its status: `cancelled`, or `paid` when the customer was faster.
 * Waits until the provider has shown a final state.
 */
export const cancel = defineUpdate<CheckoutStatus, [Attributed]>('cancel');

/**
 * The same as {@link cancel}, made durable: the server loses an update that no worker has accepted when it restarts,
 * but not a signal.
 */
export const cancelRequest = defineSignal<[Attributed]>('cancelRequest');

/**
 * Answers with the number of the attempt that follows `after`, once that attempt has a QR or has ended. The workflow
 * expires an open attempt at the provider first.
 * @throws ApplicationFailure `already_paid`, `checkout_closed`, `attempt_unknown`, `too_many_attempts`.
 */
export const newAttempt = defineUpdate<number, [NewAttemptRequest]>('newAttempt');

/** The same as {@link newAttempt}, made durable. A request that would be refused is ignored. */
export const newAttemptRequest = defineSignal<[NewAttemptRequest]>('newAttemptRequest');

/**
 * Returns money: by a void where the whole untouched amount can still be voided, else by a refund. Answers with the
 * refund, which is `pending` only while its outcome is unknown, and `needs_approval` while a second person has to decide.
 * The same key answers with the same refund.
 * @throws ApplicationFailure `not_paid`, `refund_window_closed`, `refund_exceeds_paid`, `idempotency_conflict`,
 * `too_many_refunds`, `invalid_refund`.
 */
export const refund = defineUpdate<StoredRefund, [RefundRequest]>('refund');

/**
 * A second person lets a refund go ahead that waits for approval, or ends it. Answers with the refund: after an approval
 * as {@link refund} does. The same decision again answers the same.
 * @throws ApplicationFailure `refund_unknown`, `refund_decided`, `second_person_required`, `may_not_approve`.
 */
export const decideRefund = defineUpdate<StoredRefund, [RefundDecision]>('decideRefund');

/** The same as {@link refund}, made durable. A refusal goes into the timeline. */
export const refundRequest = defineSignal<[RefundRequest]>('refundRequest');

/**
 * An operator's decision; its reason goes into the timeline. Answers with the status when the decision is carried out.
 * @throws ApplicationFailure `invalid_resolution`.
 */
export const resolve = defineUpdate<CheckoutStatus, [Resolution]>('resolve');

/** Charges should be retrieved. */
export const hint = defineSignal<[Hint]>('hint');

/**
 * The same as {@link hint}, in one workflow task where a retrieve is a local call: the memo then shows its result when the
 * update answers. The server loses an update that no worker has accepted, so a sender without an answer sends the signal.
 */
export const hintNow = defineUpdate<void, [Hint]>('hintNow');

/** The checkout and its timeline, for operators. The API reads the memo instead, which needs no worker. */
export const view = defineQuery<CheckoutView>('view');
