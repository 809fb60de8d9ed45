import { declareWithoutEffect } from '@tillflow/temporal';

/** The process had no place for a call in the time that its caller has. It was not sent. */
export class OverloadedError extends Error {
  override readonly name = 'OverloadedError';
}

/** The caller's connection closed before the call was sent. */
export class CallerGoneError extends Error {
  override readonly name = 'CallerGoneError';
}

export type Patience = {
  /** The longest useful wait for a place, the time that the call then takes included, in milliseconds. */
  readonly withinMs: number;
  /** Aborted when the caller no longer waits. */
  readonly gone?: AbortSignal | undefined;
};

type Waiting = {
  /** In milliseconds of `performance.now()`. */
  readonly answerBy: number;
  readonly admit: () => void;
  readonly refuse: () => void;
};

/** The weight of the latest call in the moving average of how long calls take. */
const WEIGHT = 0.1;

/**
 * Lets only so many calls be under way at a time. Whoever cannot be served in time is refused at once, and whoever
 * leaves while waiting is forgotten: neither sends anything.
 */
export class Gate {
  readonly #queue = new Set<Waiting>();
  #busy = 0;
  #refused = 0;
  /** How long a call keeps its place, in milliseconds, the latest calls counting most. */
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
   * @param keep how much longer a call that failed keeps its place: until then it still is work for the other side
   * @throws {OverloadedError} {CallerGoneError} when it was not sent; otherwise what `work` throws.
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

  /** The place of the call that left goes to the one that has waited longest and still has the time for it. */
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
    return declareWithoutEffect(new OverloadedError('More is asked of Temporal than it can answer in time'));
  }
}

function callerGone(): CallerGoneError {
  return declareWithoutEffect(new CallerGoneError('The caller is gone'));
}
