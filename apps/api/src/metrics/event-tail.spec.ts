import { Registry } from 'prom-client';
import { describe, expect, it } from 'vitest';
import { EventTailGauges } from './event-tail.js';

const NOW = Date.parse('2026-03-10T09:00:00.000Z');

async function shown(...args: Parameters<EventTailGauges['show']>): Promise<Record<string, number>> {
  const registry = new Registry();
  new EventTailGauges(registry).show(...args);
  const gauges = await registry.getMetricsAsJSON();
  return Object.fromEntries(gauges.map(({ name, values }) => [name, values[0]?.value ?? 0]));
}

describe('the gauges of the event tail', () => {
  it('show the age since its start for a tail without a complete pass', async () => {
    const gauges = await shown({ memo: {}, startedAt: NOW - 600_000 }, NOW);
    expect(gauges).toMatchObject({ tillflow_event_tail_up: 1, tillflow_event_tail_pass_age_seconds: 600 });
  });

  it('show the age of the last complete pass, and nothing without a running tail', async () => {
    const pass = { at: '2026-03-10T08:59:50.000Z', watermark: '2026-03-10T08:00:00.000Z', interval_ms: 15_000 };
    expect(await shown({ memo: { pass }, startedAt: NOW - 600_000 }, NOW)).toMatchObject({
      tillflow_event_tail_pass_age_seconds: 10,
      tillflow_event_tail_watermark_age_seconds: 3_600,
    });
    expect(await shown(null, NOW)).toMatchObject({
      tillflow_event_tail_up: 0,
      tillflow_event_tail_pass_age_seconds: 0,
    });
  });
});
