import { type CallDeadlines, type Clock, type DeadlineKind, passedDeadline } from './deadline.js';

/**
 * The longest that one Retry-After holds back every call, in milliseconds: a wrong header must not stop payments for
 * hours.
 */
export const MAX_PAUSE_MS = 60_000;

/** While both kinds wait, one request in this many is a read. */
export const READ_EVERY = 10;

/** The requests that may leave at once after a pause in the traffic: those of this many milliseconds, at least one. */
const BURST_MS = 1_000;

/**
 * Without a limit, the calls that waited for the end of a pause leave so far apart, and within this time. Otherwise the
 * provider that asked for the pause would get all of them in one instant. Milliseconds.
 */
const SPREAD_MS = 5;
const SPREAD_WITHIN_MS = 1_000;

/** `money`: a request that may change something. `read`: a GET. */
export type Priority = 'money' | 'read';

/** How a wait ended: the request may leave, or the reason why it may not. */
export type Turn = 'granted' | 'aborted' | 'closed' | Exclude<DeadlineKind, 'timeout'>;

/** What the limiter knows about a call. */
export interface WaitingCall extends CallDeadlines {
  readonly signal: AbortSignal | undefined;
}

interface Waiter {
  readonly call: WaitingCall;
  readonly settle: (turn: Turn) => void;
}

/** Before every instant: the bucket is full. */
const ALWAYS = Number.NEGATIVE_INFINITY;

/**
 * Limits the requests of one client with a token bucket, which holds the requests of one second and at least one. So at
 * most `burst + rate × t` requests leave in any `t` seconds.
 *
 * Money calls leave before reads, and calls of one kind in the order in which they came. While both wait, every tenth
 * request is a read: reads settle unknown outcomes, so endless money calls must not hold them back for ever.
 *
 * A call whose limit passes before the next request may leave ends at once, and takes no token.
 */
export class RequestLimiter {
  readonly #clock: Clock;
  /** Between two requests once the burst is used up; 0 without a limit. */
  readonly #intervalMs: number;
  readonly #money = new Set<Waiter>();
  readonly #reads = new Set<Waiter>();
  /** The instant from which on the next request may leave, in monotonic milliseconds. */
  #opensAt = ALWAYS;
  /** By then, the calls that waited for the end of a pause have left. */
  #spreadUntil = ALWAYS;
  /** How many money calls in a row left while a read waited. */
  #overtakes = 0;
  #isServing = false;
  #isClosed = false;
  #alarm: AbortController | undefined;

  /** @param requestsPerSecond 0: no limit, so that only {@link pause} holds calls back */
  constructor(requestsPerSecond: number, clock: Clock) {
    this.#intervalMs = requestsPerSecond === 0 ? 0 : 1_000 / requestsPerSecond;
    this.#clock = clock;
  }

  /** Takes a token if one is free and no call waits. When false, the call has to {@link wait}. */
  tryTake(): boolean {
    if (this.#intervalMs === 0 && this.#opensAt === ALWAYS) return true;
    if (this.#waiting > 0) return false;
    const now = this.#clock.monotonic();
    if (now < this.#opensAt) return false;
    this.#overtakes = 0;
    this.#take(now);
    return true;
  }

  /** Waits for a token and takes it. Never rejects. */
  wait(priority: Priority, call: WaitingCall): Promise<Turn> {
    if (this.#isClosed) return Promise.resolve('closed');
    return new Promise((resolve) => {
      const queue = priority === 'money' ? this.#money : this.#reads;
      const onAbort = (): void => waiter.settle('aborted');
      const waiter: Waiter = {
        call,
        settle: (turn) => {
          queue.delete(waiter);
          call.signal?.removeEventListener('abort', onAbort);
          if (this.#waiting === 0) this.#alarm?.abort();
          resolve(turn);
        },
      };
      call.signal?.addEventListener('abort', onAbort);
      queue.add(waiter);
      this.#serve();
      if (!this.#isServing) void this.#serveUntilEmpty();
    });
  }

  /**
   * Holds back every request for `ms` milliseconds, at most {@link MAX_PAUSE_MS}, because the provider asks for it.
   * With a limit, the bucket then holds one token only: the provider's own is empty.
   */
  pause(ms: number): void {
    const until = this.#clock.monotonic() + Math.min(ms, MAX_PAUSE_MS);
    if (until <= this.#opensAt) return;
    this.#opensAt = until;
    this.#spreadUntil = until + SPREAD_WITHIN_MS;
    this.#serve();
  }

  /** Ends every wait, also later ones, and the timer. */
  close(): void {
    this.#isClosed = true;
    for (const queue of [this.#money, this.#reads]) for (const waiter of queue) waiter.settle('closed');
  }

  get #waiting(): number {
    return this.#money.size + this.#reads.size;
  }

  #take(now: number): void {
    if (this.#intervalMs === 0) {
      // The call that leaves still counts as waiting.
      const others = this.#waiting - 1;
      const leftMs = this.#spreadUntil - now;
      this.#opensAt = others > 0 && leftMs > 0 ? now + Math.min(SPREAD_MS, leftMs / others) : ALWAYS;
      return;
    }
    const fullBucket = now - Math.max(0, BURST_MS - this.#intervalMs);
    this.#opensAt = Math.max(fullBucket, this.#opensAt) + this.#intervalMs;
  }

  async #serveUntilEmpty(): Promise<void> {
    this.#isServing = true;
    while (this.#waiting > 0) {
      this.#alarm = new AbortController();
      const ms = Math.ceil(this.#opensAt - this.#clock.monotonic());
      await this.#clock.sleep(Math.max(0, ms), this.#alarm.signal);
      this.#serve();
    }
    this.#isServing = false;
  }

  #serve(): void {
    const now = this.#clock.monotonic();
    while (now >= this.#opensAt) {
      const next = this.#next();
      if (next === undefined) return;
      const passed = passedDeadline(next.call, this.#clock);
      if (passed === undefined) {
        this.#overtakes = this.#money.has(next) && this.#reads.size > 0 ? this.#overtakes + 1 : 0;
        this.#take(now);
      }
      next.settle(passed ?? 'granted');
    }
    this.#endHopeless(this.#opensAt - now);
  }

  #next(): Waiter | undefined {
    const [money] = this.#money;
    const [read] = this.#reads;
    return this.#overtakes < READ_EVERY - 1 ? (money ?? read) : (read ?? money);
  }

  /** @param closedMs how long no request may leave */
  #endHopeless(closedMs: number): void {
    for (const queue of [this.#money, this.#reads]) {
      for (const waiter of queue) {
        const passed = passedDeadline(waiter.call, this.#clock, closedMs);
        if (passed !== undefined) waiter.settle(passed);
      }
    }
  }
}
