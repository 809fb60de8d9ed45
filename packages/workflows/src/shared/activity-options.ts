import {
  ActivityFailure,
  ApplicationFailure,
  TemporalFailure,
  TimeoutFailure,
  type ActivityOptions,
  type LocalActivityOptions,
} from '@temporalio/workflow';
import type { Lookup } from './lookup.js';
import type { Outcome } from './outcome.js';
import { LOCAL_CALL_MS, type SendWindow } from './policy.js';

/** Beyond its own deadline, an activity needs this time to report its outcome. */
const REPORT_MARGIN_MS = 5_000;

/** A call that changes something at the provider is tried once. */
export function mutatingOptions({ sendBy, deadlineMs, heartbeatMs }: SendWindow, summary: string): ActivityOptions {
  return {
    summary,
    scheduleToCloseTimeout: Math.max(sendBy - Date.now(), 0) + deadlineMs + REPORT_MARGIN_MS,
    heartbeatTimeout: heartbeatMs,
    retry: { maximumAttempts: 1 },
  };
}

/** A call that only reads may be tried again. */
export function readingOptions(summary: string): ActivityOptions {
  return {
    summary,
    startToCloseTimeout: '20 seconds',
    scheduleToCloseTimeout: '45 seconds',
    retry: { initialInterval: '500 milliseconds', maximumInterval: '5 seconds', maximumAttempts: 3 },
  };
}

/**
 * A call that can run twice without harm, made within the workflow task. Tried once: a workflow task that waits for a
 * local activity accepts no message.
 */
export function localOptions(summary: string): LocalActivityOptions {
  return { summary, scheduleToCloseTimeout: LOCAL_CALL_MS, retry: { maximumAttempts: 1 } };
}

/** A mutating activity that failed may or may not have taken effect. Never rejects for an activity's failure. */
export function toOutcome<T>(call: Promise<T>): Promise<T | Extract<Outcome<never>, { kind: 'unknown' }>> {
  return call.catch((error: unknown) => {
    const { code, message } = causeOf(error);
    return { kind: 'unknown', code, message };
  });
}

/** Converts a read to its result, or to the reason why it has none. Never rejects for an activity's failure. */
export function toLookup<T>(read: Promise<T>): Promise<Lookup<T>> {
  return read.then(
    (seen) => ({ seen }),
    (error: unknown) => {
      const { code, message, status } = causeOf(error);
      return { unseen: message, code, status };
    },
  );
}

/** A local activity fails with its cause, a regular one with a failure that contains the cause. */
function causeOf(failure: unknown): { code: string; message: string; status: number | null } {
  const cause = failure instanceof ActivityFailure ? failure.cause : failure;
  if (cause instanceof TimeoutFailure) {
    return { code: 'worker_silent', message: `no answer (${cause.timeoutType})`, status: null };
  }
  if (cause instanceof ApplicationFailure) {
    const [detail] = cause.details ?? [];
    const { status = null } = (detail ?? {}) as { readonly status?: number | null };
    return { code: cause.type ?? 'activity_failed', message: cause.message, status };
  }
  // A defect in this code is not the failure of a call.
  if (!(failure instanceof TemporalFailure)) throw failure;
  return { code: 'activity_failed', message: failure.message, status: null };
}
