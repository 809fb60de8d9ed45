/** A clock that only goes forward, in milliseconds. */
export type SteadyClock = () => number;

/** How far a device's steady clock may drift, as a share of the time since the last sample. */
const DRIFT = 0.001;

type Sample = { readonly serverMs: number; readonly at: number; readonly errorMs: number };

/** The API's time on a device whose own clock may be wrong by any amount. */
export class ServerClock {
  #best: Sample | null = null;

  constructor(private readonly steady: SteadyClock = () => performance.now()) {}

  /** The API's time in milliseconds since 1970; null before the first answer. */
  now(): number | null {
    return this.#best === null ? null : this.#best.serverMs + this.steady() - this.#best.at;
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
    const known = this.now();
    if (this.#best === null || known === null) {
      this.#best = sample;
      return;
    }
    const errorOfKnownMs = this.#best.errorMs + (at - this.#best.at) * DRIFT;
    // The steady clock of some devices stops while they sleep.
    const hasSlept = Math.abs(sample.serverMs - known) > errorMs + errorOfKnownMs;
    if (hasSlept || errorMs <= errorOfKnownMs) this.#best = sample;
  }
}
