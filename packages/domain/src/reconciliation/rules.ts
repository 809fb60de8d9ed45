import { formatInstant, plus, type Instant } from '../instant.js';
import type { BreakFacts } from './breaks.js';

/** The rules of one run. */
export type Rules = {
  /** When the run began: ages are counted from here. */
  readonly now: Instant;
  /** A refund made less than this before the run is left to the next run, in milliseconds. */
  readonly youngMs: number;
  /** The longest time from a payment to the day of its payout, in milliseconds; null: any time. */
  readonly settleWithinMs: number | null;
};

const AROUND_MS = 60_000;

/** The age of a record, and the time range in which an operator finds it. */
export function ageOf(at: Instant, { now }: Rules): Pick<BreakFacts, 'ageMs' | 'around'> {
  return {
    ageMs: now - at,
    around: { from: formatInstant(plus(at, -AROUND_MS)), to: formatInstant(plus(at, AROUND_MS)) },
  };
}
