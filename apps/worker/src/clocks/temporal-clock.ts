import type { Reading } from '@tillflow/temporal';

/** The clocks of a machine, in milliseconds. */
export type Machine = {
  /** Since 1970, as the machine believes. It can be wrong, and it can be set. */
  wall(): number;
  /** Never set, and counts while the process is stopped. It stands still while a machine is suspended. */
  monotonic(): number;
};

export const MACHINE: Machine = { wall: () => Date.now(), monotonic: () => performance.now() };

/** Two clocks that nothing corrects drift apart by less than this part of the time. */
const DRIFT = 200e-6;
/** The wall clock and the monotonic one differ by more than this only after the one was set or the other stood still. */
const DISTURBED_MS = 100;

/** What Temporal's clock shows at one instant of the monotonic clock: between `earliest` and `latest`. */
type Bounds = {
  readonly earliest: number;
  readonly latest: number;
  readonly monotonic: number;
  readonly wall: number;
};

/**
 * Temporal's clock as this machine knows it, whatever the machine's own clock shows. Each reading bounds it: Temporal
 * wrote its time down after we asked and before we saw the answer. The bounds of several readings are cut with each
 * other, and widen by the drift of two clocks in between.
 */
export class TemporalClock {
  #bounds: Bounds;

  /** @param first by the machine's monotonic clock, as every reading here. */
  constructor(
    first: Reading,
    private readonly machine: Machine = MACHINE,
  ) {
    this.#bounds = this.#boundsOf(first);
  }

  /**
   * The latest time that Temporal's clock can show now, in epoch milliseconds: what must not be sent from some instant on
   * is not sent when this has reached it. Of the machine's two clocks the one that went further counts, so that neither a
   * frozen process, nor a suspended machine, nor a clock that was set makes it too early.
   */
  now(): number {
    const { monotonic, wall, latest } = this.#bounds;
    const passed = this.machine.monotonic() - monotonic;
    return latest + Math.max(passed, this.machine.wall() - wall) + passed * DRIFT;
  }

  /** How far the machine's wall clock is from Temporal's, at least, in milliseconds; positive: it is ahead. */
  get offset(): number {
    const wall = this.machine.wall();
    const { earliest, latest } = this.#now();
    return nearestToZero(wall - latest, wall - earliest);
  }

  /** The machine's clocks went differently far since the last reading: another one is worth taking. */
  get isDisturbed(): boolean {
    const { monotonic, wall } = this.#bounds;
    const apart = this.machine.wall() - wall - (this.machine.monotonic() - monotonic);
    return Math.abs(apart) > DISTURBED_MS;
  }

  /** How far apart the bounds are, in milliseconds: by so much {@link now} may be too late. */
  get width(): number {
    const { earliest, latest } = this.#now();
    return latest - earliest;
  }

  /** Takes in another reading. One that contradicts what was known replaces it: a clock was set. */
  take(reading: Reading): void {
    const read = this.#boundsOf(reading);
    const known = this.isDisturbed ? read : this.#now();
    const earliest = Math.max(read.earliest, known.earliest);
    const latest = Math.min(read.latest, known.latest);
    this.#bounds = earliest > latest ? read : { ...read, earliest, latest };
  }

  /**
   * Temporal's clock has shown this instant: it scheduled a task then. It corrects what a machine that was suspended
   * without noticing believes.
   * @param instant epoch milliseconds.
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

  /** By the monotonic clock alone; `wall` is what the wall clock shows unless it was disturbed. */
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

/** Of a difference that is only known to lie in between, what is sure: 0 where there may be none. */
export function nearestToZero(least: number, most: number): number {
  if (least > 0) return least;
  return most < 0 ? most : 0;
}
