import { activityInfo, Context, heartbeat } from '@temporalio/activity';
import type { RequestOptions } from '@tillflow/payments-client';
import { LOCAL_CALL_MS, type Outcome, type SendWindow } from '@tillflow/workflows';
import { toOutcome, toReadFailure } from './failures.js';

/** After every record that can exist. ISO 8601 UTC. */
export const END_OF_TIME = '9999-01-01T00:00:00.000Z';

/** The time of a local activity in which it reports its result, in milliseconds. */
const REPORT_MS = 500;

/** The times of a read. All calls of it end within the activity's own timeout: 5 s for a local activity, else 20 s. */
const READ_LIMITS = {
  local: { timeoutMs: 2_000, deadlineMs: LOCAL_CALL_MS - REPORT_MS },
  /** A read that hangs is repeated soon. */
  first: { timeoutMs: 3_000, deadlineMs: 15_000 },
  /** The provider may be slow. */
  again: { timeoutMs: 15_000, deadlineMs: 15_000 },
} as const;

/** A worker that heartbeats may miss two heartbeats before Temporal considers it dead. */
const HEARTBEATS_PER_TIMEOUT = 3;
const DEFAULT_HEARTBEAT_TIMEOUT_MS = 10_000;

/** The options of a further call of the same activity: it has only the time that is left. */
export type Rest<O extends RequestOptions> = () => O;

/** In less time, a call cannot end. Milliseconds. */
const LEAST_DEADLINE_MS = 1;

export function restOf<O extends RequestOptions & { readonly deadlineMs: number }>(options: O): Rest<O> {
  const endsAt = performance.now() + options.deadlineMs;
  return () => ({ ...options, deadlineMs: Math.max(LEAST_DEADLINE_MS, Math.round(endsAt - performance.now())) });
}

/** Makes a call that may have an effect: once, within its send window and deadline. Its failure is an outcome. */
export function mutate<T>(window: SendWindow, call: (options: RequestOptions) => Promise<T>): Promise<Outcome<T>> {
  return attempt(window, call, toOutcome);
}

/** As {@link mutate}. @param translate turns the failure of the call into its outcome */
export async function attempt<T, R>(
  { sendBy, ...window }: SendWindow,
  call: (options: RequestOptions, rest: Rest<RequestOptions>) => Promise<T>,
  translate: (error: unknown) => R,
): Promise<Extract<Outcome<T>, { kind: 'done' }> | R> {
  const { cancellationSignal: signal, info } = Context.current();
  const deadlineMs = info.isLocal ? Math.min(window.deadlineMs, READ_LIMITS.local.deadlineMs) : window.deadlineMs;
  return withHeartbeat(async () => {
    try {
      const options = { sendBy, deadlineMs, signal };
      return { kind: 'done', value: await call(options, restOf(options)) };
    } catch (error) {
      return translate(error);
    }
  });
}

/** The limits of a read. Milliseconds. */
export type ReadOptions = Required<Pick<RequestOptions, 'timeoutMs' | 'deadlineMs' | 'signal'>>;

/**
 * Makes a call without effect. Temporal may retry it. @param isSecondTry an earlier activity found the provider slow
 */
export async function read<T>(
  call: (options: ReadOptions, rest: Rest<ReadOptions>) => Promise<T>,
  isSecondTry = false,
): Promise<T> {
  const { cancellationSignal: signal, info } = Context.current();
  const limits = info.isLocal ? 'local' : isSecondTry || info.attempt > 1 ? 'again' : 'first';
  try {
    const options = { ...READ_LIMITS[limits], signal };
    return await call(options, restOf(options));
  } catch (error) {
    throw toReadFailure(error);
  }
}

/**
 * Heartbeats while `work` runs, so that Temporal notices a dead or frozen worker well before the activity's own
 * timeout.
 * @param progress a worker that takes the activity over gets the newest value
 */
export async function withHeartbeat<T>(work: () => Promise<T>, progress: () => unknown = () => undefined): Promise<T> {
  const { heartbeatTimeoutMs = DEFAULT_HEARTBEAT_TIMEOUT_MS, isLocal } = activityInfo();
  // Temporal takes no heartbeat of a local activity: it runs as long as its workflow task.
  if (isLocal) return work();
  const timer = setInterval(() => heartbeat(progress()), heartbeatTimeoutMs / HEARTBEATS_PER_TIMEOUT);
  try {
    return await work();
  } finally {
    clearInterval(timer);
  }
}
