import { describe, expect, it } from 'vitest';
import { pauseAfter, persist } from './patience.js';

describe('a pause before another try', () => {
  it('grows from 1 s to 30 s, and chance takes up to a half', () => {
    const longest = (tries: number): number => pauseAfter(tries, () => 0);
    expect([1, 2, 3, 4, 5, 6, 100].map(longest)).toEqual([1_000, 2_000, 4_000, 8_000, 16_000, 30_000, 30_000]);
    expect(pauseAfter(1, () => 1)).toBe(500);
  });
});

describe('what is tried again', () => {
  const never = { isWorthAnother: () => true, failed: () => undefined };

  it('ends with its signal, and with the failure that it met', async () => {
    const end = new AbortController();
    const work = persist(() => Promise.reject(new Error('down')), {
      ...never,
      signal: end.signal,
      failed: () => end.abort(),
    });
    await expect(work).rejects.toThrow('down');
  });

  it('is not begun when it was ended before', async () => {
    let tries = 0;
    const signal = AbortSignal.abort(new Error('over'));
    await expect(persist(() => Promise.resolve((tries += 1)), { ...never, signal })).rejects.toThrow('over');
    expect(tries).toBe(0);
  });

  it('is tried once where another try would fail too', async () => {
    const { signal } = new AbortController();
    const isWorthAnother = (): boolean => false;
    await expect(
      persist(() => Promise.reject(new Error('wrong')), { ...never, signal, isWorthAnother }),
    ).rejects.toThrow('wrong');
  });
});
