import { Gauge, Registry } from 'prom-client';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { serveHealth } from './health.js';

const registry = new Registry();
let isReady = true;
let health: Awaited<ReturnType<typeof serveHealth>>;
beforeAll(async () => {
  health = await serveHealth(0, { isReady: () => Promise.resolve(isReady), registry });
});
afterAll(() => health.close());

const statusOf = async (path: string): Promise<number> => (await fetch(`${health.url}${path}`)).status;

it('says whether the worker takes tasks, whatever else is in the address', async () => {
  expect(await statusOf('/health/ready?from=probe')).toBe(200);
  isReady = false;
  expect(await statusOf('/health/ready?from=probe')).toBe(503);
  expect(await statusOf('/health/live')).toBe(200);
  expect(await statusOf('/metrics?x=1')).toBe(200);
});

it('knows no other address', async () => {
  expect(await statusOf('/')).toBe(404);
  expect(await statusOf('/health/steady')).toBe(404);
});

it('outlives metrics that cannot be read', async () => {
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
