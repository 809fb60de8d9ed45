import { instant, plus, type Instant } from '@tillflow/domain';
import type { CheckoutPolicy } from '../policy.js';
import type { PendingCall } from '../../shared/unknown-outcome.js';
import type { Due } from './schedule.js';
import { currentAttempt } from './attempts.js';
import type { ModelState } from './state.js';

/** Shown to operators only while it lasts. */
export type LastingCode = 'outcome_unknown' | 'expire_refused' | 'worker_late' | 'provider_unreachable';

type Call = Readonly<PendingCall> & { readonly stage: string };

/** What has lasted for too long, for people; null for what has not. It never makes a checkout fail. */
export function lastingAttention(
  state: Readonly<ModelState>,
  { attentionAfterMs }: CheckoutPolicy,
  now: Instant,
): Readonly<Record<LastingCode, string | null>> {
  const isLong = (since: number | null): boolean => since !== null && now - since >= attentionAfterMs;
  const { creation, refunding, charges, silentSince } = state;
  const unknown = (call: Call | null): boolean => call !== null && isUnknown(call) && isLong(call.since);
  const waiting = (call: Call | null): boolean =>
    call !== null && !isUnknown(call) && isLong(call.since) && call.tries > 0;

  const isCharge = waiting(creation.inProgress);
  const call = isCharge ? creation.inProgress : waiting(refunding.inProgress) ? refunding.inProgress : null;
  const what = isCharge ? creation.inProgress?.stage : 'refund';
  const wasLate = call?.wasLate === true;
  const expiring = charges.all.find(({ expiringSince }) => isLong(expiringSince));
  return {
    outcome_unknown: unknown(creation.inProgress)
      ? `it is not known yet whether ${currentAttempt(state.attempts).sourceId ?? 'the source'} was charged`
      : unknown(refunding.inProgress)
        ? `it is not known yet whether refund ${refunding.inProgress?.key ?? ''} was made`
        : null,
    expire_refused:
      expiring === undefined ? null : `the provider does not expire ${expiring.id}: a customer may be confirming`,
    worker_late: wasLate
      ? `the worker came too late to send the request for a ${what}, so nothing was sent: check its clock or its load`
      : null,
    provider_unreachable: isLong(silentSince)
      ? 'the provider does not answer'
      : call === null || wasLate
        ? null
        : `the provider does not accept a ${what} yet`,
  };
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
    since === null ? [] : [{ at: plus(instant(since), attentionAfterMs), why: 'then show it to operators' }],
  );
}

function isUnknown({ wasUnknown, stage }: Call): boolean {
  return wasUnknown || stage === 'unknown';
}
