import { describe, expect, it } from 'vitest';
import { Coverage } from './coverage.js';
import { Plans } from './plan.js';

const LIVES = 10_000;

describe('the plan of a run', () => {
  it(`draws each combination of fault, moment and action at least five times in ${LIVES} lives`, () => {
    const plans = new Plans(Math.floor(Math.random() * 2 ** 31));
    const coverage = new Coverage();
    for (let life = 0; life < LIVES; life += 1) coverage.add(plans.life(life).beats);
    expect(coverage.least()).toBeGreaterThanOrEqual(5);
  });

  it('depends on the seed and the number of the life only', () => {
    const [first, second] = [new Plans(7), new Plans(7)];
    first.life(3);
    expect(second.life(2_000)).toEqual(first.life(2_000));
    expect(new Plans(8).life(2_000)).not.toEqual(first.life(2_000));
  });
});
