import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { WrongKeys } from './wrong-keys.js';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

/** The milliseconds until the answer. */
function delayOf(wrong: WrongKeys, address: string, now = 0): number {
  const before = vi.getTimerCount();
  const send = vi.fn<() => void>();
  wrong.answer(address, send, now);
  if (send.mock.calls.length > 0) return 0;
  expect(vi.getTimerCount()).toBe(before + 1);
  const began = Date.now();
  while (send.mock.calls.length === 0) vi.advanceTimersByTime(1);
  return Date.now() - began;
}

describe('wrong keys', () => {
  it('are answered later and later after ten of one address, up to a second', () => {
    const wrong = new WrongKeys();
    const delays = Array.from({ length: 25 }, () => delayOf(wrong, 'a'));
    expect(delays.slice(0, 12)).toEqual([...Array<number>(10).fill(0), 100, 200]);
    expect(delays.at(-1)).toBe(1_000);
    expect(delayOf(wrong, 'b')).toBe(0);
    expect(delayOf(wrong, 'a', 10_000)).toBe(0);
  });

  it('are answered at once while a thousand answers wait', () => {
    const wrong = new WrongKeys();
    for (let n = 0; n < 1_010; n += 1) wrong.answer('a', () => undefined, 0);
    expect(vi.getTimerCount()).toBe(1_000);
    expect(delayOf(wrong, 'a')).toBe(0);
  });
});
