import type { EventEndpointMemo } from '@tillflow/workflows';
import { Gauge, type Registry } from 'prom-client';

/** The endpoints, and the time up to which they have all events: milliseconds since 1970 UTC; null: no feed runs. */
export type ReadEndpoints = {
  readonly endpoints: readonly Pick<EventEndpointMemo, 'health'>[];
  readonly feedSince: number | null;
};

/** Gauges of outgoing events, from the memos of the endpoints and of the feed. */
export class EventEndpointGauges {
  readonly #endpoints: Gauge;
  readonly #failing: Gauge;
  readonly #feedAge: Gauge;

  constructor(registry: Registry) {
    const registers = [registry];
    this.#endpoints = new Gauge({
      name: 'tillflow_event_endpoints',
      help: 'Endpoints that get events, by state: enabled, failing (the latest delivery failed) or disabled.',
      labelNames: ['state'],
      registers,
    });
    this.#failing = new Gauge({
      name: 'tillflow_event_endpoint_failing_age_seconds',
      help: 'For how long an enabled endpoint has accepted nothing that was sent to it, at most; 0 when all accept.',
      registers,
    });
    this.#feedAge = new Gauge({
      name: 'tillflow_event_feed_age_seconds',
      help: 'Seconds since the time up to which every enabled endpoint has all events; 0 without an endpoint.',
      registers,
    });
  }

  /** @param now milliseconds since 1970 UTC */
  show({ endpoints, feedSince }: ReadEndpoints, now: number): void {
    const enabled = endpoints.filter(({ health }) => !health?.disabled);
    const failing = enabled.flatMap(({ health }) => health?.failing_since ?? []);
    this.#endpoints.set({ state: 'enabled' }, enabled.length - failing.length);
    this.#endpoints.set({ state: 'failing' }, failing.length);
    this.#endpoints.set({ state: 'disabled' }, endpoints.length - enabled.length);
    this.#failing.set(Math.max(0, ...failing.map((since) => now - Date.parse(since))) / 1_000);
    this.#feedAge.set(endpoints.length === 0 ? 0 : Math.max(0, now - (feedSince ?? 0)) / 1_000);
  }
}
