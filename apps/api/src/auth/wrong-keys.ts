import { Bucket } from '../edge/limits.js';

/** Wrong keys of one address that are answered at once, in one window. */
const FREE = 10;
const WINDOW_MS = 10_000;
/** Every further answer comes later than the one before, by this much, up to the longest delay. Milliseconds. */
const STEP_MS = 100;
const LONGEST_MS = 1_000;
/** Answers that one process holds back at a time. */
const MAX_HELD = 1_000;

/** Slows addresses that try keys. A request with a valid key is never slower. Its memory is bounded. */
export class WrongKeys {
  readonly #tried = new Bucket(FREE, WINDOW_MS);
  #held = 0;

  /** Counts a wrong key of the address, and sends the answer later, unless this process holds back many answers already. */
  answer(address: string, send: () => void, now = performance.now()): void {
    const delay = Math.min(this.#tried.excess(address, now) * STEP_MS, LONGEST_MS);
    if (delay === 0 || this.#held >= MAX_HELD) {
      send();
      return;
    }
    this.#held += 1;
    setTimeout(() => {
      this.#held -= 1;
      send();
    }, delay);
  }
}
