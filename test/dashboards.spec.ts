import { randomUUID } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { findPrometheus, freePorts, PrometheusServer, type Series } from '@tillflow/tools';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { z } from 'zod';
import { QUICK_TAIL, TailRun } from './support/event-tail.js';
import { eventually } from './support/eventually.js';
import { FULL } from './support/full.js';
import { readExpression } from './support/prometheus.js';

import { Receiver } from './support/receiver.js';
import { chargeIdOf, KEYS, Stack } from './support/stack.js';
import { WorkerProcess } from './support/worker-process.js';

const DEPLOY = new URL('../deploy/', import.meta.url);
const FOLDER = new URL('grafana/dashboards/', DEPLOY);

const panel = z.object({
  id: z.int(),
  type: z.enum(['row', 'timeseries', 'stat']),
  title: z.string().min(3),
  description: z.string().min(3).optional(),
  gridPos: z.object({ x: z.int(), y: z.int(), w: z.int().max(24), h: z.int() }),
  targets: z.array(z.object({ expr: z.string(), legendFormat: z.string().min(1) })).default([]),
});
const dashboard = z.object({ uid: z.string(), title: z.string(), panels: z.array(panel) });

const names = (await readdir(FOLDER)).toSorted();
const dashboards = await Promise.all(
  names.map(async (name) => dashboard.parse(JSON.parse(await readFile(new URL(name, FOLDER), 'utf8')))),
);
const panels = dashboards.flatMap(({ title, panels: all }) =>
  all
    .filter(({ type }) => type !== 'row')
    .map(({ title: of, description, targets }) => ({ name: `${title}, ${of}`, description, targets })),
);

/** As Grafana fills in an expression, for all accounts. */
const filled = (expression: string, interval: string): string =>
  expression.replaceAll('$__rate_interval', interval).replaceAll('$account', '.*');

it('there are dashboards for the business, the service, the engine and the provider', () => {
  expect(names).toEqual(['business.json', 'engine.json', 'provider.json', 'service.json']);
  expect(new Set(dashboards.map(({ uid }) => uid)).size).toBe(names.length);
});

describe.each(panels)('the panel $name', ({ targets, description }) => {
  it('has a description, and expressions that are PromQL', () => {
    expect(description).toBeDefined();
    expect(targets.length).toBeGreaterThan(0);
    for (const { expr } of targets) expect(readExpression(filled(expr, '1m')).length).toBeGreaterThan(0);
  });
});

it('no two panels of a dashboard overlap', () => {
  for (const { panels: all } of dashboards) {
    const cells = all.flatMap(({ gridPos: { x, y, w, h } }) =>
      Array.from({ length: w * h }, (_, cell) => `${x + (cell % w)} ${y + Math.floor(cell / w)}`),
    );
    expect(new Set(cells).size).toBe(cells.length);
  }
});

it('Compose gives Grafana these dashboards and a Prometheus that scrapes', async () => {
  const read = async (path: string): Promise<string> => readFile(fileURLToPath(new URL(path, DEPLOY)), 'utf8');
  const { services } = parse(await read('../docker-compose.yml')) as {
    services: Record<string, { readonly volumes: readonly string[]; readonly profiles: readonly string[] }>;
  };
  const { providers } = parse(await read('grafana/provisioning/dashboards/tillflow.yml')) as {
    providers: readonly { readonly options: { readonly path: string } }[];
  };
  const [source] = providers;
  expect(services['grafana']?.volumes).toContain(`./deploy/grafana/dashboards:${source?.options.path}:ro`);
  expect(services['grafana']?.volumes).toContain('./deploy/grafana/provisioning:/etc/grafana/provisioning:ro');
  expect(services['prometheus']?.volumes).toContain('./deploy/prometheus:/etc/prometheus:ro');
  expect(services['grafana']?.profiles).toEqual(services['prometheus']?.profiles);
});

it('every panel shows data of a running stack', { ...FULL, timeout: 600_000 }, async ({ skip }) => {
  const program = await findPrometheus();
  if (program === null) return skip('Prometheus is neither installed nor in the package registry of this system');
  const stack = await Stack.start({
    worker: false,
    shared: { ...QUICK_TAIL, EVENT_ENDPOINT_NETWORKS: '127.0.0.0/8' },
    api: { METRICS_REFRESH_MS: '500' },
  });
  const [health = 0, sdk = 0] = await freePorts(2);
  const worker = await WorkerProcess.start({
    ...stack.workerEnvironment(),
    WORKER_HEALTH_PORT: String(health),
    WORKER_SDK_METRICS_PORT: String(sdk),
    // So few that the worker misses the run of an old sale.
    MAX_CACHED_WORKFLOWS: '10',
  });
  const tail = await TailRun.start(stack);
  const receiver = await Receiver.start();
  const prometheus = await PrometheusServer.start({
    program,
    jobs: [
      { job: 'tillflow-api', targets: [new URL(stack.api.url).host], key: KEYS.ops },
      { job: 'tillflow-worker', targets: [`127.0.0.1:${health}`] },
      { job: 'tillflow-worker-sdk', targets: [`127.0.0.1:${sdk}`] },
    ],
  });
  const ended = new AbortController();
  try {
    const operator = { key: KEYS.ops };
    await stack.request('POST', '/v1/event-endpoints', { ...operator, body: { url: receiver.url } });
    const load = sellUntil(stack, ended.signal);
    load.catch(() => undefined);
    // A notice of the event tail.
    stack.sandbox.seedRecords({ disputes: [{}] });
    // A panel counts once it has shown data: on a busy machine, a scrape may come too late.
    const expressions = panels.flatMap(({ name, targets }) => targets.map(({ expr }) => ({ name, expr })));
    const empty = new Map(
      expressions.flatMap(({ name, expr }) => {
        // Each metric must exist, also one whose place a constant can take.
        const metrics = readExpression(filled(expr, '1m')).map(({ metric }) => metric);
        return [expr, ...metrics].map((query) => [query, name] as const);
      }),
    );
    await eventually(
      async () => {
        for (const expr of empty.keys()) {
          if (hasData(await prometheus.query(filled(expr, '30s')))) empty.delete(expr);
        }
        expect([...empty]).toEqual([]);
      },
      { timeoutMs: 300_000 },
    );
    ended.abort();
    await load;
    const unknown = await prometheus.query('tillflow_no_such_metric');
    expect(hasData(unknown)).toBe(false);
  } finally {
    ended.abort();
    await prometheus.stop();
    await receiver.close();
    await tail.stop();
    await worker.stop();
    await stack.stop();
  }
});

const hasData = (series: readonly Series[]): boolean => series.some(({ value }) => Number.isFinite(value));

/**
 * Payments, refunds and wrong webhooks, one after the other. Of two refunds, the provider rejects the first, and the second is
 * of an older sale.
 */
async function sellUntil(stack: Stack, ended: AbortSignal): Promise<void> {
  const sales: string[] = [];
  while (!ended.aborted) {
    const { body: created } = await stack.create();
    const { id } = await stack.until(created.id, ({ qr }) => qr !== null);
    const { body: shown } = await stack.get(`/v1/checkouts/${id}`);
    stack.sandbox.mark(chargeIdOf(shown), { status: 'successful' });
    await stack.untilStatus(id, 'paid');
    stack.sandbox.faults.add({
      method: 'POST',
      path: '/charges/{id}/refunds',
      action: 'status',
      status: 400,
      code: 'failed_refund',
      times: 1,
    });
    sales.push(id);
    for (const sale of [id, sales.at(-15) ?? id]) {
      const refund = { body: { amount: 20_000 }, headers: { 'idempotency-key': randomUUID() } };
      await stack.request('POST', `/v1/checkouts/${sale}/refunds`, refund);
    }
    await stack.request('POST', '/webhooks/provider', { key: null, body: '{}' });
  }
}
