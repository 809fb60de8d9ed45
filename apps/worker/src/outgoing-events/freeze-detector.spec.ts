import { afterEach, expect, it, vi } from 'vitest';
import { FreezeDetector } from './freeze-detector.js';

afterEach(() => vi.useRealTimers());

it('a freeze detector counts a freeze after which another worker may have the batches, and no shorter one', () => {
  vi.useFakeTimers({ toFake: ['performance', 'Date', 'setInterval', 'clearInterval'] });
  const detector = new FreezeDetector();
  vi.advanceTimersByTime(60_000);
  expect(detector.count).toBe(0);
  // The clock goes on while the process does not run.
  const now = performance.now();
  const frozen = vi.spyOn(performance, 'now').mockReturnValue(now + 2_900);
  expect(detector.count).toBe(0);
  frozen.mockReturnValue(now + 2_900 + 3_100);
  expect(detector.count).toBe(1);
  expect(detector.count).toBe(1);
  frozen.mockRestore();
  detector.end();
});

it('a freeze detector counts the time in which the machine was suspended', () => {
  vi.useFakeTimers({ toFake: ['performance', 'Date', 'setInterval', 'clearInterval'] });
  const detector = new FreezeDetector();
  vi.setSystemTime(Date.now() + 60_000);
  expect(detector.count).toBe(1);
  // Someone sets the clock back.
  vi.setSystemTime(Date.now() - 60_000);
  expect(detector.count).toBe(1);
  detector.end();
});
