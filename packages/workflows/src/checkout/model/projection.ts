import {
  formatInstant,
  instant,
  refundableUntil,
  voidableUntil,
  voidRule,
  type CheckoutStatus,
  type Instant,
} from '@tillflow/domain';
import type { CheckoutPolicy } from '../policy.js';
import type { AttemptView, CheckoutIntent, CheckoutState, StoredRefund } from '../types.js';
import { currentAttempt, isWithdrawn, type Attempt } from './attempts.js';
import { shownAttention } from './attention.js';
import type { Charge } from './charges/polling.js';
import { toQr } from './payment-instructions.js';
import { returnedAmount, type RefundEntry } from './refunds/refunds.js';
import { wasReturnRefused } from './refunds/returns.js';
import type { ModelState } from './state.js';

/** The known facts of a checkout, and the policy by which it is shown. */
export type Known = {
  readonly intent: CheckoutIntent;
  readonly policy: CheckoutPolicy;
  readonly state: Readonly<ModelState>;
};

function acceptedCharge({ charges: { all, accepted } }: Readonly<ModelState>): Readonly<Charge> | null {
  return all.find(({ id }) => id === accepted) ?? null;
}

/** The returned amount of the accepted payment, in the smallest currency unit. */
function returnedOf(state: Readonly<ModelState>): number {
  const accepted = acceptedCharge(state);
  return accepted === null ? 0 : returnedAmount(state.refunds, accepted);
}

export function statusOf({ intent, policy, state }: Known): CheckoutStatus {
  const { accepted, lateAfter } = state.charges;
  if (accepted === null) return unpaidStatus(state);
  const returned = returnedOf(state);
  if (returned >= intent.amount) return 'refunded';
  // A late payment that Tillflow returns does not make the checkout paid: callers may rely on the published end.
  const isReturned = policy.latePayment === 'return' && !wasReturnRefused(state.refunds, accepted);
  if (lateAfter !== null && isReturned) return lateAfter;
  return returned > 0 ? 'partially_refunded' : 'paid';
}

function unpaidStatus({ attempts }: Readonly<ModelState>): CheckoutStatus {
  const { status, chargeId } = currentAttempt(attempts);
  switch (status) {
    case 'pending':
    case 'successful':
      return chargeId === null ? 'creating' : 'awaiting_payment';
    case 'failed':
    case 'expired':
      return attempts.cancelRequested ? 'cancelled' : status;
  }
}

/** The end of the void window and of the refund window; null where there is no window. */
export function windowsOf({ policy, state }: Omit<Known, 'intent'>): {
  readonly paidAt: Instant | null;
  readonly voidable: Instant | null;
  readonly refundable: Instant | null;
} {
  const paid = acceptedCharge(state)?.paidAt ?? null;
  if (paid === null) return { paidAt: null, voidable: null, refundable: null };
  const paidAt = instant(paid);
  const voidable = voidableUntil(paidAt, voidRule(policy.voidDateOffsetMinutes));
  return { paidAt, voidable, refundable: refundableUntil(paidAt) };
}

/** The checkout as the memo and the API show it. */
export function projectionOf(known: Known, now: Instant): CheckoutState {
  const { state } = known;
  const { paidAt, voidable, refundable } = windowsOf(known);
  const returned = returnedOf(state);
  const { instructions, expiresAt } = currentAttempt(state.attempts);
  const isVoidable = voidable !== null && now < voidable && returned === 0;
  return {
    status: statusOf(known),
    attempts: state.attempts.list.map((attempt) => toAttemptView(attempt, state)),
    qr: instructions !== null && isPayable(state, now) ? toQr(instructions, instant(expiresAt)) : null,
    paid_at: paidAt === null ? null : formatInstant(paidAt),
    ...(state.charges.payment === undefined ? {} : { payment: state.charges.payment }),
    refunded_amount: returned,
    voidable_until: isVoidable ? formatInstant(voidable) : null,
    refundable_until: refundable !== null && now <= refundable ? formatInstant(refundable) : null,
    attention: shownAttention(state.attentions),
    updated_at: formatInstant(now),
  };
}

/** A customer must not pay a charge that does not match the checkout, or whose status is not known. */
function isPayable({ attempts, attentions }: Readonly<ModelState>, now: Instant): boolean {
  return (
    !isWithdrawn(attempts, currentAttempt(attempts), now) &&
    !attentions.some(({ code }) => code === 'integrity_mismatch' || code === 'unknown_status')
  );
}

function toAttemptView(attempt: Attempt, { attempts, creation }: Readonly<ModelState>): AttemptView {
  // Its source is published together with its charge: each write of the memo is an event.
  const isBeingCreated = creation.inProgress !== null && creation.inProgress.stage !== 'unknown';
  return {
    number: attempt.number,
    source_id: isBeingCreated && attempt === currentAttempt(attempts) ? null : attempt.sourceId,
    charge_id: attempt.chargeId,
    status: attempt.status,
    failure_code: attempt.failureCode,
    failure_message: attempt.failureMessage,
    created_at: formatInstant(instant(attempt.createdAt)),
    expires_at: formatInstant(instant(attempt.expiresAt)),
  };
}

export function toStoredRefund(entry: Readonly<RefundEntry>, { currency }: CheckoutIntent): StoredRefund {
  const { requestedBy, approvedBy, approvalUntil, asked, nonce } = entry;
  return {
    id: entry.id,
    key: entry.key,
    charge_id: entry.chargeId,
    amount: entry.amount,
    currency,
    kind: entry.kind,
    status: entry.status,
    reason: entry.reason,
    failure_code: entry.failureCode,
    failure_message: entry.failureMessage,
    created_at: formatInstant(instant(entry.createdAt)),
    ...(requestedBy === undefined ? {} : { requested_by: requestedBy }),
    ...(approvedBy === undefined ? {} : { approved_by: approvedBy }),
    ...(approvalUntil === undefined ? {} : { approval_until: formatInstant(instant(approvalUntil)) }),
    ...(asked === null ? {} : { asked }),
    ...(nonce === undefined ? {} : { nonce }),
  };
}
