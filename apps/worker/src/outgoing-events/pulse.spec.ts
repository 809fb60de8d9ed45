import { afterEach, expect, it, vi } from 'vitest';
import { Pulse } from './pulse.js';

afterEach(() => vi.useRealTimers());

it('a pulse counts a freeze after which another worker may have the batches, and no shorter one', () => {
  vi.useFakeTimers({ toFake: ['performance', 'setInterval', 'clearInterval'] });
  const pulse = new Pulse();
  vi.advanceTimersByTime(60_000);
  expect(pulse.freezes).toBe(0);
  // The clock goes on while the process does not run.
  const now = performance.now();
  const frozen = vi.spyOn(performance, 'now').mockReturnValue(now + 2_900);
  expect(pulse.freezes).toBe(0);
  frozen.mockReturnValue(now + 2_900 + 3_100);
  expect(pulse.freezes).toBe(1);
  expect(pulse.freezes).toBe(1);
  frozen.mockRestore();
  pulse.end();
});
