import { describe, expect, it } from 'vitest';
import { Random } from './random.js';

describe('randomness', () => {
  it('repeats with its seed, and differs for another seed and in each stream', () => {
    const drawn = (random: Random): string => random.letters(40);
    const all = [new Random('a'), new Random('b'), new Random('a').stream('x'), new Random('a').stream('y')].map(drawn);
    expect(new Set(all).size).toBe(4);
    expect(drawn(new Random('a'))).toBe(all[0]);
    expect(drawn(new Random('a').stream('y'))).toBe(all[3]);
  });

  it('of one stream does not depend on draws from another', () => {
    const [quiet, busy] = [new Random('a'), new Random('a')];
    expect(busy.stream('x').letters(5)).toBe(quiet.stream('x').letters(5));
    busy.stream('y').letters(100);
    expect(busy.stream('x').letters(5)).toBe(quiet.stream('x').letters(5));
  });

  it('does not repeat an id in a hundred thousand', () => {
    const random = new Random('a');
    const ids = new Set(Array.from({ length: 100_000 }, () => random.letters(19)));
    expect(ids.size).toBe(100_000);
    expect([...ids].every((id) => /^[0-9a-z]{19}$/.test(id))).toBe(true);
  });
});
