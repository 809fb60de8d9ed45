/** The value that a share (0 to 1) of the sample does not exceed, by nearest rank. @throws on an empty sample. */
export function percentile(sample: readonly number[], share: number): number {
  const sorted = sample.toSorted((a, b) => a - b);
  const value = sorted[Math.max(0, Math.ceil(share * sorted.length) - 1)];
  if (value === undefined) throw new RangeError('an empty sample has no percentile');
  return value;
}

export const median = (sample: readonly number[]): number => percentile(sample, 0.5);
