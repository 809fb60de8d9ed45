import { plus, type Instant } from '@tillflow/domain';
import type { Outcome } from './outcome.js';
import { lookupDelay, type CallPolicy } from './policy.js';

/**
 * A mutating call that is not settled. Instants are in milliseconds since 1970 (UTC). Plain JSON: it survives
 * continue-as-new.
 */
export type PendingCall = {
  /** When the next call or lookup is due. */
  dueAt: number;
  tries: number;
  since: number;
  /** True after an unknown outcome: from then on, a refusal alone does not prove that there was no effect. */
  wasUnknown: boolean;
  /** The last call can take no effect after this. */
  inFlightUntil: number;
  /** Lookups in a row that showed no effect. */
  absentLookups: number;
  /** The provider's refusal, until a lookup confirms it. */
  refusal: { code: string; message: string } | null;
  /** The last call was not sent, because the worker came to it too late. Absent when it was sent. */
  wasLate?: boolean;
  /** How often the call was repeated after a lookup proved that it had no effect. Absent until then. */
  repeats?: number;
};

/** This many lookups must show no effect before an unknown outcome counts as none. */
const ABSENCES = 2;
/** The index of the lookup delay before the lookup that confirms the first one: 5 s by default. */
const CONFIRMING_DELAY = 1;
/** Delays between calls that provably had no effect stop growing at this index: 5 min by default. */
const SLOWEST_RETRY = 3;
/** Delays between calls whose outcome was unknown each time stop growing at this index: 1 h by default. */
const SLOWEST_REPEAT = 4;

const MISMATCH = { code: 'integrity_mismatch', message: 'the reply did not match the request' } as const;

/** The client's code for a call that the worker came to too late. Nothing was sent. */
export const SENT_TOO_LATE = 'send_by_passed';

export function startCall(now: Instant): PendingCall {
  return { dueAt: now, tries: 0, since: now, wasUnknown: false, inFlightUntil: 0, absentLookups: 0, refusal: null };
}

/**
 * The call provably had no effect, so the same call is made again, a little later each time.
 * @param code why it had none; absent when no call was made.
 */
export function retryLater(policy: CallPolicy, call: PendingCall, now: Instant, code?: string): void {
  if (code === SENT_TOO_LATE) call.wasLate = true;
  else if (code !== undefined) delete call.wasLate;
  call.dueAt = plus(now, lookupDelay(policy, Math.min(call.tries, SLOWEST_RETRY)));
  call.tries += 1;
}

/**
 * The call may have taken effect, so only lookups decide from now on. One lookup is enough to confirm a refusal. But a
 * refusal after an unknown outcome may be the refusal of a second try, so it proves nothing. A reply that does not
 * match is no answer.
 * @returns why the outcome is unknown, for people; null for a refusal that only has to be confirmed.
 */
export function startLookup(
  policy: CallPolicy,
  call: PendingCall,
  now: Instant,
  outcome: Outcome<unknown>,
  inFlightUntil: Instant,
): string | null {
  const { code, message } = outcome.kind === 'done' ? MISMATCH : outcome;
  const isRefusal = outcome.kind === 'rejected' && !outcome.retryable;
  // A repeated call does not change `since`, because the attention depends on how long the outcome has been unknown.
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

/** Schedules the next lookup, at the latest when nothing can be in flight any more. */
export function lookupLater(policy: CallPolicy, call: PendingCall, now: Instant): void {
  const delay = lookupDelay(policy, call.tries);
  const inFlightFor = call.inFlightUntil - now;
  call.dueAt = plus(now, inFlightFor > 0 ? Math.min(delay, inFlightFor) : delay);
  call.tries += 1;
}

/** A caller or an operator waits for the outcome: the next lookup is due now, and the delays start again. */
export function lookupNow(call: PendingCall, now: Instant): void {
  call.dueAt = Math.min(call.dueAt, now);
  call.tries = 0;
}

/** When a call that provably had no effect is repeated: the first time at once, then a little later each time. */
export function repeatAt(policy: CallPolicy, call: PendingCall, now: Instant): Instant {
  const repeats = call.repeats ?? 0;
  call.repeats = repeats + 1;
  return repeats === 0 ? now : plus(now, lookupDelay(policy, Math.min(repeats + 1, SLOWEST_REPEAT)));
}

/**
 * A lookup showed no effect.
 * @returns whether this lookup proves that the call had no effect and will have none. If it does not, and no call can
 *   be in flight any more, the next lookup comes soon: delays grew while the provider was silent, and it answers again.
 */
export function provesAbsence(call: PendingCall, lookedUpAt: Instant): boolean {
  call.absentLookups += 1;
  if (call.refusal !== null && !call.wasUnknown) return true;
  if (lookedUpAt < call.inFlightUntil) return false;
  if (call.absentLookups >= ABSENCES) return true;
  call.tries = CONFIRMING_DELAY;
  return false;
}
