const BEAT_EVERY_MS = 1_000;
/**
 * Temporal gives a batch to another worker 10 s after the last heartbeat that it got, which may be 8 s old, and a second
 * later. So a process that was frozen for less still has its batches. Milliseconds.
 */
const LEASE_MS = 3_000;

/** Notices that this process was frozen. */
export class FreezeDetector {
  #steadyAt = performance.now();
  #wallAt = Date.now();
  #count = 0;
  readonly #timer: ReturnType<typeof setInterval>;

  constructor() {
    this.#timer = setInterval(() => this.#beat(), BEAT_EVERY_MS);
    this.#timer.unref();
  }

  /** The number of freezes after which another worker may have the batches of this process. */
  get count(): number {
    this.#beat();
    return this.#count;
  }

  end(): void {
    clearInterval(this.#timer);
  }

  #beat(): void {
    const [steady, wall] = [performance.now(), Date.now()];
    // Only the wall clock counts the time in which the machine was suspended, and a person may set it back.
    if (Math.max(steady - this.#steadyAt, wall - this.#wallAt) > LEASE_MS) this.#count += 1;
    this.#steadyAt = steady;
    this.#wallAt = wall;
  }
}
