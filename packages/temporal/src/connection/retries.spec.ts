import { describe, expect, it } from 'vitest';
import { pauseAfter, retryUntilDone } from './retries.js';

describe('pauseAfter', () => {
  it('grows from 1 s to 30 s, less up to a half at random', () => {
    const longest = (tries: number): number => pauseAfter(tries, () => 0);
    expect([1, 2, 3, 4, 5, 6, 100].map(longest)).toEqual([1_000, 2_000, 4_000, 8_000, 16_000, 30_000, 30_000]);
    expect(pauseAfter(1, () => 1)).toBe(500);
  });
});

describe('retryUntilDone', () => {
  const never = { isRetryable: () => true, failed: () => undefined };

  it('throws the last failure when its signal ends the retries', async () => {
    const end = new AbortController();
    const work = retryUntilDone(() => Promise.reject(new Error('down')), {
      ...never,
      signal: end.signal,
      failed: () => end.abort(),
    });
    await expect(work).rejects.toThrow('down');
  });

  it('makes no try when its signal was aborted before', async () => {
    let tries = 0;
    const signal = AbortSignal.abort(new Error('over'));
    await expect(retryUntilDone(() => Promise.resolve((tries += 1)), { ...never, signal })).rejects.toThrow('over');
    expect(tries).toBe(0);
  });

  it('makes one try when the failure is not retryable', async () => {
    const { signal } = new AbortController();
    const isRetryable = (): boolean => false;
    await expect(
      retryUntilDone(() => Promise.reject(new Error('wrong')), { ...never, signal, isRetryable }),
    ).rejects.toThrow('wrong');
  });
});
