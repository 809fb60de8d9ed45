import { defaultGrpcRetryOptions, makeGrpcRetryInterceptor, type ConnectionOptions } from '@temporalio/client';

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
  #ended = false;
  /** Epoch milliseconds. */
  #lastPauseEnds = 0;

  constructor() {
    const { delayFunction, retryableDecider } = defaultGrpcRetryOptions();
    this.interceptors = [
      makeGrpcRetryInterceptor({
        retryableDecider: (attempt, status) => !this.#ended && retryableDecider(attempt, status),
        delayFunction: (attempt, status) => {
          const pauseMs = Math.min(delayFunction(attempt, status), MAX_PAUSE_MS);
          this.#lastPauseEnds = Math.max(this.#lastPauseEnds, Date.now() + pauseMs);
          return pauseMs;
        },
      }),
    ];
  }

  /** From now on a call that fails has failed. Answers when no pause is left, at most a second later. */
  async end(): Promise<void> {
    this.#ended = true;
    const left = this.#lastPauseEnds - Date.now();
    if (left >= 0) await new Promise((resolve) => setTimeout(resolve, left + SLACK_MS));
  }
}
