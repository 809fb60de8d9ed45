import { instant, plus, type Instant } from '@tillflow/domain';
import type { CheckoutPolicy } from '../policy.js';
import type { PendingCall } from '../../shared/unknown-outcome.js';
import { currentAttempt } from './attempts.js';
import type { Due } from './schedule.js';
import type { ModelState } from './state.js';

/** Shown to operators only while it lasts. */
export const LASTING_CODES = ['outcome_unknown', 'expire_refused', 'worker_late', 'provider_unreachable'] as const;
type LastingCode = (typeof LASTING_CODES)[number];

type IsLong = (since: number | null) => boolean;

/**
 * For each code that depends on time: a text for people when the condition has lasted too long, otherwise null. These
 * attentions never make a checkout fail.
 */
export function lastingAttention(
  state: Readonly<ModelState>,
  { attentionAfterMs }: CheckoutPolicy,
  now: Instant,
): Readonly<Record<LastingCode, string | null>> {
  const isLong: IsLong = (since) => since !== null && now - since >= attentionAfterMs;
  const expiring = state.charges.all.find(({ expiringSince }) => isLong(expiringSince));
  const retried = retriedCall(state, isLong);
  const isRefused = retried !== null && !retried.wasLate;
  return {
    outcome_unknown: unknownOutcome(state, isLong),
    expire_refused:
      expiring === undefined ? null : `the provider does not expire ${expiring.id}: a customer may be confirming`,
    worker_late: retried?.wasLate
      ? `the worker came too late to send the request for a ${retried.what}, so nothing was sent: check its clock or its load`
      : null,
    provider_unreachable: isLong(state.silentSince)
      ? 'the provider does not answer'
      : isRefused
        ? `the provider does not accept a ${retried.what} yet`
        : null,
  };
}

function unknownOutcome({ attempts, creation, refunding }: Readonly<ModelState>, isLong: IsLong): string | null {
  const [charge, refund] = [creation.inProgress, refunding.inProgress];
  if (charge !== null && isUnknown(charge) && isLong(charge.since)) {
    return `it is not known yet whether ${currentAttempt(attempts).sourceId ?? 'the source'} was charged`;
  }
  if (refund !== null && isUnknown(refund) && isLong(refund.since)) {
    return `it is not known yet whether refund ${refund.key} was made`;
  }
  return null;
}

/** The call that had no effect and is being tried again. A create of a charge comes before a refund. */
function retriedCall(
  { creation, refunding }: Readonly<ModelState>,
  isLong: IsLong,
): { readonly what: string; readonly wasLate: boolean } | null {
  const [charge, refund] = [creation.inProgress, refunding.inProgress];
  const isRetried = (call: Call): boolean => !isUnknown(call) && isLong(call.since) && call.tries > 0;
  if (charge !== null && isRetried(charge)) return { what: charge.stage, wasLate: charge.wasLate === true };
  if (refund !== null && isRetried(refund)) return { what: 'refund', wasLate: refund.wasLate === true };
  return null;
}

/** When something may have lasted for too long. */
export function attentionDeadlines(state: Readonly<ModelState>, { attentionAfterMs }: CheckoutPolicy): Due[] {
  const { creation, refunding, charges, silentSince } = state;
  const beginnings = [
    creation.inProgress?.since ?? null,
    refunding.inProgress?.since ?? null,
    silentSince,
    ...charges.all.map(({ expiringSince }) => expiringSince),
  ];
  return beginnings.flatMap((since): Due[] =>
    since === null ? [] : [{ at: plus(instant(since), attentionAfterMs), why: 'then show an attention to operators' }],
  );
}

type Call = Readonly<PendingCall> & { readonly stage: string };

function isUnknown({ wasUnknown, stage }: Call): boolean {
  return wasUnknown || stage === 'unknown';
}
