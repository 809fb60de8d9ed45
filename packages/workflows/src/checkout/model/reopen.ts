import { formatInstant, isPaid, parseInstant, type Instant, OWN_KEY_PREFIX } from '@tillflow/domain';
import type { ChargeFacts } from '../activities.js';
import { READ_BY_TAIL } from '../../shared/requester.js';
import type { CheckoutInput } from '../workflow.js';
import {
  acceptedChargeOf,
  initialState,
  type AttemptView,
  type CheckoutIntent,
  type CheckoutMemo,
  type StoredRefund,
  type TimelineEntry,
} from '../types.js';
import { emptyCharge, emptyState } from './snapshot.js';
import { DEFAULT_POLICY, sendWindow, type CheckoutPolicy } from '../../shared/policy.js';
import { MAX_ATTEMPTS } from './limits.js';
import type { Attempt, Charge, ModelState, RefundEntry } from './state.js';

/** What opens a closed checkout again: a payment that it does not know of. */
export type LateCharge = Pick<ChargeFacts, 'chargeId' | 'attempt'>;

/**
 * The start of a run that opens a closed checkout again, from what it told the world last. The late charge is not
 * in it: a hint names it, and only the look that follows is believed.
 * @param policy what the closed run was started with.
 */
export function reopen(
  memo: CheckoutMemo,
  policy: Partial<CheckoutPolicy> | undefined,
  late: LateCharge,
  now: Instant,
): CheckoutInput {
  const { intent } = memo;
  return { intent, ...(policy === undefined ? {} : { policy }), resume: recordOf(memo, policy, late, now) };
}

/**
 * Whether the checkout has told that it saw this charge paid. An attempt's own status does not say it: it may have been
 * paid by another charge. False also where the timeline was cut: then the charge is looked at once more.
 */
export function showsPayment({ timeline = [] }: Pick<CheckoutMemo, 'timeline'>, chargeId: string): boolean {
  return timeline.some(({ what, detail }) => (what === 'paid' || what === 'paid_twice') && detail === chargeId);
}

/**
 * Whether the payment of this charge was to go back by itself, and has not gone: the checkout was ended from outside on
 * the way. What the provider refused to take back is shown as acceptedCharge, and is a matter for a person.
 */
export function owesBack({ intent, state, refunds = [], timeline = [] }: CheckoutMemo, chargeId: string): boolean {
  if (state === undefined) return false;
  const isSecond = timeline.some(({ what, detail }) => what === 'paid_twice' && detail === chargeId);
  const isLate = acceptedChargeOf(state, timeline) === chargeId && !isPaid(state.status);
  return (isSecond || isLate) && returnedAmount(chargeId, refunds) < intent.amount;
}

function recordOf(
  memo: CheckoutMemo,
  policy: Partial<CheckoutPolicy> | undefined,
  late: LateCharge,
  now: Instant,
): ModelState {
  const { intent, state = initialState(memo.intent), refunds = [], timeline = [], version = 0 } = memo;
  const attempts = state.attempts.map(toAttempt);
  // One that was never told of: its charge could not be believed otherwise.
  const numbers = Math.min(Math.max(Number(late.attempt ?? 1) || 1, attempts.length), MAX_ATTEMPTS);
  while (attempts.length < numbers) attempts.push(untold(intent, attempts.length + 1));
  const acceptedCharge = acceptedChargeOf(state, timeline);
  // What the ended run was doing may still leave, for as long as its own policy lets it.
  const { inFlightUntil } = sendWindow({ ...DEFAULT_POLICY, ...policy }, now);
  return {
    ...emptyState(),
    reopened: true,
    attempts,
    charges: state.attempts.flatMap((view): Charge[] =>
      view.charge_id === null ? [] : [toCharge(view, view.charge_id, memo, acceptedCharge, now)],
    ),
    // Of charges that no attempt shows only their refunds are known, until they are looked at.
    unrecognized: [...new Set(refunds.map(({ charge_id }) => charge_id))]
      .filter((id) => !state.attempts.some(({ charge_id }) => charge_id === id))
      .map((id) => ({ id, retrieveAt: now, tries: 0 })),
    refunds: refunds.map((refund) => toEntry(refund, now, inFlightUntil)),
    acceptedCharge,
    lateAfter: acceptedCharge !== null && !isPaid(state.status) ? state.status : null,
    cancelRequested: state.status === 'cancelled',
    reported: state.status,
    version,
    attentions: state.attention === null ? [] : [{ ...state.attention, about: acceptedCharge ?? '' }],
    timeline: [...timeline, reopening(late, now)],
  };
}

function reopening({ chargeId }: LateCharge, now: Instant): TimelineEntry {
  return { at: formatInstant(now), what: 'reopened', detail: `${chargeId} shows a payment`, by: READ_BY_TAIL };
}

function toAttempt(view: AttemptView): Attempt {
  return {
    number: view.number,
    sourceId: view.source_id,
    chargeId: view.charge_id,
    // Without a charge nobody can pay it any more.
    status: view.charge_id === null && view.status === 'pending' ? 'expired' : view.status,
    failureCode: view.failure_code,
    failureMessage: view.failure_message,
    createdAt: parseInstant(view.created_at),
    expiresAt: parseInstant(view.expires_at),
    qr: null,
  };
}

/** What is not certain to be paid is looked at: news only ever move a charge to a higher rank. */
function toCharge(
  view: AttemptView,
  id: string,
  memo: CheckoutMemo,
  acceptedCharge: string | null,
  now: Instant,
): Charge {
  const isPaid = view.status === 'successful' && (id === acceptedCharge || showsPayment(memo, id));
  const paidAt = memo.state?.paid_at ?? null;
  return {
    ...emptyCharge(),
    id,
    attempt: view.number,
    status: view.status === 'successful' && !isPaid ? 'expired' : view.status,
    paidAt: id === acceptedCharge && paidAt !== null ? parseInstant(paidAt) : null,
    refunded: returnedAmount(id, memo.refunds ?? []),
    retrieveAt: view.status === 'successful' && id !== acceptedCharge ? now : null,
  };
}

function untold({ created_at, expires_in }: CheckoutIntent, number: number): Attempt {
  const createdAt = parseInstant(created_at);
  const expiresAt = createdAt + expires_in * 1_000;
  const nothing = { sourceId: null, chargeId: null, failureCode: null, failureMessage: null, qr: null };
  return { number, ...nothing, status: 'expired', createdAt, expiresAt };
}

function returnedAmount(chargeId: string, refunds: readonly StoredRefund[]): number {
  return refunds
    .filter(({ charge_id, status }) => charge_id === chargeId && status === 'succeeded')
    .reduce((sum, { amount }) => sum + amount, 0);
}

function toEntry(refund: StoredRefund, now: Instant, inFlightUntil: Instant): RefundEntry {
  const { key, id, status } = refund;
  const by = key.startsWith(OWN_KEY_PREFIX) ? 'us' : key === id ? 'elsewhere' : 'caller';
  return {
    key,
    chargeId: refund.charge_id,
    amount: refund.amount,
    // Without it, a request without an amount is taken for the same: an older release did not write it down.
    asked: refund.asked ?? null,
    kind: refund.kind,
    status,
    id,
    by,
    requestedBy: refund.requested_by,
    nonce: refund.nonce,
    reason: refund.reason,
    failureCode: refund.failure_code,
    failureMessage: refund.failure_message,
    createdAt: parseInstant(refund.created_at),
    refusals: by === 'us' && status === 'rejected' ? 1 : 0,
    retryAt: by === 'us' && status === 'rejected' ? now : null,
    // It may have been sent by the run that ended: it is looked for before it is asked for again.
    inFlightUntil: status === 'pending' ? inFlightUntil : null,
  };
}
