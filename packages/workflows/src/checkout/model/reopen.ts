import { formatInstant, isPaid, parseInstant, type Instant, OWN_KEY_PREFIX } from '@tillflow/domain';
import type { ChargeFacts } from '../activities.js';
import type { CheckoutInput } from '../messages.js';
import { READ_BY_TAIL } from '../../shared/requester.js';
import {
  ABANDONED,
  acceptedChargeOf,
  initialState,
  sumOfRefunds,
  type AttemptView,
  type CheckoutIntent,
  type CheckoutMemo,
  type CheckoutState,
  type StoredRefund,
  type TimelineEntry,
} from '../types.js';
import { DEFAULT_POLICY, type CheckoutPolicy } from '../policy.js';
import { sendWindow } from '../../shared/policy.js';
import { emptyAttempt, MAX_ATTEMPTS, type Attempt } from './attempts.js';
import { emptyCharge, type Charge } from './charges/polling.js';
import type { RefundEntry } from './refunds/refunds.js';
import { emptyState, type ModelState } from './state.js';

/** The charge whose payment opens a closed checkout again. */
export type LateCharge = Pick<ChargeFacts, 'chargeId' | 'attempt'>;

/**
 * The start of a run that opens a closed checkout again, from what it published last. The late charge is not in it: a
 * hint names the charge, and the workflow believes only the retrieve that follows.
 * @param policy what the closed run was started with.
 */
export function reopen(
  memo: CheckoutMemo,
  policy: Partial<CheckoutPolicy> | undefined,
  late: LateCharge,
  now: Instant,
): CheckoutInput {
  return { ...(policy === undefined ? {} : { policy }), resume: stateOf(memo, policy, late, now), limits: true };
}

/**
 * Whether the checkout published that this charge was paid. The status of its attempt does not say so: another charge
 * may have paid it. False where the timeline was cut: then the charge is retrieved once more.
 */
export function showsPayment({ timeline = [] }: Pick<CheckoutMemo, 'timeline'>, chargeId: string): boolean {
  return timeline.some(({ what, detail }) => (what === 'paid' || what === 'paid_twice') && detail === chargeId);
}

/**
 * Whether Tillflow was returning this charge's payment and had not finished when the checkout was terminated. Money
 * that the provider refused to return is shown as paid, and an operator decides.
 */
export function isReturnUnfinished(
  { intent, state, refunds = [], timeline = [] }: CheckoutMemo,
  chargeId: string,
): boolean {
  if (state === undefined) return false;
  const isSecond = timeline.some(({ what, detail }) => what === 'paid_twice' && detail === chargeId);
  const isLate = acceptedChargeOf(state, timeline) === chargeId && !isPaid(state.status);
  return (isSecond || isLate) && sumOfRefunds(refunds, chargeId, 'succeeded') < intent.amount;
}

function stateOf(
  memo: CheckoutMemo,
  policy: Partial<CheckoutPolicy> | undefined,
  late: LateCharge,
  now: Instant,
): ModelState {
  const { intent, state = initialState(memo.intent), refunds = [], timeline = [], version = 0 } = memo;
  const accepted = acceptedChargeOf(state, timeline);
  const isLate = accepted !== null && !isPaid(state.status);
  const charges = state.attempts.flatMap((view): Charge[] =>
    view.charge_id === null ? [] : [toCharge(view, view.charge_id, memo, accepted, now)],
  );
  // A call of the ended run may still leave its worker, for as long as the policy of that run allows.
  const { inFlightUntil } = sendWindow({ ...DEFAULT_POLICY, ...policy }, now);
  const empty = emptyState();
  return {
    ...empty,
    attempts: {
      ...empty.attempts,
      list: attemptsOf(intent, state, late),
      cancelRequested: state.status === 'cancelled',
      isReopened: true,
    },
    charges: {
      ...empty.charges,
      all: charges,
      accepted,
      lateAfter: isLate ? state.status : null,
      ...(state.payment === undefined ? {} : { payment: state.payment }),
    },
    // When no attempt shows a charge, only its refunds are known until the workflow retrieves it.
    unrecognized: [...new Set(refunds.map(({ charge_id }) => charge_id))]
      .filter((id) => !charges.some((charge) => charge.id === id))
      .map((id) => ({ id, retrieveAt: now, tries: 0 })),
    refunds: refunds.map((refund) => toEntry(refund, now, inFlightUntil)),
    published: { status: state.status, version },
    // A refund that waits raises its attention again.
    attentions:
      state.attention === null || state.attention.code === 'approval_needed'
        ? []
        : [{ ...state.attention, about: accepted ?? '' }],
    timeline: [...timeline, reopening(late, now)],
  };
}

function reopening({ chargeId }: LateCharge, now: Instant): TimelineEntry {
  return { at: formatInstant(now), what: 'reopened', detail: `${chargeId} shows a payment`, by: READ_BY_TAIL };
}

/** With the attempt of the late charge, even if it was never published: the charge is not believed without it. */
function attemptsOf(intent: CheckoutIntent, state: CheckoutState, late: LateCharge): Attempt[] {
  const createdAt = parseInstant(intent.created_at);
  const expiresAt = createdAt + intent.expires_in * 1_000;
  const published = state.attempts.map(toAttempt);
  const count = Math.min(Math.max(Number(late.attempt ?? 1) || 1, published.length), MAX_ATTEMPTS);
  return Array.from(
    { length: count },
    (_, index): Attempt =>
      published[index] ?? { ...emptyAttempt(), number: index + 1, status: 'expired', createdAt, expiresAt },
  );
}

function toAttempt(view: AttemptView): Attempt {
  return {
    number: view.number,
    sourceId: view.source_id,
    chargeId: view.charge_id,
    // Without a charge, no customer can pay it any more.
    status: view.charge_id === null && view.status === 'pending' ? 'expired' : view.status,
    failureCode: view.failure_code,
    failureMessage: view.failure_message,
    createdAt: parseInstant(view.created_at),
    expiresAt: parseInstant(view.expires_at),
    instructions: null,
  };
}

/** A charge that is not certain to be paid is retrieved: its status can only move to a higher rank. */
function toCharge(view: AttemptView, id: string, memo: CheckoutMemo, accepted: string | null, now: Instant): Charge {
  const wasPaid = view.status === 'successful' && (id === accepted || showsPayment(memo, id));
  const paidAt = memo.state?.paid_at ?? null;
  return {
    ...emptyCharge(),
    id,
    attempt: view.number,
    status: view.status === 'successful' && !wasPaid ? 'expired' : view.status,
    paidAt: id === accepted && paidAt !== null ? parseInstant(paidAt) : null,
    refunded: sumOfRefunds(memo.refunds ?? [], id, 'succeeded'),
    retrieveAt: view.status === 'successful' && id !== accepted ? now : null,
  };
}

function toEntry(refund: StoredRefund, now: Instant, inFlightUntil: Instant): RefundEntry {
  const { key, id, status } = refund;
  const by = key.startsWith(OWN_KEY_PREFIX) ? 'tillflow' : key === id ? 'elsewhere' : 'caller';
  const isRefusedReturn = by === 'tillflow' && status === 'rejected';
  return {
    key,
    chargeId: refund.charge_id,
    amount: refund.amount,
    asked: refund.asked ?? null,
    kind: refund.kind,
    status,
    id,
    by,
    requestedBy: refund.requested_by,
    ...(refund.approved_by === undefined ? {} : { approvedBy: refund.approved_by }),
    ...(refund.approval_until === undefined ? {} : { approvalUntil: parseInstant(refund.approval_until) }),
    nonce: refund.nonce,
    reason: refund.reason,
    failureCode: refund.failure_code,
    failureMessage: refund.failure_message,
    createdAt: parseInstant(refund.created_at),
    refusals: isRefusedReturn ? 1 : 0,
    retryAt: isRefusedReturn ? now : null,
    // The run that ended may have sent it: a pending refund is looked up before it is sent again, and an abandoned one
    // counts towards the limit of its requester.
    inFlightUntil: status === 'pending' || refund.failure_code === ABANDONED ? inFlightUntil : null,
  };
}
