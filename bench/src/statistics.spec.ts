import { describe, expect, it } from 'vitest';
import { median, percentile, randomOf, ratioOf, shuffled, sum } from './statistics.js';

describe('a percentile', () => {
  it('is a member of the sample, by nearest rank', () => {
    const sample = [40, 10, 30, 20];
    expect([0, 0.25, 0.5, 0.51, 0.99, 1].map((share) => percentile(sample, share))).toEqual([10, 10, 20, 30, 40, 40]);
    expect(median([7])).toBe(7);
  });

  it('of an empty sample does not exist', () => {
    expect(() => percentile([], 0.5)).toThrow(RangeError);
  });
});

describe('the ratio of two lists of rounds', () => {
  it('has an interval without width when all rounds are equal', () => {
    expect(ratioOf([6, 6, 6], [3, 3, 3], randomOf(1), sum)).toEqual({ value: 2, low: 2, high: 2 });
  });

  it('lies in its interval, which is wider when the rounds differ more', () => {
    const narrow = ratioOf([9, 10, 11], [5, 5, 5], randomOf(1), sum);
    const wide = ratioOf([5, 10, 15], [5, 5, 5], randomOf(1), sum);
    for (const { value, low, high } of [narrow, wide]) {
      expect(value).toBe(2);
      expect(low).toBeLessThan(value);
      expect(high).toBeGreaterThan(value);
    }
    expect(wide.high - wide.low).toBeGreaterThan(narrow.high - narrow.low);
  });

  it('resamples rounds with the same index together, so that a disturbance of both does not widen the interval', () => {
    const disturbed = [6, 12, 30, 8];
    const half = disturbed.map((round) => round / 2);
    expect(ratioOf(disturbed, half, randomOf(1), sum)).toEqual({ value: 2, low: 2, high: 2 });
    const apart = ratioOf(disturbed, [...half, 9.3], randomOf(1), sum);
    expect(apart.high - apart.low).toBeGreaterThan(0.5);
  });

  it('does not flatten rounds that are lists', () => {
    const firsts = (rounds: readonly (readonly number[])[]): number => sum(rounds.map(([first = Number.NaN]) => first));
    expect(ratioOf([[4, 9]], [[2, 9]], randomOf(1), firsts)).toEqual({ value: 2, low: 2, high: 2 });
  });

  it('is the same for the same seed', () => {
    const ratio = () => ratioOf([1, 2, 3], [4, 5, 6], randomOf(7), median);
    expect(ratio()).toEqual(ratio());
  });

  it('needs rounds on both sides', () => {
    expect(() => ratioOf([], [1], randomOf(1), sum)).toThrow(RangeError);
  });
});

describe('a shuffled list', () => {
  it('has the same members, and the same order for the same seed', () => {
    const items = Array.from({ length: 20 }, (_, i) => i);
    const order = shuffled(items, randomOf(3));
    expect(order.toSorted((a, b) => a - b)).toEqual(items);
    expect(order).not.toEqual(items);
    expect(shuffled(items, randomOf(3))).toEqual(order);
  });
});
