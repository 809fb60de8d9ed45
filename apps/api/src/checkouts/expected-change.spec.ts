import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { ExpectedChange, newPaces, type Paces } from './expected-change.js';

beforeEach(() => vi.useFakeTimers({ toFake: ['performance'] }));
afterEach(() => vi.useRealTimers());

/** Expects a change that shows after this time. @returns when it was seen, and the number of reads */
function expectChange(paces: Paces, showsAfterMs: number): { readonly seenMs: number; readonly reads: number } {
  const at = performance.now();
  const expected = new ExpectedChange({ change: 'started', at }, paces);
  for (let reads = 1; ; reads += 1) {
    const { pauseMs } = expected;
    if (pauseMs === null) return { seenMs: Infinity, reads };
    vi.advanceTimersByTime(pauseMs);
    expected.read();
    if (performance.now() - at >= showsAfterMs) {
      expected.met();
      return { seenMs: performance.now() - at, reads };
    }
  }
}

describe('an expected change', () => {
  it('is seen within 5 ms by a process that expects few changes, with few reads', () => {
    const paces = newPaces();
    const seen = Array.from({ length: 40 }, () => {
      vi.advanceTimersByTime(100);
      return expectChange(paces, 35);
    }).slice(20);
    expect(Math.max(...seen.map(({ seenMs }) => seenMs))).toBeLessThan(40);
    expect(Math.max(...seen.map(({ reads }) => reads))).toBeLessThanOrEqual(3);
  });

  it('is read seldom by a process that expects many: after the usual time, and then after half as long again', () => {
    const paces = newPaces();
    for (let index = 0; index < 50; index += 1) {
      vi.advanceTimersByTime(2);
      void new ExpectedChange({ change: 'started', at: performance.now() }, paces);
    }
    // The 51st is none of those that are read early.
    const expected = new ExpectedChange({ change: 'started', at: performance.now() }, paces);
    expect(expected.pauseMs).toBe(50);
    vi.advanceTimersByTime(50);
    expected.read();
    expect(expected.pauseMs).toBe(25);
  });
});
