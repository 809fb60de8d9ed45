import type { Announced, Change } from './checkout-changes.js';

/** How the time until the first read changes after a read that came in time, and after one that came too early. */
const EARLIER = 0.97;
const LATER = 1.07;
/** Limits of the time until the first read, in milliseconds. */
const SOONEST_MS = 10;
const LATEST_MS = 2_000;
/** The pause before each further read, as a share of the time since the announcement, and at least 10 ms. */
const SHARE = 1 / 2;
const LEAST_PAUSE_MS = 10;
/** A change that does not show by then is not expected any more. Milliseconds, and times of the first read. */
const EXPECTED_MS = 1_000;
const EXPECTED_TIMES = 3;

/**
 * How long after an announcement the first read shows the change, seven times out of ten. It follows the load of Temporal
 * and of the workers, so that few reads come too early.
 */
export class Pace {
  /** @param firstMs what the process assumes before it has seen a change, in milliseconds. */
  constructor(public firstMs: number) {}

  learn(inTime: boolean): void {
    this.firstMs = Math.min(Math.max(this.firstMs * (inTime ? EARLIER : LATER), SOONEST_MS), LATEST_MS);
  }
}

/** The paces of one process. */
export type Paces = { readonly started: Pace; readonly messaged: Pace };

export function newPaces(): Paces {
  return { started: new Pace(50), messaged: new Pace(30) };
}

/** A change that was announced and does not show yet: when to read the checkout. */
export class ExpectedChange {
  /** Reads since the announcement. A change that has already happened has a first read that teaches nothing. */
  #reads: number;
  readonly #pace: Pace;
  readonly #at: number;

  constructor({ change, at }: Announced, paces: Paces) {
    this.#at = at;
    this.#pace = change === 'started' ? paces.started : paces.messaged;
    this.#reads = READS_BEFORE[change];
  }

  /** Milliseconds until the next read; null when the change is not expected any more. */
  get pauseMs(): number | null {
    const { firstMs } = this.#pace;
    if (this.#reads < 0) return 0;
    const elapsedMs = performance.now() - this.#at;
    if (this.#reads === 0) return Math.max(firstMs - elapsedMs, 0);
    const isOver = elapsedMs >= Math.max(EXPECTED_MS, EXPECTED_TIMES * firstMs);
    return isOver ? null : Math.max(elapsedMs * SHARE, LEAST_PAUSE_MS);
  }

  /** The checkout is being read as planned. */
  read(): void {
    this.#reads += 1;
  }

  /** A read shows the change. */
  met(): void {
    if (this.#reads > 0) this.#pace.learn(this.#reads === 1);
  }
}

const READS_BEFORE: Readonly<Record<Change, number>> = { started: 0, messaged: 0, changed: -1 };
