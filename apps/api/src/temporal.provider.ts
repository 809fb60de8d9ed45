import type { Client, Connection } from '@temporalio/client';
import type { Temporal } from '@tillflow/temporal';

/** The connection to Temporal, injectable by this class. */
export class TemporalAccess {
  readonly #temporal: Temporal;

  constructor(temporal: Temporal) {
    this.#temporal = temporal;
  }

  get client(): Client {
    return this.#temporal.client;
  }

  get connection(): Connection {
    return this.#temporal.connection;
  }

  /**
   * Bounds what `work` does, retries and the pauses between them included.
   * @throws {TooSlowError} when the time is over; what was asked may still happen.
   */
  async within<T>(milliseconds: number, work: () => Promise<T>): Promise<T> {
    let timer: NodeJS.Timeout | undefined;
    const over = new Promise<never>((_, reject) => {
      timer = setTimeout(
        () => reject(new TooSlowError(`Temporal did not answer within ${milliseconds} ms`)),
        milliseconds,
      );
    });
    const done = this.connection.withDeadline(Date.now() + milliseconds, work);
    // Its own failure comes later than the timer's when it was in a pause.
    done.catch(() => undefined);
    try {
      return await Promise.race([done, over]);
    } finally {
      clearTimeout(timer);
    }
  }
}

export class TooSlowError extends Error {
  override readonly name = 'TooSlowError';
}
