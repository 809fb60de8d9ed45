import { AsyncResource } from 'node:async_hooks';
import { setTimeout as sleep } from 'node:timers/promises';
import { defaultGrpcRetryOptions, makeGrpcRetryInterceptor, type ConnectionOptions } from '@temporalio/client';
import { recordTransmission } from './bounded-call.js';

const FIRST_PAUSE_MS = 1_000;
const LONGEST_PAUSE_MS = 30_000;

/** How {@link retryUntilDone} retries. */
export type RetryOptions = {
  /** Ends the retries: the last failure is thrown, or the signal's reason when no try was made. */
  readonly signal: AbortSignal;
  readonly isRetryable: (error: unknown) => boolean;
  /** A try failed, and the next one begins after `pauseMs` milliseconds. */
  readonly failed: (error: unknown, pauseMs: number) => void;
};

/**
 * The pause after failed try number `tries` (from 1), in milliseconds: 1 s, 2 s, … 30 s, less up to a half at random.
 */
export function pauseAfter(tries: number, random: () => number = Math.random): number {
  const longest = Math.min(FIRST_PAUSE_MS * 2 ** (tries - 1), LONGEST_PAUSE_MS);
  return Math.round(longest * (1 - random() / 2));
}

/**
 * Repeats `work` until it succeeds.
 * @throws the failure that is not retryable, or the last failure when the signal ends the retries.
 */
export async function retryUntilDone<T>(
  work: () => Promise<T>,
  { signal, isRetryable, failed }: RetryOptions,
): Promise<T> {
  for (let tries = 1; ; tries += 1) {
    signal.throwIfAborted();
    try {
      return await work();
    } catch (error) {
      if (signal.aborted || !isRetryable(error)) throw error;
      const pauseMs = pauseAfter(tries);
      failed(error, pauseMs);
      await sleep(pauseMs, undefined, { signal }).catch(() => undefined);
      if (signal.aborted) throw error;
    }
  }
}

/** The longest pause between two tries of one call, in milliseconds: a lost connection takes as long to come back. */
const LONGEST_CALL_PAUSE_MS = 1_000;

/** How often {@link CallRetries.end} looks, and how long a last try has to fail. Milliseconds. */
const STEP_MS = 100;

/**
 * The library's retries of a single call, with a way to end them. A retry whose pause outlives its connection throws
 * where no caller can catch it, and ends the process.
 */
export class CallRetries {
  readonly interceptors: NonNullable<ConnectionOptions['interceptors']>;
  /** The failure of the last failed try, such as a refused connection; null before the first. */
  lastFailure: string | null = null;
  #ended = false;
  /** Calls that are in a pause before their next try. */
  #pausing = 0;

  constructor() {
    const { delayFunction, retryableDecider } = defaultGrpcRetryOptions();
    this.interceptors = [
      (options, nextCall) => {
        // After the deadline no caller waits for the result of another try. The clock can be set back until then.
        const leftMs =
          options.deadline === undefined ? Number.POSITIVE_INFINITY : Number(options.deadline) - Date.now();
        const endsAt = performance.now() + leftMs;
        let pauseMs = 0;
        const repeat = makeGrpcRetryInterceptor({
          retryableDecider: (attempt, status) => {
            this.lastFailure = status.details;
            pauseMs = Math.min(delayFunction(attempt, status), LONGEST_CALL_PAUSE_MS);
            return !this.#ended && retryableDecider(attempt, status) && performance.now() + pauseMs < endsAt;
          },
          delayFunction: () => {
            this.#pausing += 1;
            return pauseMs;
          },
        });
        // A connection can be that of another call, and a retry begins where the connection breaks.
        const next = AsyncResource.bind(nextCall);
        let tries = 0;
        return repeat(options, (call) => {
          if (tries > 0) this.#pausing -= 1;
          tries += 1;
          return next(call);
        });
      },
      recordTransmission,
    ];
  }

  /** From now on, a failed call is not retried. Resolves when each call in a pause has made its last try. */
  async end(): Promise<void> {
    this.#ended = true;
    if (this.#pausing === 0) return;
    while (this.#pausing > 0) await sleep(STEP_MS);
    await sleep(STEP_MS);
  }
}
