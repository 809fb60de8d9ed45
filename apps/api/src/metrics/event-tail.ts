import type { EventTailMemo } from '@tillflow/workflows';
import { Gauge, type Registry } from 'prom-client';

/** The tail that runs, what it last said, and when it was started, in milliseconds. */
export type RunningTail = { readonly memo: EventTailMemo; readonly startedAt: number };

/** What the event tail says of itself, as gauges. */
export class EventTailGauges {
  readonly #up: Gauge;
  readonly #passAge: Gauge;
  readonly #watermarkAge: Gauge;
  readonly #failing: Gauge;
  readonly #unplaced: Gauge;
  readonly #notices: Gauge;

  constructor(registry: Registry) {
    const registers = [registry];
    this.#up = new Gauge({
      name: 'tillflow_event_tail_up',
      help: 'Whether the event tail runs: without it, each checkout polls for the webhooks it lost.',
      registers,
    });
    this.#passAge = new Gauge({
      name: 'tillflow_event_tail_pass_age_seconds',
      help: 'Since the tail last read all there was, or was started.',
      registers,
    });
    this.#watermarkAge = new Gauge({
      name: 'tillflow_event_tail_watermark_age_seconds',
      help: 'The age of the newest event that was delivered with all before it. Where little happens, it is old.',
      registers,
    });
    this.#failing = new Gauge({
      name: 'tillflow_event_tail_failing',
      help: 'Whether its passes fail now.',
      registers,
    });
    this.#unplaced = new Gauge({
      name: 'tillflow_event_tail_unplaced_events',
      help: 'Events that could not be delivered, or not be read, yet. At most 50 are kept.',
      registers,
    });
    this.#notices = new Gauge({
      name: 'tillflow_event_tail_notices',
      help: 'What an operator should know of and no checkout shows, by code: plans, transfers, disputes, unreadable events.',
      labelNames: ['code'],
      registers,
    });
  }

  /** @param tail null: none runs. @param now milliseconds. */
  show(tail: RunningTail | null, now: number): void {
    const { pass, failing = null, unplaced = [], notices = [] } = tail?.memo ?? {};
    this.#up.set(tail === null ? 0 : 1);
    // One that has not come to the end of a pass since it was started may never.
    const readAt = pass === undefined ? (tail?.startedAt ?? now) : Date.parse(pass.at);
    this.#passAge.set(Math.max(0, now - readAt) / 1_000);
    this.#watermarkAge.set(pass === undefined ? 0 : Math.max(0, now - Date.parse(pass.watermark)) / 1_000);
    this.#failing.set(failing === null ? 0 : 1);
    this.#unplaced.set(unplaced.length);
    this.#notices.reset();
    for (const { code } of notices) this.#notices.inc({ code });
  }
}
