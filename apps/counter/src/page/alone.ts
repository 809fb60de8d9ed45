import { pause } from './pause.js';

/** How long the page waits for another window. Milliseconds. */
const WAITS_MS = 1_000;
/** What one window stores may reach another one so much later. Milliseconds. */
const SPREADS_WITHIN_MS = 100;

/**
 * Runs the work while no other window of the device runs work of this name, and what the others have stored is here.
 * Browsers offer that only to pages with TLS: elsewhere the work runs at once.
 */
export async function alone(name: string, work: () => void): Promise<void> {
  let hasRun = false;
  const run = (): void => {
    if (hasRun) return;
    hasRun = true;
    work();
  };
  // Absent without TLS.
  const locks = navigator.locks as LockManager | undefined;
  const workThenSpread = async (): Promise<void> => {
    run();
    await pause(SPREADS_WITHIN_MS);
  };
  await locks?.request(name, { signal: AbortSignal.timeout(WAITS_MS) }, workThenSpread).catch(() => undefined);
  run();
}
