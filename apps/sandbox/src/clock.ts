import { instant, type Instant } from '@tillflow/domain';

type Timer = { readonly at: Instant; readonly order: number; readonly run: () => void };

/** The longest wait of a Node.js timer. */
const LONGEST_WAIT_MS = 2 ** 31 - 1;

export type ClockOptions = {
  /** Default: the present. */
  readonly startAt?: Instant | undefined;
  readonly frozen?: boolean | undefined;
};

/**
 * The sandbox's time. It runs with wall time from the instant that was set, or stands still while frozen. It never goes
 * backwards. `now` changes only in {@link tick}: within one request, or one timer, the time stays the same. So records
 * are created in order, and a charge expires exactly at its `expires_at`, even when Node.js runs the timer late.
 */
export class Clock {
  readonly #heap: Timer[] = [];
  readonly #start: ClockOptions;
  #order = 0;
  #now: Instant;
  #setTo: Instant;
  #setAtWallMs: number;
  #frozen: boolean;
  #ticking = false;
  #wake: NodeJS.Timeout | null = null;

  constructor(start: ClockOptions = {}) {
    this.#start = start;
    this.#setAtWallMs = Date.now();
    this.#setTo = start.startAt ?? instant(this.#setAtWallMs);
    this.#now = this.#setTo;
    this.#frozen = start.frozen ?? false;
  }

  get frozen(): boolean {
    return this.#frozen;
  }

  /** The instant of the last {@link tick}, or of the timer that runs. */
  now(): Instant {
    return this.#now;
  }

  /** Milliseconds until `at` by the machine's own clock, which callers use; 0 or less when `at` is past there. */
  wallUntil(at: Instant): number {
    return at - Date.now();
  }

  /** Runs due timers in order, each at its own instant, then moves `now` to the present and returns it. */
  tick(): Instant {
    this.#runUntil(this.#reading());
    return this.#now;
  }

  /**
   * Calls `run` once at that instant, or at the next tick when it is past. There is no cancel: `run` checks whether it
   * still applies.
   */
  at(when: Instant, run: () => void): void {
    const timer = { at: when, order: this.#order, run };
    this.#order += 1;
    this.#push(timer);
    if (this.#heap[0] === timer) this.#arm();
  }

  /** @throws {RangeError} when `when` is before the present. */
  moveTo(when: Instant): void {
    const present = this.tick();
    if (when < present) throw new RangeError('The clock does not go backwards.');
    this.#set(when);
    this.tick();
    this.#arm();
  }

  freeze(frozen: boolean): void {
    this.#set(this.tick());
    this.#frozen = frozen;
    this.#arm();
  }

  /** Removes every timer and goes back to the start. */
  reset(): void {
    this.#heap.length = 0;
    this.#frozen = this.#start.frozen ?? false;
    this.#set(this.#start.startAt ?? instant(Date.now()));
    this.#now = this.#setTo;
    this.#arm();
  }

  stop(): void {
    if (this.#wake !== null) clearTimeout(this.#wake);
    this.#wake = null;
  }

  #set(to: Instant): void {
    this.#setTo = to;
    this.#setAtWallMs = Date.now();
  }

  /** The present; never before `now`, even when the machine's own clock is set back. */
  #reading(): Instant {
    const moved = this.#frozen ? 0 : Date.now() - this.#setAtWallMs;
    return instant(Math.max(this.#now, this.#setTo + moved));
  }

  #runUntil(until: Instant): void {
    if (this.#ticking) return;
    this.#ticking = true;
    const first = this.#heap[0];
    try {
      for (let next = this.#heap[0]; next !== undefined && next.at <= until; next = this.#heap[0]) {
        this.#pop();
        if (next.at > this.#now) this.#now = next.at;
        next.run();
      }
      this.#now = until;
    } finally {
      this.#ticking = false;
    }
    if (this.#heap[0] !== first) this.#arm();
  }

  /** Sets one Node.js timer for the earliest of all timers. It does not keep the process alive. */
  #arm(): void {
    if (this.#ticking) return;
    this.stop();
    const next = this.#heap[0];
    if (next === undefined || (this.#frozen && next.at > this.#now)) return;
    const wait = Math.min(Math.max(next.at - this.#reading(), 0), LONGEST_WAIT_MS);
    this.#wake = setTimeout(() => {
      this.tick();
      this.#arm();
    }, wait).unref();
  }

  #push(timer: Timer): void {
    const heap = this.#heap;
    let index = heap.length;
    heap.push(timer);
    while (index > 0) {
      const above = (index - 1) >> 1;
      const parent = heap[above];
      if (parent === undefined || !isBefore(timer, parent)) break;
      heap[index] = parent;
      index = above;
    }
    heap[index] = timer;
  }

  #pop(): void {
    const heap = this.#heap;
    const last = heap.pop();
    if (last === undefined || heap.length === 0) return;
    let index = 0;
    for (;;) {
      let below = 2 * index + 1;
      const left = heap[below];
      if (left === undefined) break;
      const right = heap[below + 1];
      const child = right !== undefined && isBefore(right, left) ? right : left;
      if (child === right) below += 1;
      if (!isBefore(child, last)) break;
      heap[index] = child;
      index = below;
    }
    heap[index] = last;
  }
}

/** By instant, then in the order in which the timers were set. */
function isBefore(a: Timer, b: Timer): boolean {
  return a.at < b.at || (a.at === b.at && a.order < b.order);
}
