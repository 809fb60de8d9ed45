const BEAT_EVERY_MS = 1_000;
/**
 * Temporal gives a batch to another worker 10 s after the last heartbeat that it got, which may be 8 s old, and a second
 * later. So a process that was frozen for less still has its batches. Milliseconds.
 */
const LEASE_MS = 3_000;

/** Notices that this process was frozen. */
export class Pulse {
  #beatAt = performance.now();
  #freezes = 0;
  readonly #timer: ReturnType<typeof setInterval>;

  constructor() {
    this.#timer = setInterval(() => this.#beat(), BEAT_EVERY_MS);
    this.#timer.unref();
  }

  /** How often this process was frozen for so long that another worker may have its batches. */
  get freezes(): number {
    this.#beat();
    return this.#freezes;
  }

  end(): void {
    clearInterval(this.#timer);
  }

  #beat(): void {
    const now = performance.now();
    if (now - this.#beatAt > LEASE_MS) this.#freezes += 1;
    this.#beatAt = now;
  }
}
