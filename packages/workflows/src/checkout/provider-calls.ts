import { formatMoney } from '@tillflow/domain';
import { ActivityFailure, ApplicationFailure, proxyActivities, TimeoutFailure } from '@temporalio/workflow';
import type { PaymentActivities, SendWindow } from './activities.js';
import type { Lookup } from '../shared/lookup.js';
import type { Outcome } from '../shared/outcome.js';
import type { ProviderCalls } from './execute-step.js';

/** A dead worker is known after this long. */
const HEARTBEAT_TIMEOUT_MS = 6_000;
/** What a call may need beyond its own deadline to report back. */
const REPORT_MARGIN_MS = 5_000;

const provider = proxyActivities<PaymentActivities>({
  scheduleToCloseTimeout: '1 minute',
  retry: { maximumAttempts: 1 },
});

type Options = Parameters<typeof provider.createSource.executeWithOptions>[0];

/** The worker's activities. Mutating ones are tried once; reads may be tried again. */
export const activityCalls: ProviderCalls = {
  createSource: (call) =>
    settled(
      provider.createSource.executeWithOptions(mutating(call, `Create a source of ${formatMoney(call)}`), [call]),
    ),

  createCharge: (call) =>
    settled(
      provider.createCharge.executeWithOptions(mutating(call, `Charge ${formatMoney(call)} on ${call.sourceId}`), [
        call,
      ]),
    ),

  expireCharge: (call) =>
    settled(provider.expireCharge.executeWithOptions(mutating(call, `Expire ${call.chargeId}`), [call])),

  createRefund: (call) => {
    const what = `${call.asVoid ? 'Void' : 'Refund'} ${formatMoney(call)} of ${call.chargeId}`;
    return settled(provider.createRefund.executeWithOptions(mutating(call, what), [call]));
  },

  retrieveCharge: (chargeId) =>
    looked(provider.retrieveCharge.executeWithOptions(reading(`Look at ${chargeId}`), [{ chargeId }])),

  findCharges: (call) => {
    const where = call.sourceId === null ? call.checkoutId : call.sourceId;
    return looked(provider.findCharges.executeWithOptions(reading(`Look for charges of ${where}`), [call]));
  },
};

export function mutating({ sendBy, deadlineMs }: SendWindow, summary: string): Options {
  return {
    summary,
    scheduleToCloseTimeout: Math.max(sendBy - Date.now(), 0) + deadlineMs + REPORT_MARGIN_MS,
    heartbeatTimeout: HEARTBEAT_TIMEOUT_MS,
    retry: { maximumAttempts: 1 },
  };
}

export function reading(summary: string): Options {
  return {
    summary,
    startToCloseTimeout: '20 seconds',
    scheduleToCloseTimeout: '45 seconds',
    retry: { initialInterval: '500 milliseconds', maximumInterval: '5 seconds', maximumAttempts: 3 },
  };
}

/** An activity that did not answer may or may not have had its effect. */
export function settled<T>(call: Promise<T>): Promise<T | Extract<Outcome<never>, { kind: 'unknown' }>> {
  return call.catch((error: unknown) => {
    const { code, message } = causeOf(error);
    return { kind: 'unknown', code, message };
  });
}

export function looked<T>(read: Promise<T>): Promise<Lookup<T>> {
  return read.then(
    (seen) => ({ seen }),
    (error: unknown) => {
      const { code, message, status } = causeOf(error);
      return { unseen: message, code, status };
    },
  );
}

function causeOf(failure: unknown): { code: string; message: string; status: number | null } {
  if (!(failure instanceof ActivityFailure)) throw failure;
  const { cause } = failure;
  if (cause instanceof TimeoutFailure) {
    return { code: 'worker_silent', message: `no answer (${cause.timeoutType})`, status: null };
  }
  if (cause instanceof ApplicationFailure) {
    const [detail] = cause.details ?? [];
    const { status = null } = (detail ?? {}) as { readonly status?: number | null };
    return { code: cause.type ?? 'activity_failed', message: cause.message, status };
  }
  return { code: 'activity_failed', message: failure.message, status: null };
}
