import type { Connection } from '@temporalio/client';
import { watched } from './sendings.js';

/** The call's own failure, which knows more, comes before the timer's. */
const GRACE_MS = 50;

/**
 * What a call to Temporal is for: `write` starts or changes a checkout, `read` looks at one, `list` searches, `hint`
 * passes a webhook on, `background` is what no caller waits for.
 */
export type Lane = 'write' | 'read' | 'list' | 'hint' | 'background';

/** Runs `work` within so many milliseconds, and with as much at a time of its lane as the process allows. */
export type Bounded = <T>(lane: Lane, milliseconds: number, work: () => Promise<T>) => Promise<T>;

/** The time was over before Temporal answered; what was asked may still happen, unless `hadNoEffect` says otherwise. */
export class TooSlowError extends Error {
  override readonly name = 'TooSlowError';
}

/**
 * Bounds what `work` does, retries and the pauses between them included.
 * @throws {TooSlowError} when the time is over; what was asked may still happen.
 */
export function within<T>(
  connection: Pick<Connection, 'withDeadline'>,
  milliseconds: number,
  work: () => Promise<T>,
): Promise<T> {
  return watched(() => bounded(connection, milliseconds, work));
}

async function bounded<T>(
  connection: Pick<Connection, 'withDeadline'>,
  milliseconds: number,
  work: () => Promise<T>,
): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const over = new Promise<never>((_, reject) => {
    timer = setTimeout(
      () => reject(new TooSlowError(`Temporal did not answer within ${milliseconds} ms`)),
      milliseconds + GRACE_MS,
    );
  });
  const done = connection.withDeadline(Date.now() + milliseconds, work);
  // Its own failure comes later than the timer's when it was in a pause.
  done.catch(() => undefined);
  try {
    return await Promise.race([done, over]);
  } finally {
    clearTimeout(timer);
  }
}
