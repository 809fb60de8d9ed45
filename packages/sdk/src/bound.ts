/** A moment on two clocks. The wall clock goes on while a computer sleeps; the other one is never set back. */
type Moment = { readonly wall: number; readonly steady: number };

export const moment = (): Moment => ({ wall: Date.now(), steady: performance.now() });

/** Milliseconds since then, those in which the computer slept included. */
export function since({ wall, steady }: Moment): number {
  return Math.max(Date.now() - wall, performance.now() - steady);
}

/** How often the limit is checked, in milliseconds. After a computer wakes, a dead connection ends within this time. */
const CHECK_EVERY_MS = 1_000;

/** Ends one request: when the caller aborts, or after too long a silence, also when the computer slept through it. */
export class Bound {
  readonly #controller = new AbortController();
  readonly #timer: ReturnType<typeof setInterval>;
  #since: Moment | null = moment();
  #isSilent = false;

  /** @param limitMs milliseconds */
  constructor(
    private readonly caller: AbortSignal | undefined,
    private limitMs: number,
  ) {
    this.#timer = setInterval(() => this.#check(), Math.min(CHECK_EVERY_MS, limitMs / 4));
    caller?.addEventListener('abort', this.end);
    if (caller?.aborted === true) this.end();
  }

  /** Aborts when this bound ends. */
  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** It has ended because the silence took too long. */
  get isSilent(): boolean {
    return this.#isSilent;
  }

  /** The silence begins now. */
  listen(limitMs: number = this.limitMs): void {
    this.limitMs = limitMs;
    this.#since = moment();
  }

  /** The caller handles a state: the time does not count. */
  rest(): void {
    this.#since = null;
  }

  readonly end = (): void => {
    clearInterval(this.#timer);
    this.caller?.removeEventListener('abort', this.end);
    this.#controller.abort();
  };

  #check(): void {
    if (this.#since === null || since(this.#since) <= this.limitMs) return;
    this.#isSilent = true;
    this.end();
  }
}

/** Programs without types may give text, or null: a comparison would convert it. */
export function isDuration(ms: unknown): ms is number {
  return typeof ms === 'number' && ms >= 0;
}

/** A longer timer would end at once. */
const LONGEST_TIMER_MS = 2 ** 31 - 1;

/** Ends after so many milliseconds, or when the caller aborts. */
export function pause(ms: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve) => {
    const end = (): void => {
      clearTimeout(timer);
      signal?.removeEventListener('abort', end);
      resolve();
    };
    const timer = setTimeout(end, Math.min(ms, LONGEST_TIMER_MS));
    signal?.addEventListener('abort', end);
    if (signal?.aborted === true) end();
  });
}

const FIRST_PAUSE_MS = 200;
const LONGEST_PAUSE_MS = 5_000;

/** Milliseconds before the next try. They grow, and a random part keeps callers from coming back together. */
export function backoffMs(tries: number): number {
  return Math.min(LONGEST_PAUSE_MS, FIRST_PAUSE_MS * 2 ** (tries - 1)) * (0.5 + Math.random() / 2);
}
