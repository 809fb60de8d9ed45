import { Injectable } from '@nestjs/common';
import { within } from '@tillflow/temporal';
import { TemporalAccess } from '../temporal/temporal.provider.js';

const WITHIN_MS = 1_000;
/** How old an answer may be, in milliseconds. */
const KEPT_MS = 1_000;

/**
 * Whether Temporal answers. The route has no rate limit, so it makes at most one call per second and process. That call
 * needs no place among the other calls.
 */
@Injectable()
export class Readiness {
  #askedAt = Number.NEGATIVE_INFINITY;
  #answer: Promise<boolean> = Promise.resolve(false);

  constructor(private readonly temporal: TemporalAccess) {}

  isReady(now = performance.now()): Promise<boolean> {
    if (now - this.#askedAt >= KEPT_MS) {
      this.#askedAt = now;
      this.#answer = this.#ask();
    }
    return this.#answer;
  }

  async #ask(): Promise<boolean> {
    const { client, connection } = this.temporal;
    try {
      await within(connection, WITHIN_MS, () =>
        connection.workflowService.describeNamespace({ namespace: client.options.namespace }),
      );
      return true;
    } catch {
      return false;
    }
  }
}
