import { plus, type Instant } from '@tillflow/domain';
import type { Outcome } from './outcome.js';
import { lookupDelay, type CheckoutPolicy } from './policy.js';
import type { PendingCall } from '../checkout/model/state.js';

/** How many looks must show no effect before an unknown outcome is taken for none. */
const ABSENCES = 2;
/** The pause before the look that confirms the first: the second of the policy's, 5 s. */
const CONFIRMING = 1;
/** Pauses between calls that provably had no effect stop growing at this step. */
const SLOWEST_RETRY = 3;
/** Pauses between calls whose outcome was unknown each time stop growing at this step: 1 h. */
const SLOWEST_REPEAT = 4;

const DISBELIEVED = { code: 'integrity_mismatch', message: 'the reply did not match' } as const;

export function startCall(now: Instant): PendingCall {
  return { dueAt: now, tries: 0, since: now, wasUnknown: false, inFlightUntil: 0, absentLookups: 0, refusal: null };
}

/** The client's code for a call that the worker came to too late. Nothing was sent, and the provider was not asked. */
const SENT_TOO_LATE = 'send_by_passed';

/** Provably no effect: the same call may be made again, a little later each time. @param code why; of no call: absent. */
export function retryLater(policy: CheckoutPolicy, call: PendingCall, now: Instant, code?: string): void {
  if (code === SENT_TOO_LATE) call.wasLate = true;
  else if (code !== undefined) delete call.wasLate;
  call.dueAt = plus(now, lookupDelay(policy, Math.min(call.tries, SLOWEST_RETRY)));
  call.tries += 1;
}

/**
 * The call may have had its effect: from here on only looks decide. A refusal that no doubt preceded is confirmed by
 * one look; one after a doubt may be the refusal of a second try, and proves nothing. A reply that came and is not
 * believed is no answer.
 * @returns what is in doubt, for people; null for a refusal that only has to be confirmed.
 */
export function doubt(
  policy: CheckoutPolicy,
  call: PendingCall,
  now: Instant,
  outcome: Outcome<unknown>,
  inFlightUntil: Instant,
): string | null {
  const { code, message } = outcome.kind === 'done' ? DISBELIEVED : outcome;
  const isRefusal = outcome.kind === 'rejected' && !outcome.retryable;
  // However often it is repeated: a person is told by how long nobody has known.
  if (!call.wasUnknown) call.since = now;
  call.refusal = isRefusal ? { code, message } : null;
  call.wasUnknown ||= !isRefusal;
  call.inFlightUntil = call.wasUnknown ? inFlightUntil : now;
  call.absentLookups = 0;
  call.tries = 0;
  if (call.wasUnknown) lookupLater(policy, call, now);
  else call.dueAt = now;
  return call.wasUnknown ? `${code}: ${message}` : null;
}

/** The next look, and one as soon as nothing can be under way any more. */
export function lookupLater(policy: CheckoutPolicy, call: PendingCall, now: Instant): void {
  const delay = lookupDelay(policy, call.tries);
  const untilQuiet = call.inFlightUntil - now;
  call.dueAt = plus(now, untilQuiet > 0 ? Math.min(delay, untilQuiet) : delay);
  call.tries += 1;
}

/** When a call that was proved to have had no effect is made again: the first time at once, then ever less often. */
export function repeatAt(policy: CheckoutPolicy, call: PendingCall, now: Instant): Instant {
  const repeats = call.repeats ?? 0;
  call.repeats = repeats + 1;
  return repeats === 0 ? now : plus(now, lookupDelay(policy, Math.min(repeats + 1, SLOWEST_REPEAT)));
}

/** Someone waits for the end: look now, and close together again. */
export function hurry(call: PendingCall, now: Instant): void {
  call.dueAt = Math.min(call.dueAt, now);
  call.tries = 0;
}

/**
 * @returns whether this look, which showed no effect, proves that there was none and that none will come. Where earlier
 * looks were not answered it must be confirmed, and soon: pauses grew for a provider that was silent, and is no more.
 */
export function provesAbsence(call: PendingCall, retrievedAt: Instant): boolean {
  call.absentLookups += 1;
  if (call.refusal !== null && !call.wasUnknown) return true;
  if (retrievedAt < call.inFlightUntil) return false;
  if (call.absentLookups >= ABSENCES) return true;
  call.tries = CONFIRMING;
  return false;
}
