import { formatMoney, plus, type Instant } from '@tillflow/domain';
import { proxyActivities, proxyLocalActivities, workflowInfo } from '@temporalio/workflow';
import { localOptions, mutatingOptions, readingOptions, toLookup, toOutcome } from '../shared/activity-options.js';
import { clock } from '../shared/clock.js';
import type { LocalCalls } from '../shared/local-call.js';
import { LOCAL_CALL_MS } from '../shared/policy.js';
import type { CreateSourceCall, PaymentActivities } from './activities.js';
import type { ProviderCalls } from './execute-step.js';

const regular = proxyActivities<PaymentActivities>({
  scheduleToCloseTimeout: '1 minute',
  retry: { maximumAttempts: 1 },
});
const local = proxyLocalActivities<PaymentActivities>({ scheduleToCloseTimeout: LOCAL_CALL_MS });

/** A local call that took this long, in milliseconds, holds up the messages of its checkout. */
const SLOW_MS = 2_000;
/** After a slow local call, the checkout makes regular calls for this long, in milliseconds. */
const REGULAR_FOR_MS = 60_000;

const summaryOf = {
  createSource: (call: CreateSourceCall) => `Create a source of ${formatMoney(call)}`,
  retrieveCharge: (chargeId: string) => `Retrieve ${chargeId}`,
};

/**
 * The worker's activities, each with the summary that the Temporal UI shows. Temporal stores each call before it is
 * made.
 */
export const regularCalls: ProviderCalls = {
  createSource: (call) =>
    toOutcome(regular.createSource.executeWithOptions(mutatingOptions(call, summaryOf.createSource(call)), [call])),
  createCharge: (call) => {
    const options = mutatingOptions(call, `Charge ${formatMoney(call)} on ${call.sourceId}`);
    return toOutcome(regular.createCharge.executeWithOptions(options, [call]));
  },
  expireCharge: (call) => {
    const options = mutatingOptions(call, `Expire ${call.chargeId}`);
    return toOutcome(regular.expireCharge.executeWithOptions(options, [call]));
  },
  createRefund: (call) => {
    const what = `${call.asVoid ? 'Void' : 'Refund'} ${formatMoney(call)} of ${call.chargeId}`;
    return toOutcome(regular.createRefund.executeWithOptions(mutatingOptions(call, what), [call]));
  },
  retrieveCharge: (call) =>
    toLookup(
      regular.retrieveCharge.executeWithOptions(readingOptions(summaryOf.retrieveCharge(call.chargeId)), [call]),
    ),
  findCharges: (call) => {
    const options = readingOptions(`Search charges of ${call.sourceId ?? call.checkoutId}`);
    return toLookup(regular.findCharges.executeWithOptions(options, [call]));
  },
};

/**
 * The same, with the two calls of every payment that move no money as local activities: each saves five events. A local
 * activity runs again when its workflow task is lost, for example with its worker. So the provider can get two sources
 * for one attempt. That is harmless: a source charges nothing, and only the source that the workflow records is
 * charged. Calls that move money are never local.
 *
 * A workflow task that waits for a local activity accepts no message. So a local call ends after {@link LOCAL_CALL_MS},
 * and continues as a regular one. A task makes at most one, and while the provider is slow, all calls are regular. For
 * the same reason, use these calls only while a payment is awaited: a workflow that closes in such a task would leave
 * an update unanswered.
 */
export function localCalls(localCall: LocalCalls): ProviderCalls {
  let regularUntil = 0;
  /** How long the history was when the latest local call ended. It grows with each workflow task. */
  let lastLength = 0;
  const isRegular = (now: Instant): boolean => now < regularUntil || workflowInfo().historyLength === lastLength;
  /** Makes a local call. @returns its result, whether it was slow, and how long it took in milliseconds */
  const locally = async <T>(call: () => Promise<T>) => {
    const startedAt = clock();
    const result = await localCall.make(call);
    // A message may have begun another task meanwhile.
    lastLength = workflowInfo().historyLength;
    const tookMs = clock() - startedAt;
    const isSlow = tookMs >= SLOW_MS;
    if (isSlow) regularUntil = plus(clock(), REGULAR_FOR_MS);
    return { result, isSlow, tookMs };
  };
  return {
    ...regularCalls,
    createSource: async (call) => {
      if (isRegular(clock())) return regularCalls.createSource(call);
      const options = localOptions(summaryOf.createSource(call));
      const { result, isSlow, tookMs } = await locally(() =>
        toOutcome(local.createSource.executeWithOptions(options, [call])),
      );
      return isSlow && result.kind === 'unknown'
        ? regularCalls.createSource({ ...call, sendBy: call.sendBy + tookMs })
        : result;
    },
    retrieveCharge: async (call) => {
      if (isRegular(clock())) return regularCalls.retrieveCharge(call);
      const options = localOptions(summaryOf.retrieveCharge(call.chargeId));
      const { result, isSlow } = await locally(() =>
        toLookup(local.retrieveCharge.executeWithOptions(options, [call])),
      );
      return isSlow && 'unseen' in result ? regularCalls.retrieveCharge({ ...call, isSecondTry: true }) : result;
    },
  };
}
