import { afterEach, describe, expect, it, vi } from 'vitest';
import { alone } from './alone.js';

afterEach(() => {
  vi.useRealTimers();
  vi.unstubAllGlobals();
});

/** Locks of one browser, as pages with TLS have them. */
function locksOf() {
  let last: Promise<unknown> = Promise.resolve();
  const request = (_name: string, _options: unknown, work: () => Promise<void>) => (last = last.then(work));
  return { request };
}

describe('work that one window does alone', () => {
  it('begins when the work of another window is over, and its result can have arrived', async () => {
    vi.useFakeTimers();
    vi.stubGlobal('navigator', { locks: locksOf() });
    let [stored, arrived, found] = ['', '', ''];
    const both = Promise.all([
      alone('sale', () => {
        stored = 'first';
        setTimeout(() => (arrived = stored), 50);
      }),
      alone('sale', () => void (found = arrived)),
    ]);
    await vi.advanceTimersByTimeAsync(1_000);
    await both;
    expect(found).toBe('first');
  });

  it.each([
    ['there are no locks', undefined],
    ['another window does not give the lock back', { request: () => Promise.reject(new Error('too late')) }],
  ])('is done once when %s', async (_, locks) => {
    vi.stubGlobal('navigator', { locks });
    const work = vi.fn<() => void>();
    await alone('sale', work);
    expect(work).toHaveBeenCalledOnce();
  });
});
