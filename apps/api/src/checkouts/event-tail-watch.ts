import { Inject, Injectable } from '@nestjs/common';
import { findEventTail, type EventTailMemo } from '@tillflow/workflows';
import type { Logger } from 'pino';
import { LOGGER, Settings } from '../providers.js';
import { TemporalAccess } from '../temporal/temporal.provider.js';

/** How long what is known of the tail is good for, and how long a look may take. */
const LOOK_EVERY_MS = 10_000;
const LOOK_WITHIN_MS = 1_000;
/** A tail whose last pass is older than so many of its own pauses, and this long, is not relied on. */
const MISSED_PASSES = 3;
const MISSED_MS = 30_000;

/**
 * Whether the event tail reads what webhooks lose, so that checkouts need not look so often themselves. Asked for each
 * new checkout, so it answers at once, with what the last look found; until the first one, that there is none.
 */
@Injectable()
export class EventTailWatch {
  #memo: EventTailMemo | null = null;
  #lookedAt = 0;

  constructor(
    private readonly temporal: TemporalAccess,
    private readonly settings: Settings,
    @Inject(LOGGER) private readonly logger: Logger,
  ) {}

  /** True only when it runs, has read all there was a moment ago, and comes back at least as often as a checkout would look. */
  get isAwake(): boolean {
    const now = Date.now();
    if (now - this.#lookedAt >= LOOK_EVERY_MS) {
      this.#lookedAt = now;
      void this.#look();
    }
    return this.#memo !== null && isAwake(this.#memo, now, this.settings.values.POLL_INTERVAL_MS);
  }

  async #look(): Promise<void> {
    const { client } = this.temporal;
    const queue = this.settings.values.TEMPORAL_TASK_QUEUE;
    try {
      const found = await this.temporal.within('background', LOOK_WITHIN_MS, () =>
        findEventTail(client.workflow, queue),
      );
      this.#memo = found?.memo ?? null;
    } catch (error) {
      this.logger.debug({ err: error }, 'the event tail could not be looked at');
      this.#memo = null;
    }
  }
}

/** @param pollMs how often a checkout looks by itself. */
export function isAwake({ pass, failing }: EventTailMemo, now: number, pollMs: number): boolean {
  if (pass === undefined || (failing !== null && failing !== undefined) || pass.interval_ms > pollMs) return false;
  // A pass in the future is a clock that is off: how long ago it really was is not known.
  return Math.abs(now - Date.parse(pass.at)) <= Math.max(MISSED_MS, MISSED_PASSES * pass.interval_ms);
}
