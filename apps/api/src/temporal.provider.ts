import type { Client, Connection } from '@temporalio/client';
import { within, type Temporal } from '@tillflow/temporal';

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

  /** @throws {TooSlowError} when the time is over; what was asked may still happen. */
  within<T>(milliseconds: number, work: () => Promise<T>): Promise<T> {
    return within(this.connection, milliseconds, work);
  }
}
