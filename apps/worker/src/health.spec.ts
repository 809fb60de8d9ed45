import { Gauge, Registry } from 'prom-client';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { serveHealth } from './health.js';

const registry = new Registry();
const CLOCK = { temporal_offset_ms: 12, provider_offset_ms: null, max_offset_ms: 30_000 };
let isReady = true;
let health: Awaited<ReturnType<typeof serveHealth>>;
beforeAll(async () => {
  health = await serveHealth('127.0.0.1', 0, {
    state: () => Promise.resolve({ status: isReady ? ('ok' as const) : ('clock_wrong' as const), clock: CLOCK }),
    registry,
  });
});
afterAll(() => health.close());

const statusOf = async (path: string): Promise<number> => (await fetch(`${health.url}${path}`)).status;

it('GET /health/ready says whether the worker takes tasks, with any query string', async () => {
  expect(await statusOf('/health/ready?from=probe')).toBe(200);
  isReady = false;
  const answer = await fetch(`${health.url}/health/ready?from=probe`);
  expect(answer.status).toBe(503);
  expect(await answer.json()).toEqual({ status: 'not_ready', reason: 'clock_wrong', clock: CLOCK });
  expect(await statusOf('/health/live')).toBe(200);
  expect(await statusOf('/metrics?x=1')).toBe(200);
});

it('the health server answers 404 for any other path', async () => {
  expect(await statusOf('/')).toBe(404);
  expect(await statusOf('/health/steady')).toBe(404);
});

it('the health server survives a failure to read metrics', async () => {
  const broken = new Gauge({
    name: 'broken',
    help: 'Cannot be read.',
    registers: [registry],
    collect: () => Promise.reject(new Error('not now')),
  });
  await expect(statusOf('/metrics')).rejects.toThrow('fetch failed');
  registry.removeSingleMetric('broken');
  broken.reset();
  expect(await statusOf('/health/live')).toBe(200);
});
