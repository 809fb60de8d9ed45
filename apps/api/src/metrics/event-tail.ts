import type { EventTailMemo } from '@tillflow/workflows';
import { Gauge, type Registry } from 'prom-client';

/** A running tail: its memo, and its start in milliseconds. */
export type RunningTail = { readonly memo: EventTailMemo; readonly startedAt: number };

/** Gauges of the event tail, from its memo. */
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
      help: 'Whether the event tail runs. Without it, each checkout polls for lost webhooks.',
      registers,
    });
    this.#passAge = new Gauge({
      name: 'tillflow_event_tail_pass_age_seconds',
      help: 'Seconds since the last complete pass of the tail, or since its start.',
      registers,
    });
    this.#watermarkAge = new Gauge({
      name: 'tillflow_event_tail_watermark_age_seconds',
      help: 'The age of the newest event up to which all events are delivered. It is high when there are few events.',
      registers,
    });
    this.#failing = new Gauge({
      name: 'tillflow_event_tail_failing',
      help: 'Whether the passes of the tail fail now.',
      registers,
    });
    this.#unplaced = new Gauge({
      name: 'tillflow_event_tail_unplaced_events',
      help: 'Events that could not be delivered or read yet. The tail stores at most 50.',
      registers,
    });
    this.#notices = new Gauge({
      name: 'tillflow_event_tail_notices',
      help: 'Notices for an operator that belong to no checkout, by code: plans, transfers, disputes, unreadable events.',
      labelNames: ['code'],
      registers,
    });
  }

  /** @param tail null when no tail runs. @param now milliseconds. */
  show(tail: RunningTail | null, now: number): void {
    const { pass, failing = null, unplaced = [], notices = [] } = tail?.memo ?? {};
    this.#up.set(tail === null ? 0 : 1);
    // Before its first complete pass, the age counts from its start: the tail may be stuck.
    const readAt = pass === undefined ? (tail?.startedAt ?? now) : Date.parse(pass.at);
    this.#passAge.set(Math.max(0, now - readAt) / 1_000);
    this.#watermarkAge.set(pass === undefined ? 0 : Math.max(0, now - Date.parse(pass.watermark)) / 1_000);
    this.#failing.set(failing === null ? 0 : 1);
    this.#unplaced.set(unplaced.length);
    this.#notices.reset();
    for (const { code } of notices) this.#notices.inc({ code });
  }
}
