import { uniformFloat64 } from 'pure-rand/distribution/uniformFloat64';
import { uniformInt } from 'pure-rand/distribution/uniformInt';
import { xoroshiro128plus } from 'pure-rand/generator/xoroshiro128plus';
import type { RandomGenerator } from 'pure-rand/types/RandomGenerator';

/**
 * The smallest value of the sample that a share (0 to 1) of it does not exceed. @throws {RangeError} for an empty
 * sample.
 */
export function percentile(sample: readonly number[], share: number): number {
  const sorted = sample.toSorted((a, b) => a - b);
  const value = sorted[Math.max(0, Math.ceil(share * sorted.length) - 1)];
  if (value === undefined) throw new RangeError('An empty sample has no percentile');
  return value;
}

export const median = (sample: readonly number[]): number => percentile(sample, 0.5);

export const sum = (sample: readonly number[]): number => sample.reduce((total, value) => total + value, 0);

export type Random = RandomGenerator;

/** A generator with the same numbers for the same seed. */
export const randomOf = (seed: number): Random => xoroshiro128plus(seed);

export function shuffled<T>(items: readonly T[], random: Random): T[] {
  return items
    .map((item) => ({ item, rank: uniformFloat64(random) }))
    .toSorted((a, b) => a.rank - b.rank)
    .map(({ item }) => item);
}

/** A figure and its 95 % interval, as far as the rounds of one run show it. */
export type Interval = { readonly value: number; readonly low: number; readonly high: number };

const RESAMPLES = 1_000;

/**
 * The ratio of a statistic of one list of rounds to a statistic of another, with a bootstrap interval. Whole rounds are
 * resampled, because a disturbance of the machine affects a whole round. In two lists of equal length, rounds with the
 * same index were measured side by side, so they are resampled together.
 * @throws {RangeError} when a list is empty.
 */
export function ratioOf<Round>(
  of: readonly Round[],
  to: readonly Round[],
  random: Random,
  statisticOf: (rounds: readonly Round[]) => number,
): Interval {
  if (of.length === 0 || to.length === 0) throw new RangeError('There are no rounds to compare');
  const indexes = (count: number): number[] => Array.from({ length: count }, () => uniformInt(random, 0, count - 1));
  const resampled = (rounds: readonly Round[], drawn: readonly number[]): Round[] =>
    drawn.map((index) => rounds[index]).filter((round) => round !== undefined);
  const ratios = Array.from({ length: RESAMPLES }, () => {
    const drawn = indexes(of.length);
    const other = to.length === of.length ? drawn : indexes(to.length);
    return statisticOf(resampled(of, drawn)) / statisticOf(resampled(to, other));
  });
  return {
    value: statisticOf(of) / statisticOf(to),
    low: percentile(ratios, 0.025),
    high: percentile(ratios, 0.975),
  };
}
