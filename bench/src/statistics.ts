/** The value that a share (0 to 1) of the sample does not exceed, by nearest rank. @throws on an empty sample. */
export function percentile(sample: readonly number[], share: number): number {
  const sorted = sample.toSorted((a, b) => a - b);
  const value = sorted[Math.max(0, Math.ceil(share * sorted.length) - 1)];
  if (value === undefined) throw new RangeError('an empty sample has no percentile');
  return value;
}

export const median = (sample: readonly number[]): number => percentile(sample, 0.5);

/** Numbers from 0 to 1 that are the same for the same seed. Source: mulberry32, public domain. */
export function randomOf(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

export function shuffled<T>(items: readonly T[], random: () => number): T[] {
  return items
    .map((item) => ({ item, rank: random() }))
    .toSorted((a, b) => a.rank - b.rank)
    .map(({ item }) => item);
}

/** A figure and the range in which it lies with 95 % probability, as far as the rounds of one run can tell. */
export type Interval = { readonly value: number; readonly low: number; readonly high: number };

const DRAWS = 1_000;

/**
 * The ratio of a statistic of one list of rounds to a statistic of another. Whole rounds are drawn again and again
 * (bootstrap), because what disturbs a machine disturbs a whole round; of two lists of one length those of the same
 * place are drawn together, because they were measured side by side.
 * @throws {RangeError} when a list is empty.
 */
export function ratioOf<Round>(
  of: readonly Round[],
  to: readonly Round[],
  random: () => number,
  statisticOf: (rounds: readonly Round[]) => number,
  statisticTo = statisticOf,
): Interval {
  if (of.length === 0 || to.length === 0) throw new RangeError('no rounds to compare');
  const places = (count: number): number[] => Array.from({ length: count }, () => Math.floor(random() * count));
  const taken = (rounds: readonly Round[], drawn: readonly number[]): Round[] =>
    drawn.map((place) => rounds[place]).filter((round) => round !== undefined);
  const ratios = Array.from({ length: DRAWS }, () => {
    const drawn = places(of.length);
    const other = to.length === of.length ? drawn : places(to.length);
    return statisticOf(taken(of, drawn)) / statisticTo(taken(to, other));
  });
  return {
    value: statisticOf(of) / statisticTo(to),
    low: percentile(ratios, 0.025),
    high: percentile(ratios, 0.975),
  };
}
