import { setTimeout as sleep } from 'node:timers/promises';

const FIRST_PAUSE_MS = 1_000;
const LONGEST_PAUSE_MS = 30_000;

/** How something is tried again and again. */
export type Patience = {
  /** Ends the tries: the last failure, or the signal's reason where none is known, is thrown then. */
  readonly signal: AbortSignal;
  /** Whether the same may go well later. */
  readonly isWorthAnother: (error: unknown) => boolean;
  /** A try failed, and the next one is made after `pauseMs` milliseconds. */
  readonly failed: (error: unknown, pauseMs: number) => void;
};

/** The pause after failed try number `tries` (from 1): 1 s, 2 s, … 30 s, of which chance takes up to a half. */
export function pauseAfter(tries: number, random: () => number = Math.random): number {
  const longest = Math.min(FIRST_PAUSE_MS * 2 ** (tries - 1), LONGEST_PAUSE_MS);
  return Math.round(longest * (1 - random() / 2));
}

/**
 * Tries until it goes well.
 * @throws the failure of a try that is not worth another, or the last one when the signal ends the tries.
 */
export async function persist<T>(work: () => Promise<T>, { signal, isWorthAnother, failed }: Patience): Promise<T> {
  for (let tries = 1; ; tries += 1) {
    signal.throwIfAborted();
    try {
      return await work();
    } catch (error) {
      if (signal.aborted || !isWorthAnother(error)) throw error;
      const pauseMs = pauseAfter(tries);
      failed(error, pauseMs);
      await sleep(pauseMs, undefined, { signal }).catch(() => undefined);
      if (signal.aborted) throw error;
    }
  }
}
