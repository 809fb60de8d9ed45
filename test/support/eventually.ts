import { setTimeout as sleep } from 'node:timers/promises';

const FIRST_PAUSE_MS = 30;
const GROWTH = 1.3;
const LONGEST_PAUSE_MS = 500;

/**
 * The check's result as soon as it does not throw; after `timeoutMs`, its last error. The pauses grow, because a
 * request every 50 ms while a test waits for a minute costs more CPU than what the test waits for.
 */
export async function eventually<T>(check: () => T | Promise<T>, { timeoutMs = 90_000 } = {}): Promise<T> {
  const giveUpAt = Date.now() + timeoutMs;
  for (let pauseMs = FIRST_PAUSE_MS; ; pauseMs = Math.min(pauseMs * GROWTH, LONGEST_PAUSE_MS)) {
    try {
      return await check();
    } catch (error) {
      if (Date.now() + pauseMs > giveUpAt) throw error;
    }
    await sleep(pauseMs);
  }
}
