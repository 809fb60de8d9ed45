const WINDOW_MS = 1_000;
const MAX_SUBJECTS = 10_000;

/**
 * Lets one hint for each charge through in a second; the rest are answered and dropped, so that a flood costs nothing.
 * Dropping is safe: the workflow looks again one second after a hint that found no change, and polls besides.
 */
export class HintGate {
  readonly #openedAt = new Map<string, number>();

  /** @param now milliseconds. */
  opens(subject: string, now: number): boolean {
    const last = this.#openedAt.get(subject);
    if (last !== undefined && now - last < WINDOW_MS && now >= last) return false;
    this.#openedAt.delete(subject);
    this.#openedAt.set(subject, now);
    if (this.#openedAt.size > MAX_SUBJECTS) this.#forgetOldest();
    return true;
  }

  /** Runs the delivery; one that failed does not count, so that the next is let through. */
  async guarding<T>(subject: string, deliver: () => Promise<T>): Promise<T> {
    try {
      return await deliver();
    } catch (error) {
      this.#openedAt.delete(subject);
      throw error;
    }
  }

  #forgetOldest(): void {
    for (const subject of this.#openedAt.keys()) {
      this.#openedAt.delete(subject);
      return;
    }
  }
}
