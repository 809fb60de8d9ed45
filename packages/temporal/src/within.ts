import type { Connection } from '@temporalio/client';

/** The time was over before Temporal answered; what was asked may still happen. */
export class TooSlowError extends Error {
  override readonly name = 'TooSlowError';
}

/**
 * Bounds what `work` does, retries and the pauses between them included.
 * @throws {TooSlowError} when the time is over; what was asked may still happen.
 */
export async function within<T>(
  connection: Pick<Connection, 'withDeadline'>,
  milliseconds: number,
  work: () => Promise<T>,
): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const over = new Promise<never>((_, reject) => {
    timer = setTimeout(
      () => reject(new TooSlowError(`Temporal did not answer within ${milliseconds} ms`)),
      milliseconds,
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
