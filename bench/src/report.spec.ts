import { describe, expect, it } from 'vitest';
import { isMet, ratio, type Bound } from './report.js';

const met = (bound?: Bound): boolean => isMet(ratio('a ratio', { value: 1.02, low: 0.98, high: 1.06 }, bound));

describe('a bound', () => {
  it('is met by the estimate', () => {
    expect([met({ atLeast: 1 }), met({ atLeast: 1.03 })]).toEqual([true, false]);
    expect([met({ atMost: 1.05 }), met({ atMost: 1 })]).toEqual([true, false]);
    expect(met()).toBe(true);
  });

  it('by the interval is met only when the whole interval meets it', () => {
    expect([met({ atLeast: 0.98, byInterval: true }), met({ atLeast: 1, byInterval: true })]).toEqual([true, false]);
    expect([met({ atMost: 1.06, byInterval: true }), met({ atMost: 1.05, byInterval: true })]).toEqual([true, false]);
  });

  it('by the interval is missed when nothing was measured', () => {
    const nothing = { value: Number.NaN, low: Number.NaN, high: Number.NaN };
    expect(isMet(ratio('a ratio', nothing, { atLeast: 1, byInterval: true }))).toBe(false);
  });
});
