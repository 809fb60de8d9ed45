import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { ExpectedChange, newPaces, type Paces } from './expected-change.js';

beforeEach(() => vi.useFakeTimers({ toFake: ['performance'] }));
afterEach(() => vi.useRealTimers());

/** Expects a change that shows after this time, and follows it. @returns when the process begins to follow it */
function followChange(paces: Paces, showsAfterMs: number): number {
  const at = performance.now();
  const expected = new ExpectedChange({ change: 'started', at }, paces, true);
  const fromMs = expected.pauseMs ?? Infinity;
  vi.advanceTimersByTime(fromMs);
  expect(expected.next()).toBe('follow');
  vi.advanceTimersByTime(Math.max(showsAfterMs - fromMs, 0));
  expected.met();
  return fromMs;
}

describe('an expected change', () => {
  it('is followed from a little before it usually shows by a process that expects few, soon also after a slow time', () => {
    const paces = newPaces();
    const follow = (count: number, showsAfterMs: number): number[] =>
      Array.from({ length: count }, () => {
        vi.advanceTimersByTime(1_000);
        return followChange(paces, showsAfterMs);
      });
    expect(follow(40, 400).at(-1)).toBeCloseTo(240, -1);
    expect(follow(10, 35).at(-1)).toBeLessThan(35);
  });

  it('is followed at once by a process that expected many before, and waits no longer as long as they took', () => {
    const paces = newPaces();
    for (let index = 0; index < 50; index += 1) {
      vi.advanceTimersByTime(2);
      paces.started.announced(performance.now());
    }
    expect(paces.started.isCalm).toBe(false);
    for (let index = 0; index < 40; index += 1) paces.started.learn(false);
    expect(paces.started.usualMs).toBeGreaterThan(1_000);
    // The busy time is over: the latest change shows, and a further one is announced soon after.
    vi.advanceTimersByTime(200);
    paces.started.shown(performance.now() - 200);
    expect(followChange(paces, 40)).toBe(0);
    vi.advanceTimersByTime(100);
    expect(followChange(paces, 40)).toBeCloseTo(24);
  });

  it('that is followed is also read when it does not show', () => {
    vi.advanceTimersByTime(1_000);
    const expected = new ExpectedChange({ change: 'started', at: performance.now() }, newPaces(), true);
    const steps = Array.from({ length: 3 }, () => {
      vi.advanceTimersByTime(expected.pauseMs ?? Infinity);
      return expected.next();
    });
    expect(steps).toEqual(['follow', 'read', 'read']);
  });

  it('is read seldom by a process that expects many: after the usual time, and then after half as long again', () => {
    const paces = newPaces();
    for (let index = 0; index < 50; index += 1) {
      vi.advanceTimersByTime(2);
      void new ExpectedChange({ change: 'started', at: performance.now() }, paces, true);
    }
    // The 51st is none of those that are read early.
    const expected = new ExpectedChange({ change: 'started', at: performance.now() }, paces, true);
    expect(expected.pauseMs).toBe(50);
    vi.advanceTimersByTime(50);
    expect(expected.next()).toBe('read');
    expect(expected.pauseMs).toBe(25);
  });

  it('is read early seldom while that shows nothing, and often while it does', () => {
    const paces = newPaces();
    /** So many changes at a time, each of which shows after this time. @returns how many were first read early */
    const readMany = (count: number, showsAfterMs: number): number => {
      let early = 0;
      for (let index = 0; index < count; index += 1) {
        const at = performance.now();
        const expected = new ExpectedChange({ change: 'started', at }, paces, true);
        const first = expected.pauseMs ?? Infinity;
        if (first < paces.started.usualMs) early += 1;
        for (let elapsedMs = 0; elapsedMs < showsAfterMs; elapsedMs = performance.now() - at) {
          vi.advanceTimersByTime(expected.pauseMs ?? Infinity);
          expected.next();
        }
        expected.met();
      }
      return early;
    };
    // Without a time between two changes, the process expects many.
    vi.spyOn(paces.started, 'isCalm', 'get').mockReturnValue(false);
    readMany(300, 400);
    expect(readMany(160, 400)).toBeLessThanOrEqual(10);
    // A slow time is over.
    paces.started.usualMs = 2_000;
    expect(readMany(40, 50)).toBeGreaterThanOrEqual(4);
    expect(paces.started.usualMs).toBeLessThan(200);
  });

  it('teaches the process nothing when it was announced before someone looked', () => {
    const paces = newPaces();
    vi.advanceTimersByTime(1_000);
    for (let times = 0; times < 50; times += 1) {
      const expected = new ExpectedChange({ change: 'started', at: 0 }, paces, false);
      expect(expected.pauseMs).toBe(0);
      expected.next();
      expected.met();
    }
    expect(paces.started).toMatchObject({ usualMs: 50, isCalm: true });
  });

  it('that is announced after a later one counts as announced at the same time', () => {
    const { started } = newPaces();
    started.announced(5_000);
    started.announced(0);
    expect(started.isCalm).toBe(true);
  });
});
