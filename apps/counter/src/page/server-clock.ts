/** A clock that only goes forward, in milliseconds. */
export type SteadyClock = () => number;

/** How far a device's steady clock may drift, as a share of the time since the last sample. */
const DRIFT = 0.001;

/** With a smaller error, a remaining time that changes once a second is right to the second. Milliseconds. */
const EXACT_MS = 250;
/** On a slow line no sample is exact: after so many, the page uses the best one. */
const MOST_TRIES = 8;

type Sample = { readonly serverMs: number; readonly at: number; readonly errorMs: number };

/** The API's time on a device whose own clock may be wrong by any amount. */
export class ServerClock {
  #best: Sample | null = null;
  #tries = 0;

  constructor(private readonly steady: SteadyClock = () => performance.now()) {}

  /** The API's time in milliseconds since 1970; null before the first answer. */
  now(): number | null {
    return this.#best === null ? null : this.#best.serverMs + this.steady() - this.#best.at;
  }

  /** The next answer may make it more exact. The first one often takes long: it opens the connection. */
  get isVague(): boolean {
    return this.#best !== null && this.#best.errorMs > EXACT_MS && this.#tries < MOST_TRIES;
  }

  /**
   * Takes in the time of an answer. The API read its clock between the two moments.
   * @param time ISO 8601
   * @param sentAt when the request left, on the steady clock
   */
  learn(time: string, sentAt: number): void {
    const at = this.steady();
    const errorMs = (at - sentAt) / 2;
    const sample = { serverMs: Date.parse(time) + errorMs, at, errorMs };
    this.#tries += 1;
    const known = this.now();
    if (this.#best === null || known === null) {
      this.#best = sample;
      return;
    }
    const errorOfKnownMs = this.#best.errorMs + (at - this.#best.at) * DRIFT;
    // The steady clock of some devices stops while they sleep.
    const hasSlept = Math.abs(sample.serverMs - known) > errorMs + errorOfKnownMs;
    if (hasSlept) this.#tries = 1;
    if (hasSlept || errorMs <= errorOfKnownMs) this.#best = sample;
  }
}
