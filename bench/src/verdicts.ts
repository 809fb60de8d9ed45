import { print } from './report.js';
import type { Interval } from './statistics.js';

/**
 * One thing that was found, and what must hold of it; without a bound it only explains. Without an interval it was
 * counted, and is exact.
 */
export type Verdict = {
  readonly what: string;
  readonly value: number;
  readonly interval?: Interval;
  readonly bound?: Bound;
};

type Bound = { readonly atLeast: number } | { readonly atMost: number };

export function isMet({ value, bound }: Verdict): boolean {
  if (bound === undefined) return true;
  return 'atLeast' in bound ? value >= bound.atLeast : value <= bound.atMost;
}

/** A verdict on a ratio: the estimate decides, the interval says how sure it is. */
export function ratioVerdict(what: string, interval: Interval, bound?: Bound): Verdict {
  return { what, value: interval.value, interval, ...(bound && { bound }) };
}

export function printVerdicts(verdicts: readonly Verdict[]): void {
  print('\nWhat must hold (in brackets: 95 % of bootstrapped rounds)\n');
  for (const verdict of verdicts) {
    const word = verdict.bound === undefined ? '    ' : isMet(verdict) ? 'PASS' : 'FAIL';
    print(`  ${word}  ${verdict.what}: ${foundOf(verdict)}`);
  }
}

function foundOf({ value, interval, bound }: Verdict): string {
  const wanted = bound === undefined ? '' : 'atLeast' in bound ? `, ≥ ${bound.atLeast}` : `, ≤ ${bound.atMost}`;
  if (interval === undefined) return `${value}${wanted}`;
  return `${value.toFixed(2)} (${interval.low.toFixed(2)} to ${interval.high.toFixed(2)})${wanted}`;
}
