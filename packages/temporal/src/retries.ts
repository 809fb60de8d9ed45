import { defaultGrpcRetryOptions, makeGrpcRetryInterceptor, type ConnectionOptions } from '@temporalio/client';
import { watchSendings } from './sendings.js';

/** The longest pause before a call is tried again, in milliseconds: as long as a lost connection takes to come back. */
const MAX_PAUSE_MS = 1_000;

/** A busy process starts the library's pause a little after it was counted. */
const SLACK_MS = 200;

type Interceptors = NonNullable<ConnectionOptions['interceptors']>;

/**
 * The library's retries, which can be ended: a retry whose pause outlives its connection throws where nobody can catch
 * it, and takes the process along.
 */
export class Retries {
  readonly interceptors: Interceptors;
  /** What the last try that failed met, such as a refused connection; null before the first. */
  lastFailure: string | null = null;
  #ended = false;
  /** Epoch milliseconds. */
  #lastPauseEnds = 0;

  constructor() {
    const { delayFunction, retryableDecider } = defaultGrpcRetryOptions();
    this.interceptors = [
      (options, nextCall) => {
        // A try after the caller's time would do what nobody waits for.
        const endsAt = options.deadline === undefined ? Number.POSITIVE_INFINITY : Number(options.deadline);
        let pauseMs = 0;
        const repeat = makeGrpcRetryInterceptor({
          retryableDecider: (attempt, status) => {
            this.lastFailure = status.details;
            pauseMs = Math.min(delayFunction(attempt, status), MAX_PAUSE_MS);
            return !this.#ended && retryableDecider(attempt, status) && Date.now() + pauseMs < endsAt;
          },
          delayFunction: () => {
            this.#lastPauseEnds = Math.max(this.#lastPauseEnds, Date.now() + pauseMs);
            return pauseMs;
          },
        });
        return repeat(options, nextCall);
      },
      watchSendings,
    ];
  }

  /** From now on a call that fails has failed. Answers when no pause is left, at most a second later. */
  async end(): Promise<void> {
    this.#ended = true;
    const left = this.#lastPauseEnds - Date.now();
    if (left >= 0) await new Promise((resolve) => setTimeout(resolve, left + SLACK_MS));
  }
}
