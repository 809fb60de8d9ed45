import { instant, isFinalCharge, plus, type ChargeStatus, type Instant } from '@tillflow/domain';
import type { CheckoutPolicy } from '../../policy.js';
import { lookupDelay } from '../../../shared/policy.js';
import type { Due } from '../schedule.js';

/** One charge is retrieved at most once in this time, however many hints come. */
export const RETRIEVE_APART_MS = 1_000;
/** After a hint that shows no change, the charge is retrieved again 1 s and 5 s after the first time. */
const RECHECK_DELAYS_MS = [1_000, 4_000];
/** Delays between expire calls stop growing at this index of the lookup delays: 5 min by default. */
const SLOWEST_EXPIRE = 3;
/** A customer may still be confirming. After this many expire calls, the delay grows by one more step. */
const PATIENT_EXPIRE_CALLS = 15;
/**
 * Delays after an unanswered retrieve stop growing at this index: 5 min for a charge that can still be paid, else 1 h.
 */
const SLOWEST_MISS = { pending: 3, final: 4 } as const;

/**
 * One charge of the checkout, and when it is retrieved or expired next. Instants are in milliseconds since 1970 (UTC).
 */
export type Charge = {
  id: string;
  /** The number of its attempt. */
  attempt: number;
  status: ChargeStatus;
  paidAt: number | null;
  /** The provider's `refunded_amount`, the highest that was seen; smallest currency unit. */
  refunded: number;
  /** When the last retrieve began. */
  retrievedAt: number;
  /** When a retrieve is due besides the regular polls: after a hint, an expire call, an operator's request. */
  retrieveAt: number | null;
  /** When it is retrieved for a refund that took effect after it was given up. */
  lateEffectCheckAt: number | null;
  /** Delays before the retrieves that follow a hint which showed no change. */
  pendingRechecks: number[];
  /** When the last hint came that no retrieve has followed yet. */
  hintedAt: number | null;
  /** When the last hint came that reports something other than a payment. Absent: none since the last retrieve. */
  otherHintAt?: number;
  /** The transaction that the last hint names. */
  hintedTransaction?: string;
  /** Retrieves in a row that the provider did not answer. */
  unansweredRetrieves: number;
  expireCalls: number;
  expiringSince: number | null;
  nextExpireAt: number | null;
};

export const emptyCharge = (): Charge => ({
  id: '',
  attempt: 1,
  status: 'pending',
  paidAt: null,
  refunded: 0,
  retrievedAt: 0,
  retrieveAt: null,
  lateEffectCheckAt: null,
  pendingRechecks: [],
  hintedAt: null,
  unansweredRetrieves: 0,
  expireCalls: 0,
  expiringSince: null,
  nextExpireAt: null,
});

/** @param payableUntil until when the customer may pay it (ms since 1970, UTC); null when it must end. */
export function dueOf(charge: Charge, payableUntil: number | null, policy: CheckoutPolicy, now: Instant): Due[] {
  const step = { do: 'retrieveCharge', chargeId: charge.id } as const;
  const retrieves = [charge.retrieveAt, charge.lateEffectCheckAt].flatMap((at): Due[] =>
    at === null ? [] : [{ at: instant(at), step, why: 'then retrieve the charge again' }],
  );
  if (isFinalCharge(charge.status)) return retrieves;
  if (payableUntil !== null) {
    return [
      ...retrieves,
      {
        at: plus(instant(charge.retrievedAt), policy.pollIntervalMs),
        step,
        why: 'wait for a webhook, then retrieve the charge',
      },
      { at: instant(payableUntil), why: 'wait for a webhook; then the time to pay ends' },
    ];
  }
  // The retrieve that follows an expire call comes before the next expire call.
  if (charge.retrieveAt !== null && charge.expireCalls > 0) return retrieves;
  const at = instant(charge.nextExpireAt ?? now);
  return [...retrieves, { at, step: { do: 'expireCharge', chargeId: charge.id }, why: 'then expire the charge again' }];
}

/** What a hint says of a charge. */
export type Report = {
  /** It was paid, or failed. */
  readonly isPayment: boolean;
  readonly transactionId?: string | undefined;
};

/** A hint came: the charge should be retrieved. */
export function planForHint(
  charge: Charge,
  now: Instant,
  { isPayment, transactionId }: Report = { isPayment: false },
): void {
  const earliest = Math.max(now, charge.retrievedAt + RETRIEVE_APART_MS);
  charge.retrieveAt = Math.min(charge.retrieveAt ?? earliest, earliest);
  charge.hintedAt = now;
  if (!isPayment) charge.otherHintAt = now;
  if (transactionId !== undefined) charge.hintedTransaction = transactionId;
}

/** An operator requests a retrieve now: `resolve` with the action `look`. */
export function planNow(charge: Charge, now: Instant): void {
  charge.retrieveAt = now;
  if (charge.nextExpireAt !== null) charge.nextExpireAt = now;
}

/** Only the retrieve that follows decides, whatever the provider answered to the expire call. */
export function planAfterExpire(charge: Charge, now: Instant): void {
  charge.expireCalls += 1;
  charge.expiringSince ??= now;
  charge.retrieveAt = now;
}

/** The charge is final, or given up: it is not expired any more. */
export function stopExpiring(charge: Charge): void {
  charge.nextExpireAt = null;
  charge.expiringSince = null;
}

/** @param before the charge as it was before this retrieve. */
export function planAfterRetrieve(
  policy: CheckoutPolicy,
  charge: Charge,
  now: Instant,
  retrievedAt: Instant,
  before: Pick<Charge, 'status' | 'refunded'>,
): void {
  charge.unansweredRetrieves = 0;
  const isChanged = charge.status !== before.status || charge.refunded !== before.refunded;
  const isJustPaid = charge.status === 'successful' && before.status !== 'successful';
  // A hint that arrives during the retrieve may report a later change, so rechecks follow. When the retrieve shows the
  // payment, only a hint of another kind causes rechecks.
  const { hintedAt } = charge;
  const isOlderThanHint = retrievedAt < ((isJustPaid ? charge.otherHintAt : hintedAt) ?? 0);
  if (hintedAt !== null && (!isChanged || isOlderThanHint)) charge.pendingRechecks = [...RECHECK_DELAYS_MS];
  planNext(policy, charge, now, retrievedAt);
}

/** The provider did not answer, or did not show the charge. */
export function planAfterMiss(policy: CheckoutPolicy, charge: Charge, now: Instant, retrievedAt: Instant): void {
  planNext(policy, charge, now, retrievedAt);
  const slowest = isFinalCharge(charge.status) ? SLOWEST_MISS.final : SLOWEST_MISS.pending;
  const again = plus(now, lookupDelay(policy, Math.min(charge.unansweredRetrieves, slowest)));
  charge.retrieveAt = Math.min(charge.retrieveAt ?? again, again);
  if (charge.lateEffectCheckAt !== null) charge.lateEffectCheckAt = Math.max(charge.lateEffectCheckAt, again);
  charge.unansweredRetrieves += 1;
}

function planNext(policy: CheckoutPolicy, charge: Charge, now: Instant, retrievedAt: Instant): void {
  charge.retrievedAt = retrievedAt;
  charge.hintedAt = null;
  delete charge.otherHintAt;
  delete charge.hintedTransaction;
  const [next, ...rest] = charge.pendingRechecks;
  charge.pendingRechecks = rest;
  charge.retrieveAt = next === undefined ? null : plus(now, next);
  if (charge.lateEffectCheckAt !== null && retrievedAt >= charge.lateEffectCheckAt) charge.lateEffectCheckAt = null;
  if (charge.expireCalls === 0 || isFinalCharge(charge.status)) return;
  const slowest = charge.expireCalls > PATIENT_EXPIRE_CALLS ? SLOWEST_EXPIRE + 1 : SLOWEST_EXPIRE;
  charge.nextExpireAt = plus(now, lookupDelay(policy, Math.min(charge.expireCalls - 1, slowest)));
}
