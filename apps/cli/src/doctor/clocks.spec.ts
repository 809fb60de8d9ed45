import { describe, expect, it } from 'vitest';
import { checkClocks, skewOf } from './clocks.js';

const reading = (from: number, to: number, said: number) => ({ whose: 'the provider', from, to, said });

describe('a clock that was read', () => {
  it('may be right while what it said lies between question and answer', () => {
    expect(skewOf(reading(10_000, 12_000, 11_000))).toBe(0);
  });

  it('may be right when its seconds were cut off', () => {
    expect(skewOf(reading(10_900, 10_950, 10_000))).toBe(0);
  });

  it('is ahead by what no slow answer explains, behind by what no cutting explains', () => {
    expect(skewOf(reading(10_000, 12_000, 20_000))).toBe(8_000);
    expect(skewOf(reading(10_000, 12_000, 1_000))).toBe(-8_000);
  });

  it('is found at 3 s, whatever the way', () => {
    expect(checkClocks([reading(10_000, 10_000, 12_999)]).findings).toEqual([]);
    expect(checkClocks([reading(10_000, 10_000, 13_000)]).findings).toMatchObject([{ code: 'clock_skew' }]);
    expect(checkClocks([reading(10_000, 10_000, 6_000)]).findings).toMatchObject([
      { what: "the clock of the provider is 3 s behind this machine's" },
    ]);
  });
});
