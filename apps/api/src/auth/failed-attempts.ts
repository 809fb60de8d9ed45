const WINDOW_MS = 1_000;
const MAX_ADDRESSES = 10_000;

/** Counts wrong keys by address, so that guessing is as limited as asking is. */
export class FailedAttempts {
  #since = 0;
  readonly #counts = new Map<string, number>();

  constructor(private readonly limit: number) {}

  /** @param now milliseconds. @returns whether this address has had more than its share in this second. */
  exceeds(address: string, now: number): boolean {
    if (now - this.#since >= WINDOW_MS || this.#counts.size > MAX_ADDRESSES) {
      this.#since = now;
      this.#counts.clear();
    }
    const count = (this.#counts.get(address) ?? 0) + 1;
    this.#counts.set(address, count);
    return count > this.limit;
  }
}
