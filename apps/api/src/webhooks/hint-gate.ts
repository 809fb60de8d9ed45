const WINDOW_MS = 1_000;

/**
 * Lets one hint for each charge through in a second, so that a flood costs little, and loses none: those that come
 * within the second are sent as one at its end, and each is answered only when that one is durable.
 */
export class HintGate {
  readonly #windows = new Map<string, { trailing: Promise<void> | null }>();

  /**
   * @param send makes the hint durable; what it throws, every caller that it would have answered is thrown.
   * @returns whether this very hint was sent, or went along with another.
   */
  async pass(subject: string, send: () => Promise<void>): Promise<'sent' | 'coalesced'> {
    const window = this.#windows.get(subject);
    if (window !== undefined) {
      window.trailing ??= this.#atTheEnd(subject, send);
      await window.trailing;
      return 'coalesced';
    }
    this.#open(subject);
    await send();
    return 'sent';
  }

  #open(subject: string): void {
    const window = { trailing: null };
    this.#windows.set(subject, window);
    setTimeout(() => {
      if (this.#windows.get(subject) === window && window.trailing === null) this.#windows.delete(subject);
    }, WINDOW_MS).unref();
  }

  async #atTheEnd(subject: string, send: () => Promise<void>): Promise<void> {
    await new Promise((resolve) => setTimeout(resolve, WINDOW_MS));
    this.#open(subject);
    await send();
  }
}
