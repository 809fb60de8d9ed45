import { Inject, Injectable } from '@nestjs/common';
import type { Client } from '@temporalio/client';
import { findEventTail, type EventTailMemo } from '@tillflow/workflows';
import type { Logger } from 'pino';
import { LOGGER, Settings } from '../providers.js';
import { TemporalAccess } from '../temporal/temporal.provider.js';

/** How often the tail is read, and how long a read may take. Milliseconds. */
const READ_EVERY_MS = 10_000;
const READ_WITHIN_MS = 1_000;
/** A tail is not reliable when its last pass is older than this many of its intervals, and older than this time. */
const MISSED_PASSES = 3;
const MISSED_MS = 30_000;

/**
 * Whether the event tail finds the events of lost webhooks, so that checkouts can poll less often. Each new checkout
 * asks, so the answer comes from the latest read, without waiting. Before the first read the answer is no. Also whether
 * the tail sees the provider fail.
 */
@Injectable()
export class EventTailWatch {
  #memo: EventTailMemo | null = null;
  #stepAt: number | null = null;
  #readAt = 0;
  #reading: Promise<void> = Promise.resolve();

  constructor(
    private readonly temporal: TemporalAccess,
    private readonly settings: Settings,
    @Inject(LOGGER) private readonly logger: Logger,
  ) {}

  /** True only when the tail runs, was up to date a moment ago, and runs at least as often as a checkout would poll. */
  get isAwake(): boolean {
    const now = Date.now();
    void this.#latest(now);
    return this.#memo !== null && isAwake(this.#memo, now, this.settings.values.POLL_INTERVAL_MS);
  }

  /**
   * Since when the provider has not served the tail (ISO 8601 UTC); null: it serves the tail, or no tail was at work a
   * moment ago. Waits for a read that is due.
   */
  async providerFailingSince(): Promise<string | null> {
    const now = Date.now();
    await this.#latest(now);
    return this.#memo === null ? null : providerFailingSince(this.#memo, this.#stepAt, now);
  }

  /** Reads the tail when that is due. Does not throw. */
  #latest(now: number): Promise<void> {
    if (now - this.#readAt >= READ_EVERY_MS) {
      this.#readAt = now;
      this.#reading = this.#read();
    }
    return this.#reading;
  }

  async #read(): Promise<void> {
    const { client } = this.temporal;
    const queue = this.settings.values.TEMPORAL_TASK_QUEUE;
    try {
      const read = await this.temporal.within('background', READ_WITHIN_MS, async () => {
        const found = await findEventTail(client.workflow, queue);
        const isFailing = found !== null && blamesProvider(found.memo.failing);
        return { memo: found?.memo ?? null, stepAt: isFailing ? await lastStepAt(client, found.run) : null };
      });
      this.#memo = read.memo;
      this.#stepAt = read.stepAt;
    } catch (error) {
      this.logger.debug({ err: error }, 'the event tail cannot be read');
      this.#memo = null;
    }
  }
}

/**
 * Failures of a pass that say nothing about the provider: of Temporal, of the worker, a bug, a key that may not read
 * events.
 */
const NOT_THE_PROVIDER: ReadonlySet<string> = new Set([
  'temporal_unavailable',
  'activity_failed',
  'pass_failed',
  'not_authorized',
]);

type Failing = EventTailMemo['failing'];

function blamesProvider(failing: Failing): failing is NonNullable<Failing> {
  return failing !== null && failing !== undefined && !NOT_THE_PROVIDER.has(failing.code);
}

/**
 * @param stepAt when a worker last took a step of the tail, in ms; null: not known. The memo of a tail that fails stays
 * as it is when the tail's workers are gone.
 */
export function providerFailingSince(
  { pass, failing }: EventTailMemo,
  stepAt: number | null,
  now: number,
): string | null {
  if (!blamesProvider(failing) || stepAt === null) return null;
  return isRecent(stepAt, pass?.interval_ms ?? 0, now) ? failing.since : null;
}

/** A worker's step is among this many latest events: a pass has ten, and a tail without workers adds three. */
const LATEST_EVENTS = 20;

/** When a worker last completed a workflow task of this run, by Temporal's clock, in ms; null: not lately. */
async function lastStepAt(
  { workflowService, options: { namespace } }: Client,
  { workflowId, runId }: { readonly workflowId: string; readonly runId: string },
): Promise<number | null> {
  const { history } = await workflowService.getWorkflowExecutionHistoryReverse({
    namespace,
    execution: { workflowId, runId },
    maximumPageSize: LATEST_EVENTS,
  });
  const step = history?.events?.find((event) => event.workflowTaskCompletedEventAttributes);
  return step === undefined ? null : Number(step.eventTime?.seconds ?? 0) * 1_000;
}

/** @param pollMs how often a checkout polls without the tail. */
export function isAwake({ pass, failing }: EventTailMemo, now: number, pollMs: number): boolean {
  if (pass === undefined || (failing !== null && failing !== undefined) || pass.interval_ms > pollMs) return false;
  return isRecent(Date.parse(pass.at), pass.interval_ms, now);
}

/** A sign of the tail in the future means that a clock is wrong: its true age is not known. */
function isRecent(at: number, intervalMs: number, now: number): boolean {
  return Math.abs(now - at) <= Math.max(MISSED_MS, MISSED_PASSES * intervalMs);
}
