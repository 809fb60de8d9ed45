import { setTimeout as sleep } from 'node:timers/promises';
import { Inject, Injectable } from '@nestjs/common';
import { Pauses, type Pause } from '@tillflow/temporal';
import type { Logger } from 'pino';
import { Problem } from '../problems/problem.js';
import { LOGGER, Settings } from '../providers.js';
import { timeLeft } from '../temporal/request-budget.js';
import { TemporalAccess } from '../temporal/temporal.provider.js';

/** The pause is read at most this often, and a read may take this long. Milliseconds. */
const READ_EVERY_MS = 3_000;
const READ_WITHIN_MS = 1_000;
/** A caller waits for the read when the answer is older than this: with the read, at most ten seconds. Milliseconds. */
const KEPT_MS = 8_000;
/** A caller waits for at most this share of the time left to its request. */
const WAIT_SHARE = 1 / 4;
/** A person ends a pause, so callers come back seldom. Seconds. */
const RETRY_AFTER_S = 30;

/**
 * Whether new checkouts and attempts are accepted. Each of them asks, so the answer usually comes from the latest read,
 * without waiting. While Temporal does not answer, the last answer stays.
 */
@Injectable()
export class Acceptance {
  readonly #pauses: Pauses;
  #pause: Pause | null = null;
  #reading: Promise<void> = Promise.resolve();
  #beganAt = Number.NEGATIVE_INFINITY;
  /** When the read of the present answer began. */
  #asOf = Number.NEGATIVE_INFINITY;

  constructor(
    temporal: TemporalAccess,
    settings: Settings,
    @Inject(LOGGER) private readonly logger: Logger,
  ) {
    this.#pauses = new Pauses(temporal, {
      taskQueue: settings.values.TEMPORAL_TASK_QUEUE,
      withinMs: READ_WITHIN_MS,
      bounded: temporal.inBackground,
    });
  }

  /** Null while new checkouts are accepted. @param now milliseconds of a clock that only grows */
  async pause(now = performance.now()): Promise<Pause | null> {
    if (now - this.#beganAt >= READ_EVERY_MS) {
      this.#beganAt = now;
      this.#reading = this.#read(now);
    }
    if (now - this.#asOf >= KEPT_MS) {
      const waitMs = Math.min(READ_WITHIN_MS, Math.max(timeLeft(), 0) * WAIT_SHARE);
      await Promise.race([this.#reading, sleep(waitMs, undefined, { ref: false })]);
    }
    return this.#pause;
  }

  async #read(beganAt: number): Promise<void> {
    try {
      this.#pause = await this.#pauses.read();
      this.#asOf = beganAt;
    } catch (error) {
      this.logger.warn({ err: error }, 'the pause cannot be read; the last known one stays in force');
    }
  }
}

export function notAccepting({ reason }: Pause): Problem {
  return new Problem('not_accepting', `Payments are paused: ${reason}`, { retryAfterSeconds: RETRY_AFTER_S });
}
