import { declareWithoutEffect } from '@tillflow/temporal';

/** No place for the call became free in time. It was not sent. */
export class OverloadedError extends Error {
  override readonly name = 'OverloadedError';
}

/** The caller's connection closed before the call was sent. */
export class CallerGoneError extends Error {
  override readonly name = 'CallerGoneError';
}

export type Patience = {
  /** The time for the wait and the call together, in milliseconds. */
  readonly withinMs: number;
  /** Aborted when the caller disconnects. */
  readonly gone?: AbortSignal | undefined;
};

type Waiting = {
  /** In milliseconds of `performance.now()`. */
  readonly answerBy: number;
  readonly admit: () => void;
  readonly refuse: () => void;
};

/** The weight of the latest call in the moving average. */
const WEIGHT = 0.1;

/**
 * Limits the calls in progress. A call that cannot run in time is refused at once, and a call whose caller disconnects
 * while it waits is dropped. Neither is sent.
 */
export class Gate {
  readonly #queue = new Set<Waiting>();
  #busy = 0;
  #refused = 0;
  /** The moving average of how long a call takes, in milliseconds. */
  #typicalMs = 0;

  constructor(private readonly places: number) {}

  get busy(): number {
    return this.#busy;
  }

  /** Since the process started. */
  get refused(): number {
    return this.#refused;
  }

  get waiting(): number {
    return this.#queue.size;
  }

  /**
   * @param keep how long a failed call keeps its place: until then Temporal may still work on it
   * @throws {OverloadedError} {CallerGoneError} when the call was not sent; otherwise the error of `work`.
   */
  async pass<T>(patience: Patience, work: () => Promise<T>, keep?: (error: unknown) => Promise<void>): Promise<T> {
    if (patience.gone?.aborted === true) throw callerGone();
    if (this.#busy < this.places && this.#queue.size === 0) this.#busy += 1;
    else await this.#place(patience);
    const startedAt = performance.now();
    const leave = (): void => {
      this.#typicalMs += (performance.now() - startedAt - this.#typicalMs) * WEIGHT;
      this.#leave();
    };
    try {
      const answer = await work();
      leave();
      return answer;
    } catch (error) {
      if (keep === undefined) leave();
      else void keep(error).finally(leave);
      throw error;
    }
  }

  /** Gives the free place to the call that has waited longest and still has enough time. */
  #leave(): void {
    for (const next of this.#queue) {
      if (next.answerBy - performance.now() >= this.#typicalMs) {
        next.admit();
        return;
      }
      next.refuse();
    }
    this.#busy -= 1;
  }

  async #place({ withinMs, gone }: Patience): Promise<void> {
    const longestWaitMs = withinMs - this.#typicalMs;
    const expectedWaitMs = ((this.#queue.size + 1) * this.#typicalMs) / this.places;
    if (expectedWaitMs >= longestWaitMs) throw this.#overloaded();
    return new Promise((resolve, reject) => {
      const settle = (end: () => void): void => {
        this.#queue.delete(waiting);
        clearTimeout(timer);
        gone?.removeEventListener('abort', leave);
        end();
      };
      const refuse = (): void => settle(() => reject(this.#overloaded()));
      const leave = (): void => settle(() => reject(callerGone()));
      const waiting: Waiting = { answerBy: performance.now() + withinMs, admit: () => settle(resolve), refuse };
      const timer = setTimeout(refuse, longestWaitMs);
      gone?.addEventListener('abort', leave);
      this.#queue.add(waiting);
    });
  }

  #overloaded(): OverloadedError {
    this.#refused += 1;
    return declareWithoutEffect(new OverloadedError('Temporal is too busy to answer in time'));
  }
}

function callerGone(): CallerGoneError {
  return declareWithoutEffect(new CallerGoneError('The caller is gone'));
}
