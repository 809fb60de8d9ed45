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
