import { activityInfo, Context, heartbeat } from '@temporalio/activity';
import type { RequestOptions } from '@tillflow/payments-client';
import type { Outcome, SendWindow } from '@tillflow/workflows';
import { toOutcome, toReadFailure } from './failures.js';

/** A read that hangs is soon asked again; all of its tries end within the activity's own 20 s. */
const READ_LIMITS = { timeoutMs: 3_000, deadlineMs: 15_000 } as const;

/** A call that may have an effect: bounded in time, never begun too late, tried once, never thrown as a failure. */
export function mutate<T>(window: SendWindow, call: (options: RequestOptions) => Promise<T>): Promise<Outcome<T>> {
  return attempt(window, call, toOutcome);
}

/** As {@link mutate}. @param translate what a failure of the call means */
export async function attempt<T, R>(
  { sendBy, deadlineMs }: SendWindow,
  call: (options: RequestOptions) => Promise<T>,
  translate: (error: unknown) => R,
): Promise<Extract<Outcome<T>, { kind: 'done' }> | R> {
  const { cancellationSignal: signal } = Context.current();
  return beating(async () => {
    try {
      return { kind: 'done', value: await call({ sendBy, deadlineMs, signal }) };
    } catch (error) {
      return translate(error);
    }
  });
}

/** A call without effect: Temporal may try it again. */
export async function read<T>(call: (options: RequestOptions) => Promise<T>): Promise<T> {
  try {
    return await call({ ...READ_LIMITS, signal: Context.current().cancellationSignal });
  } catch (error) {
    throw toReadFailure(error);
  }
}

/** A worker that is dead or frozen stops beating, and is known to be so well before the call's own deadline. */
async function beating<T>(work: () => Promise<T>): Promise<T> {
  const { heartbeatTimeoutMs } = activityInfo();
  if (heartbeatTimeoutMs === undefined) return work();
  const timer = setInterval(heartbeat, heartbeatTimeoutMs / 3);
  try {
    return await work();
  } finally {
    clearInterval(timer);
  }
}
