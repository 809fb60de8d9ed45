import { setTimeout as wait } from 'node:timers/promises';

/** Time, as a parameter, so that tests need not wait. */
export interface Clock {
  /** Wall clock, in epoch milliseconds. */
  now(): number;
  /** Milliseconds that never go back and count while the process is stopped. */
  monotonic(): number;
  /** Resolves after `ms` milliseconds, or at once when `signal` aborts. Never rejects. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
}

/** Node turns a longer timer into one of 1 ms. */
export const MAX_TIMER_MS = 2 ** 31 - 1;

export const systemClock: Clock = {
  now: () => Date.now(),
  monotonic: () => performance.now(),
  sleep: (ms, signal) => wait(Math.min(ms, MAX_TIMER_MS), undefined, { signal }).catch(() => undefined),
};

/** Which limit has passed: `timeoutMs` of one attempt, `deadlineMs` of the call, or `sendBy`. Each is an error code. */
export type DeadlineKind = 'timeout' | 'deadline_exceeded' | 'send_by_passed';

/** By when a call must be answered and sent. */
export interface CallDeadlines {
  /** End of the call, in monotonic milliseconds. */
  readonly deadline: number;
  /** The last instant at which a request may leave, in epoch milliseconds; infinity when there is none. */
  readonly sendBy: number;
}

/** The limit of a call that will have passed `aheadMs` milliseconds from now. NaN counts as passed. */
export function passedDeadline(
  { deadline, sendBy }: CallDeadlines,
  clock: Clock,
  aheadMs = 0,
): Exclude<DeadlineKind, 'timeout'> | undefined {
  if (!(clock.monotonic() + aheadMs < deadline)) return 'deadline_exceeded';
  if (sendBy !== Number.POSITIVE_INFINITY && !(clock.now() + aheadMs < sendBy)) return 'send_by_passed';
  return undefined;
}
