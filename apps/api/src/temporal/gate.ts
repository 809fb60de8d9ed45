import { randomInt } from 'node:crypto';
import { declareWithoutEffect } from '@tillflow/temporal';
import { FairQueue } from './fair-queue.js';

/** No place for the call became free in time. It was not sent. */
export class OverloadedError extends Error {
  override readonly name = 'OverloadedError';

  constructor(
    message: string,
    /** When its turn is near, in seconds: random, so that callers who were refused together do not come back together. */
    readonly retryAfterSeconds: number,
  ) {
    super(message);
  }
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
  /** Who asks: the calls of each caller wait in a line of their own. */
  readonly caller?: string | undefined;
  /** What the call is about. A refused call keeps its place in the line of its caller when it is repeated. */
  readonly about?: string | undefined;
};

/** Frees the place of a call before it is done, once. @param elsewhereMs the part of its time that was not Temporal's */
export type Leave = (elsewhereMs?: number) => void;

/** How long a failed call keeps its place: until then Temporal may still work on it. */
export type Keep = (error: unknown, leave: Leave) => Promise<void>;

type Waiting = {
  /** When the call first came, in milliseconds of `performance.now()`. */
  readonly since: number;
  /** In milliseconds of `performance.now()`. */
  readonly answerBy: number;
  readonly admit: () => void;
  readonly refuse: () => void;
};

/** The weight of the latest call in the moving average. */
const WEIGHT = 0.1;

/**
 * A pause between two calls that leave a full gate is rarely longer than this many usual ones. A longer one means that
 * the calls have become slower.
 */
const LONGEST_PAUSE = 8;

/** When a refused call should be repeated: while its remaining wait is between 90 % and 10 % of the time that it may wait. */
const COMES_AGAIN = { earliest: 0.9, latest: 0.1 };
const LONGEST_RETRY_S = 12;

/** The gate forgets a refused call after this time, or when it has refused so many others since. Milliseconds. */
const REMEMBERED_MS = 60_000;
const MOST_REMEMBERED = 10_000;

/**
 * Limits the calls in progress. Callers get the free places in turns. A call that cannot run in time is refused at
 * once, and a call whose caller disconnects while it waits is dropped. Neither is sent. A refused call that comes again
 * goes before calls that came later, so no caller is refused again and again while others succeed.
 */
export class Gate {
  readonly #queue = new FairQueue<Waiting>();
  readonly #refusedCalls = new Map<string, { readonly since: number; readonly refusedAt: number }>();
  #busy = 0;
  /** When the gate filled up, or a call last left it. In milliseconds of `performance.now()`. */
  #movedAt = 0;
  #refused = 0;
  /** The moving average of how long a call takes, in milliseconds. */
  #typicalMs = 0;

  /** @param draw an integer from `least` to `most` */
  constructor(
    private readonly places: number,
    private readonly draw = (least: number, most: number): number => randomInt(least, most + 1),
  ) {}

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
   * @throws {OverloadedError} {CallerGoneError} when the call was not sent; otherwise the error of `work`.
   */
  async pass<T>(patience: Patience, work: (leave: Leave) => Promise<T>, keep?: Keep): Promise<T> {
    if (patience.gone?.aborted === true) throw callerGone();
    if (this.#busy < this.places) this.#enter();
    else await this.#place(patience);
    this.#refusedCalls.delete(patience.about ?? '');
    const startedAt = performance.now();
    let hasLeft = false;
    const leave: Leave = (elsewhereMs = 0) => {
      if (hasLeft) return;
      hasLeft = true;
      const tookMs = Math.max(performance.now() - startedAt - elsewhereMs, 0);
      this.#typicalMs += (tookMs - this.#typicalMs) * WEIGHT;
      this.#leave();
    };
    try {
      const answer = await work(leave);
      leave();
      return answer;
    } catch (error) {
      if (keep === undefined || hasLeft) leave();
      else void keep(error, leave).finally(() => leave());
      throw error;
    }
  }

  #enter(): void {
    this.#busy += 1;
    this.#movedAt = performance.now();
  }

  /** Gives the free place to the next call that still has enough time. */
  #leave(): void {
    this.#movedAt = performance.now();
    for (let next = this.#queue.take(); next !== undefined; next = this.#queue.take()) {
      if (next.answerBy - performance.now() >= this.#typicalMs) {
        next.admit();
        return;
      }
      next.refuse();
    }
    this.#busy -= 1;
  }

  async #place({ withinMs, gone, caller = '', about }: Patience): Promise<void> {
    const longestWaitMs = withinMs - this.#typicalMs;
    const since = this.#refusedCalls.get(about ?? '')?.since ?? performance.now();
    const overloaded = (): OverloadedError => this.#overloaded(since, longestWaitMs, about);
    if (this.#waitOf(this.#queue.ahead(caller, since)) >= longestWaitMs) throw overloaded();
    return new Promise((resolve, reject) => {
      const settle = (end: () => void): void => {
        this.#queue.remove(caller, waiting);
        clearTimeout(timer);
        gone?.removeEventListener('abort', leave);
        end();
      };
      const refuse = (): void => settle(() => reject(overloaded()));
      const leave = (): void => settle(() => reject(callerGone()));
      const waiting: Waiting = { since, answerBy: performance.now() + withinMs, admit: () => settle(resolve), refuse };
      const timer = setTimeout(refuse, longestWaitMs);
      gone?.addEventListener('abort', leave);
      this.#queue.add(caller, waiting);
      this.#refuseTheLast();
    });
  }

  /** A call that came later, in a shorter line, may take the time of the last one. */
  #refuseTheLast(): void {
    const last = this.#queue.last();
    if (last === undefined) return;
    const leftMs = last.answerBy - performance.now();
    if (this.#waitOf(this.#queue.size - 1) >= leftMs - this.#typicalMs) last.refuse();
  }

  /** The expected wait behind so many calls, in milliseconds, from the recent rate. */
  #waitOf(ahead: number): number {
    const pauseMs = Math.max(this.#typicalMs / this.places, (performance.now() - this.#movedAt) / LONGEST_PAUSE);
    return (ahead + 1) * pauseMs;
  }

  #overloaded(since: number, longestWaitMs: number, about: string | undefined): OverloadedError {
    this.#refused += 1;
    const turnMs = this.#waitOf(this.#queue.size + this.#refusedCalls.size);
    if (about !== undefined) this.#remember(about, since);
    const seconds = (share: number): number => Math.ceil((turnMs - share * longestWaitMs) / 1_000);
    const earliest = Math.min(Math.max(seconds(COMES_AGAIN.earliest), 1), LONGEST_RETRY_S - 1);
    const latest = Math.min(Math.max(seconds(COMES_AGAIN.latest), earliest + 1), LONGEST_RETRY_S);
    const message = 'Temporal is too busy to answer in time';
    return declareWithoutEffect(new OverloadedError(message, this.draw(earliest, latest)));
  }

  #remember(about: string, since: number): void {
    const now = performance.now();
    // The last refused call is the last of the map.
    this.#refusedCalls.delete(about);
    this.#refusedCalls.set(about, { since, refusedAt: now });
    for (const [oldest, { refusedAt }] of this.#refusedCalls) {
      if (this.#refusedCalls.size <= MOST_REMEMBERED && now - refusedAt < REMEMBERED_MS) return;
      this.#refusedCalls.delete(oldest);
    }
  }
}

function callerGone(): CallerGoneError {
  return declareWithoutEffect(new CallerGoneError('The caller is gone'));
}
