import type { Reading } from '@tillflow/temporal';

/** The clocks of a machine, in milliseconds. */
export type Machine = {
  /** Since 1970. It can be wrong, and it can be set. */
  wall(): number;
  /** It is never set. It runs while the process is stopped, and stops while the machine is suspended. */
  monotonic(): number;
};

export const MACHINE: Machine = { wall: () => Date.now(), monotonic: () => performance.now() };

/** Two uncorrected clocks drift apart by less than this fraction of the time. */
const DRIFT = 200e-6;
/**
 * The wall clock and the monotonic clock differ by more than this only after the first was set or the second stopped.
 */
const DISTURBED_MS = 100;

/** At one instant of the monotonic clock, Temporal's clock is between `earliest` and `latest`. */
type Bounds = {
  readonly earliest: number;
  readonly latest: number;
  readonly monotonic: number;
  readonly wall: number;
};

/**
 * Estimates Temporal's clock independently of this machine's wall clock. Each reading gives bounds: Temporal recorded
 * its time between the request and the answer. The bounds of several readings are intersected, and widen with the drift
 * between readings.
 */
export class TemporalClock {
  #bounds: Bounds;

  /** @param first by the machine's monotonic clock, like every reading here */
  constructor(
    first: Reading,
    private readonly machine: Machine = MACHINE,
  ) {
    this.#bounds = this.#boundsOf(first);
  }

  /**
   * The latest time that Temporal's clock can show now, in epoch milliseconds: a request whose deadline it has reached
   * is not sent. It uses the machine's clock that advanced further, so that a frozen process, a suspended machine or a
   * clock that was set never makes it too early.
   */
  now(): number {
    const { monotonic, wall, latest } = this.#bounds;
    const passed = this.machine.monotonic() - monotonic;
    return latest + Math.max(passed, this.machine.wall() - wall) + passed * DRIFT;
  }

  /** The offset of the machine's wall clock from Temporal's: at least this many milliseconds; positive: it is ahead. */
  get offset(): number {
    const wall = this.machine.wall();
    const { earliest, latest } = this.#now();
    return nearestToZero(wall - latest, wall - earliest);
  }

  /** The machine's two clocks advanced differently since the last reading, so another reading is needed. */
  get isDisturbed(): boolean {
    const { monotonic, wall } = this.#bounds;
    const apart = this.machine.wall() - wall - (this.machine.monotonic() - monotonic);
    return Math.abs(apart) > DISTURBED_MS;
  }

  /** The distance of the bounds in milliseconds: {@link now} may be too late by this much. */
  get width(): number {
    const { earliest, latest } = this.#now();
    return latest - earliest;
  }

  /** Adds a reading. A reading that contradicts the bounds replaces them: a clock was set. */
  take(reading: Reading): void {
    const read = this.#boundsOf(reading);
    const known = this.isDisturbed ? read : this.#now();
    const earliest = Math.max(read.earliest, known.earliest);
    const latest = Math.min(read.latest, known.latest);
    this.#bounds = earliest > latest ? read : { ...read, earliest, latest };
  }

  /**
   * Temporal's clock has reached this instant: Temporal scheduled a task then. Corrects the bounds after a suspension
   * that the machine did not notice.
   * @param instant epoch milliseconds
   */
  hasReached(instant: number): void {
    const known = this.#now();
    if (instant <= known.earliest) return;
    this.#bounds = { ...known, earliest: instant, latest: Math.max(instant, known.latest) };
  }

  #boundsOf({ from, to, said }: Reading): Bounds {
    const since = this.machine.monotonic() - to;
    return {
      earliest: said + since,
      latest: said + (to - from) + since,
      monotonic: this.machine.monotonic(),
      wall: this.machine.wall(),
    };
  }

  /** By the monotonic clock only; `wall` is the wall clock unless it was disturbed. */
  #now(): Bounds {
    const { earliest, latest, monotonic, wall } = this.#bounds;
    const now = this.machine.monotonic();
    const passed = now - monotonic;
    return {
      earliest: earliest + passed * (1 - DRIFT),
      latest: latest + passed * (1 + DRIFT),
      monotonic: now,
      wall: wall + passed,
    };
  }
}

/** The smallest absolute value between `least` and `most`. */
export function nearestToZero(least: number, most: number): number {
  if (least > 0) return least;
  return most < 0 ? most : 0;
}
