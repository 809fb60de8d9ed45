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

  /** Bounds every call that `work` makes, retries included. */
  within<T>(milliseconds: number, work: () => Promise<T>): Promise<T> {
    return this.connection.withDeadline(Date.now() + milliseconds, work);
  }
}
