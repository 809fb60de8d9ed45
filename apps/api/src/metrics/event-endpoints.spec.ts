import { Registry } from 'prom-client';
import { expect, it } from 'vitest';
import { EventEndpointGauges, type ReadEndpoints } from './event-endpoints.js';

const NOW = Date.parse('2026-03-10T09:00:00.000Z');

const health = (failing_since: string | null, disabled: 'gone' | null = null) => ({
  failing_since,
  failure: null,
  disabled: disabled === null ? null : { because: disabled, since: '2026-03-10T08:00:00.000Z' },
});

async function shown(read: ReadEndpoints): Promise<Record<string, number>> {
  const registry = new Registry();
  new EventEndpointGauges(registry).show(read, NOW);
  const gauges = await registry.getMetricsAsJSON();
  return Object.fromEntries(
    gauges.flatMap(({ name, values }) =>
      values.map(({ labels, value }) => [[name, ...Object.values(labels)].join(' '), value]),
    ),
  );
}

it('the gauges of event endpoints show how many accept, and since when one does not', async () => {
  const endpoints = [
    {},
    { health: health(null) },
    { health: health('2026-03-10T08:59:00.000Z') },
    { health: health('2026-03-10T08:50:00.000Z') },
    { health: health('2026-03-10T07:00:00.000Z', 'gone') },
  ];
  expect(await shown({ endpoints, feedSince: NOW - 90_000 })).toEqual({
    'tillflow_event_endpoints enabled': 2,
    'tillflow_event_endpoints failing': 2,
    'tillflow_event_endpoints disabled': 1,
    tillflow_event_endpoint_failing_age_seconds: 600,
    tillflow_event_feed_age_seconds: 90,
  });
});

it('the gauge of the feed shows a feed that does not run only while there is an endpoint', async () => {
  expect(await shown({ endpoints: [], feedSince: null })).toMatchObject({ tillflow_event_feed_age_seconds: 0 });
  const { tillflow_event_feed_age_seconds: age } = await shown({ endpoints: [{}], feedSince: null });
  expect(age).toBeGreaterThan(1e9);
});
