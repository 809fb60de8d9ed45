import { randomBytes } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { ATTENTION_CODES } from '@tillflow/workflows';
import { apiSettings, startApi } from '@tillflow/api';
import { run } from '@tillflow/cli';
import { startWorker, workerSettings } from '@tillflow/worker';
import { bundleChanged } from './support/bundle.js';
import { nameOnQueue } from '@tillflow/temporal';
import { CutLine, freePorts } from '@tillflow/tools';
import { afterAll, beforeAll, describe, expect, inject, it, vi } from 'vitest';
import { parse } from 'yaml';
import { z } from 'zod';
import { QUICK_TAIL, TailRun } from './support/event-tail.js';
import { eventually } from './support/eventually.js';
import { readExpression, readMetrics, valueOf, withoutAccount, type Families } from './support/prometheus.js';
import { chargeIdOf, KEYS, newReference, Stack, type ProblemJson } from './support/stack.js';
import { ApiProcess } from './support/api-process.js';
import { operatorOf } from './support/tillflow.js';
import { Reconciliations } from './support/reconciliations.js';
import { WorkerProcess } from './support/worker-process.js';

const ROOT = new URL('../', import.meta.url);

async function read(path: string): Promise<string> {
  return readFile(fileURLToPath(new URL(path, ROOT)), 'utf8');
}

const alert = z.strictObject({
  alert: z.string().regex(/^Tillflow[A-Z]\w+$/),
  expr: z.string(),
  for: z
    .string()
    .regex(/^\d+[smh]$/)
    .optional(),
  labels: z.strictObject({ severity: z.enum(['page', 'ticket']) }),
  annotations: z.strictObject({
    summary: z.string().min(10),
    description: z.string().min(20),
    runbook: z.string().regex(/^docs\/operations\.md#[a-z0-9-]+$/),
  }),
});
const alertFile = z.strictObject({
  groups: z.array(z.strictObject({ name: z.string(), rules: z.array(alert).min(1) })),
});

const alerts = alertFile.parse(parse(await read('deploy/prometheus/alerts.yml'))).groups.flatMap(({ rules }) => rules);
const operations = await read('docs/operations.md');

/** Each section of the handbook by its anchor, which the forge makes of the heading. */
const sections = new Map(
  operations.split(/^(?=#+ )/m).map((section) => {
    const [, title = ''] = /^#+ (.+)$/m.exec(section) ?? [];
    return [
      title
        .toLowerCase()
        .replaceAll(/[^\w\- ]/g, '')
        .replaceAll(' ', '-'),
      section,
    ];
  }),
);

type Exposed = { readonly api: string; readonly worker: string; readonly sdk: string };

let stack: Stack;
let worker: WorkerProcess;
let exposed: Exposed;

async function metrics(of = stack): Promise<string> {
  const { status, body } = await of.request<string>('GET', '/metrics', { key: KEYS.ops });
  expect(status).toBe(200);
  return body;
}

const families = (): Record<keyof Exposed, Families> => ({
  api: readMetrics(exposed.api),
  worker: readMetrics(exposed.worker),
  sdk: readMetrics(exposed.sdk),
});

beforeAll(async () => {
  stack = await Stack.start({ worker: false, api: { METRICS_REFRESH_MS: '500' }, shared: QUICK_TAIL });
  const [health = 0, sdk = 0] = await freePorts(2);
  worker = await WorkerProcess.start({
    ...stack.workerEnvironment(),
    WORKER_HEALTH_PORT: String(health),
    WORKER_SDK_METRICS_PORT: String(sdk),
  });
  const tail = await TailRun.start(stack);
  const body = await stack.open();
  stack.sandbox.mark(chargeIdOf(body), { status: 'successful' });
  await stack.untilStatus(body.id, 'paid');
  await stack.request('POST', '/webhooks/provider', { key: null, body: '{}' });
  // One more step of a workflow, whose wait the library measures.
  await tail.nextPass();
  const text = async (port: number): Promise<string> => (await fetch(`http://127.0.0.1:${port}/metrics`)).text();
  exposed = { api: await metrics(), worker: await text(health), sdk: await text(sdk) };
  await tail.stop();
});
afterAll(async () => {
  await worker.stop();
  await stack.stop();
});

describe('an alert', () => {
  it.each(alerts.map((one) => [one.alert, one] as const))(
    '%s uses only metrics and labels that exist',
    (_, { expr }) => {
      const { api, worker: ofWorker, sdk } = families();
      for (const { metric, labels } of readExpression(expr)) {
        if (metric === 'up') {
          expect(labels).toEqual(['job']);
          continue;
        }
        const known = api.get(metric) ?? ofWorker.get(metric) ?? sdk.get(metric);
        expect({ metric, isShown: known !== undefined }).toEqual({ metric, isShown: true });
        // Of a family without a series yet, the labels are not seen.
        for (const label of known === undefined || known.size === 0 ? [] : labels) expect(known).toContain(label);
      }
    },
  );

  it.each(alerts.map((one) => [one.alert, one] as const))(
    '%s links to a section of docs/operations.md that names it',
    (alert, { annotations }) => {
      const [, anchor = ''] = annotations.runbook.split('#');
      expect(sections.get(anchor)).toContain(`\`${alert}\``);
    },
  );

  it('has a name that no other alert has', () => {
    const names = alerts.map((one) => one.alert);
    expect(new Set(names).size).toBe(names.length);
  });

  it('names only attention codes that exist', () => {
    const named = alerts.flatMap(({ expr }) => /code=~"([^"]+)"/.exec(expr)?.[1]?.split('|') ?? []);
    expect(named.length).toBeGreaterThan(0);
    for (const code of named) expect(ATTENTION_CODES).toContain(code);
  });

  it('an expression that is not PromQL fails the check', () => {
    expect(() => readExpression('sum(rate(tillflow_webhooks_total[5m])) >')).toThrow('Not PromQL');
    expect(readExpression('sum by (le) (rate(a_bucket{x="1",y!="2"}[5m])) > max(b)')).toEqual([
      { metric: 'a_bucket', labels: expect.arrayContaining(['x', 'y']) },
      { metric: 'b', labels: [] },
    ]);
  });
});

describe('the alerts about the provider', () => {
  /** Whether a matcher of the expression, such as `outcome=~"a|b"`, takes this value; undefined: it has none for it. */
  const takes = (expression: string, label: string, value: string): boolean | undefined => {
    const [, operator = '', pattern = ''] = new RegExp(`${label}(=~|!~|!=|=)"([^"]+)"`).exec(expression) ?? [];
    if (operator === '') return undefined;
    const isTaken = operator.includes('~') ? new RegExp(`^(?:${pattern})$`).test(value) : pattern === value;
    return operator.startsWith('!') ? !isTaken : isTaken;
  };
  const calls = (text: string) =>
    [
      ...withoutAccount(text).matchAll(
        /^tillflow_provider_calls_total\{method="(\w+)",route="([^"]+)",outcome="(\w+)"\}/gm,
      ),
    ].map(([, method, route, outcome]) => ({ method, route, outcome }));

  it('page a person when the provider accepts no connection', async () => {
    const [health = 0] = await freePorts(1);
    const lost = await Stack.start({ worker: false });
    const dead = await WorkerProcess.start({
      ...lost.workerEnvironment(),
      PROVIDER_BASE_URL: 'http://127.0.0.1:1',
      WORKER_HEALTH_PORT: String(health),
    });
    try {
      await lost.create();
      const counted = async () => calls(await (await fetch(`http://127.0.0.1:${health}/metrics`)).text());
      await expect.poll(async () => (await counted()).length).toBeGreaterThan(0);
      const outcomes = new Set((await counted()).map(({ outcome }) => outcome));
      const paging = alerts.filter(({ labels }) => labels.severity === 'page');
      for (const outcome of outcomes) {
        expect(paging.filter(({ expr }) => takes(expr, 'outcome', outcome ?? '') === true)).not.toEqual([]);
      }
    } finally {
      await dead.stop();
      await lost.stop();
    }
  });

  it('do not fire when a QR expires and the provider has already expired its charge', async () => {
    const [health = 0] = await freePorts(1);
    const shop = await Stack.start({ worker: false, webhookUrl: null });
    const selling = await WorkerProcess.start({ ...shop.workerEnvironment(), WORKER_HEALTH_PORT: String(health) });
    try {
      const { id } = (await shop.create({ expires_in: 5 })).body;
      await shop.untilStatus(id, 'expired');
      const counted = calls(await (await fetch(`http://127.0.0.1:${health}/metrics`)).text());
      const refused = counted.filter(({ outcome }) => outcome === 'rejected');
      expect(refused).toEqual([{ method: 'POST', route: '/charges/{id}/expire', outcome: 'rejected' }]);
      const { expr } = alerts.find(({ alert: name }) => name === 'TillflowProviderRefuses') ?? { expr: '' };
      expect(takes(expr, 'route', '/charges/{id}/expire')).toBe(false);
      expect(takes(expr, 'route', '/charges')).toBe(true);
    } finally {
      await selling.stop();
      await shop.stop();
    }
  });
});

describe('the scrape configuration', () => {
  it('has a job for every program with metrics, with the paths and ports of the containers', async () => {
    const { scrape_configs: jobs, rule_files: rules } = parse(await read('deploy/prometheus/prometheus.yml')) as {
      scrape_configs: { job_name: string; metrics_path: string; static_configs: { targets: string[] }[] }[];
      rule_files: string[];
    };
    expect(rules).toEqual(['alerts.yml']);
    expect(jobs.map(({ job_name }) => job_name)).toEqual(['tillflow-api', 'tillflow-worker', 'tillflow-worker-sdk']);
    expect(new Set(jobs.map(({ metrics_path }) => metrics_path))).toEqual(new Set(['/metrics']));
    const compose = await read('docker-compose.yml');
    const named = alerts.flatMap(({ expr }) => [...expr.matchAll(/job="([^"]+)"/g)].map(([, job]) => job));
    for (const job of named) expect(jobs.map(({ job_name }) => job_name)).toContain(job);
    expect(compose).toContain('WORKER_HOST: 0.0.0.0');
    expect(compose).toContain("WORKER_HEALTH_PORT: '8081'");
    expect(compose).toContain("WORKER_SDK_METRICS_PORT: '8082'");
  });
});

describe('the handbook', () => {
  it('lists every metric of Tillflow with its labels, and no metric that does not exist', () => {
    const { api, worker: ofWorker } = families();
    const shown = new Map([...api, ...ofWorker]);
    const base = (name: string): string => name.replace(/_(bucket|sum|count)$/, '');
    const ours = new Set([...shown.keys()].filter((name) => name.startsWith('tillflow_')).map(base));
    const documented = [...operations.matchAll(/^\| `(tillflow_\w+)(?:\{([\w,]+)\})?`/gm)];
    expect(new Set(documented.map(([, name]) => name))).toEqual(ours);
    for (const [, name = '', labels = ''] of documented) {
      const seen = shown.get(name) ?? shown.get(`${name}_count`);
      const named = labels === '' ? [] : labels.split(',');
      // The text above the table says which metrics have the label `account`.
      const labelled = [...(seen ?? [])].filter((label) => label !== 'account');
      if (seen !== undefined && seen.size > 0) expect(new Set(named)).toEqual(new Set(labelled));
    }
  });

  it('explains every attention code, in order of severity, and no other code', () => {
    const [, section = ''] = /^## What each attention means$([\s\S]*?)^## /m.exec(operations) ?? [];
    expect([...section.matchAll(/^### (\w+)$/gm)].map(([, code]) => code)).toEqual([...ATTENTION_CODES]);
  });

  it('names only commands that exist', async () => {
    const { out } = await run(['--help'], {});
    const existing = [...out.matchAll(/^  ([a-z]+)  /gm)].map(([, name]) => name);
    const named = new Set([...operations.matchAll(/pnpm tillflow (\w+)/g)].map(([, name]) => name));
    expect(existing).toEqual(expect.arrayContaining([...named]));
    expect(named.size).toBeGreaterThan(6);
  });

  it('contains only searches that Temporal accepts', async () => {
    const [, block = ''] = /### In the Temporal UI[\s\S]*?```\n([\s\S]*?)```/.exec(operations) ?? [];
    const queries = block.trim().split('\n');
    expect(queries.length).toBeGreaterThan(5);
    for (const query of queries) {
      const { count } = await stack.temporal.client.workflow.count(query);
      expect(count).toBeGreaterThanOrEqual(0);
    }
  });
});

describe('GET /metrics of the API', () => {
  it('needs an ops key: 401 without a key, 403 for a till', async () => {
    expect(await stack.request<ProblemJson>('GET', '/metrics', { key: null })).toMatchObject({ status: 401 });
    expect(await stack.request<ProblemJson>('GET', '/metrics')).toMatchObject({ status: 403 });
  });

  it('needs no key with METRICS_OPEN=true', async () => {
    const open = await Stack.start({ worker: false, api: { METRICS_OPEN: 'true' } });
    try {
      const { status, headers } = await open.request('GET', '/metrics', { key: null });
      expect(status).toBe(200);
      expect(headers.get('content-type')).toContain('text/plain; version=0.0.4');
    } finally {
      await open.stop();
    }
  });

  it('counts checkouts by status, webhooks by result and calls by outcome, with no id in a label', () => {
    expect(valueOf(exposed.api, 'tillflow_webhooks_total{result="hinted"}')).toBeGreaterThanOrEqual(1);
    expect(valueOf(exposed.api, 'tillflow_webhooks_total{result="refused"}')).toBe(1);
    expect(valueOf(exposed.api, 'tillflow_webhook_refusals_total{reason="signature_missing"}')).toBe(1);
    expect(valueOf(exposed.api, 'tillflow_webhook_lag_seconds_count')).toBeGreaterThanOrEqual(1);
    expect(valueOf(exposed.api, 'tillflow_temporal_up')).toBe(1);
    expect(valueOf(exposed.api, 'tillflow_worker_pollers{kind="workflows"}')).toBeGreaterThanOrEqual(1);
    expect(valueOf(exposed.api, 'tillflow_event_tail_up')).toBe(1);
    expect(
      valueOf(exposed.worker, 'tillflow_provider_calls_total{method="POST",route="/charges",outcome="done"}'),
    ).toBe(1);
    const ofWorker = (series: string) => valueOf(exposed.worker, series);
    expect(ofWorker('tillflow_checkout_amount_total{currency="THB",kind="paid"}')).toBe(150_000);
    expect(ofWorker('tillflow_checkout_amount_total{currency="THB",kind="refunded"}')).toBe(0);
    for (const event of ['awaiting_payment', 'paid'])
      expect(ofWorker(`tillflow_checkout_events_total{currency="THB",event="${event}"}`)).toBe(1);
    for (const text of [exposed.api, exposed.worker]) expect(text).not.toMatch(/(chrg|src|rfnd|evnt|chk|skey|pkey)_/);
  });

  it('shows how many tasks wait for a worker, and for how long', async () => {
    const idle = await Stack.start({ worker: false, api: { METRICS_REFRESH_MS: '500', ANSWER_WITHIN_MS: '500' } });
    try {
      await idle.create();
      await eventually(async () => {
        const text = await metrics(idle);
        expect(valueOf(text, 'tillflow_task_queue_backlog{kind="workflows"}')).toBe(1);
        expect(valueOf(text, 'tillflow_task_queue_backlog_age_seconds{kind="workflows"}')).toBeGreaterThan(0.5);
        expect(valueOf(text, 'tillflow_task_queue_backlog{kind="activities"}')).toBe(0);
      });
    } finally {
      await idle.stop();
    }
  });

  it('shows the checkouts that need a person: how many, since when, how much money', async () => {
    const odd = await Stack.start({
      api: {
        METRICS_REFRESH_MS: '500',
        ATTENTION_AFTER_MS: '500',
        LOOK_DELAYS_MS: '300,3600000',
        SEND_WITHIN_MS: '1000',
        CALL_DEADLINE_MS: '1000',
        SETTLE_DELAY_MS: '0',
      },
    });
    try {
      odd.sandbox.faults.add({ method: 'POST', path: '/charges', action: 'commit_then_reset' });
      odd.sandbox.faults.add({ method: 'GET', path: '/sources/{id}', action: 'status', status: 500 });
      odd.sandbox.faults.add({ method: 'GET', path: '/charges', action: 'status', status: 500 });
      const before = await metrics(odd);
      const counted = (text: string): number =>
        valueOf(text, 'tillflow_attention_checkouts{code="outcome_unknown"}') ?? 0;
      const money = (text: string): number => valueOf(text, 'tillflow_money_at_risk{currency="THB"}') ?? 0;
      await odd.create({ reference: newReference(), amount: 123_400 });
      await vi.waitFor(
        async () => {
          const text = await metrics(odd);
          expect(counted(text)).toBe(counted(before) + 1);
          expect(money(text)).toBe(money(before) + 123_400);
          expect(valueOf(text, 'tillflow_attention_oldest_age_seconds{code="outcome_unknown"}')).toBeGreaterThan(0);
        },
        { timeout: 60_000 },
      );
    } finally {
      await odd.stop();
    }
  });

  it('shows the breaks that the last reconciliation left', async () => {
    const deaf = await Stack.start({
      api: { METRICS_REFRESH_MS: '500', POLL_INTERVAL_MS: '86400000' },
      sandbox: { now: new Date(Date.now() - 3_600_000).toISOString() },
      webhookUrl: null,
    });
    try {
      const left = 'tillflow_reconciliation_breaks{type="missing_here"}';
      expect(valueOf(await metrics(deaf), left)).toBe(0);
      const charged = await fetch(`${deaf.sandboxUrl}/charges`, {
        method: 'POST',
        headers: { authorization: `Basic ${btoa(`${deaf.sandbox.keys.secret}:`)}` },
        body: new URLSearchParams({
          amount: '150000',
          currency: 'THB',
          'source[type]': 'wallet_mpm',
          'metadata[checkout]': `chk_default_${newReference()}`,
        }),
      });
      const { id } = (await charged.json()) as { id: string };
      deaf.sandbox.mark(id, { status: 'successful' });
      const window = { from: new Date(Date.now() - 7_200_000).toISOString(), to: new Date().toISOString() };
      await deaf.request('POST', '/v1/reconciliations', { key: KEYS.ops, body: window });
      await vi.waitFor(async () => expect(valueOf(await metrics(deaf), left)).toBe(1), { timeout: 90_000 });
    } finally {
      await deaf.stop();
    }
  });

  it('keeps the breaks of the daily reconciliation when a person compares another window', async () => {
    const yesterday = new Date(Math.floor(Date.now() / 86_400_000) * 86_400_000 - 43_200_000).toISOString();
    const reconciled = await Stack.start({
      api: { METRICS_REFRESH_MS: '500' },
      sandbox: { now: yesterday },
      webhookUrl: null,
    });
    try {
      const charged = await fetch(`${reconciled.sandboxUrl}/charges`, {
        method: 'POST',
        headers: { authorization: `Basic ${btoa(`${reconciled.sandbox.keys.secret}:`)}` },
        body: new URLSearchParams({
          amount: '150000',
          currency: 'THB',
          'source[type]': 'wallet_mpm',
          'metadata[checkout]': `chk_default_${newReference()}`,
        }),
      });
      const { id } = (await charged.json()) as { id: string };
      reconciled.sandbox.mark(id, { status: 'successful' });
      const { client } = reconciled.temporal;
      await client.workflow.execute('reconcile', {
        workflowId: `${nameOnQueue('reconcile-daily', reconciled.taskQueue)}-now`,
        taskQueue: reconciled.taskQueue,
      });
      const left = 'tillflow_reconciliation_breaks{type="missing_here"}';
      await expect.poll(async () => valueOf(await metrics(reconciled), left)).toBe(1);

      const reconciliations = new Reconciliations(reconciled);
      const now = Date.now();
      const narrow = { from: new Date(now - 7_200_000).toISOString(), to: new Date(now - 3_600_000).toISOString() };
      const run = await reconciliations.completed(await reconciliations.start(narrow));
      expect(run.breaks).toEqual([]);
      await expect
        .poll(async () => (await reconciliations.list()).map(({ id: listed, status }) => `${listed} ${status}`))
        .toContain(`${run.id} completed`);
      const readAt = 'tillflow_business_read_timestamp_seconds';
      const listedAt = Date.now() / 1_000;
      await expect.poll(async () => valueOf(await metrics(reconciled), readAt)).toBeGreaterThan(listedAt);
      expect(valueOf(await metrics(reconciled), left)).toBe(1);
    } finally {
      await reconciled.stop();
    }
  });

  it('counts checkouts with an attention that cannot be decrypted', async () => {
    const shared = { PAYLOAD_KEYS: `k1:${randomBytes(32).toString('base64')}` };
    const locked = await Stack.start({ shared, api: { ATTENTION_AFTER_MS: '500' } });
    const settings = { ...locked.apiEnvironment(), PAYLOAD_KEYS: '', METRICS_OPEN: 'true', METRICS_REFRESH_MS: '500' };
    const keyless = await startApi(apiSettings(settings), locked.logger);
    try {
      locked.sandbox.faults.add({ action: 'status', status: 500 });
      await locked.create();
      const unread = async () =>
        valueOf(await (await fetch(`${keyless.url}/metrics`)).text(), 'tillflow_attention_unread_checkouts');
      await expect.poll(unread).toBe(1);
    } finally {
      await keyless.close();
      await locked.stop();
    }
  });

  it('counts checkouts that a bug in the workflow code holds up', async () => {
    const broken = await Stack.start({ worker: false, api: { METRICS_REFRESH_MS: '500' } });
    const bug = { from: 'const { resume, policy = {} } = input;', to: "throw new Error('bug');" };
    const { path: bundlePath, remove } = await bundleChanged(bug);
    const worker = await startWorker(workerSettings(broken.workerEnvironment()), broken.logger, { bundlePath });
    try {
      expect(valueOf(await metrics(broken), 'tillflow_stuck_workflows')).toBe(0);
      await broken.create();
      const stuck = async () => valueOf(await metrics(broken), 'tillflow_stuck_workflows');
      await expect.poll(stuck, { timeout: 170_000, interval: 500 }).toBe(1);
      const { out } = await run(['doctor', '--json'], operatorOf(broken));
      expect((JSON.parse(out) as { findings: { code: string }[] }).findings.map(({ code }) => code)).toContain(
        'workflows_stuck',
      );
    } finally {
      await worker.stop();
      await remove();
      await broken.stop();
    }
  }, 180_000);

  it('answers while Temporal is down, with tillflow_temporal_up 0', async () => {
    const line = await CutLine.to(inject('temporalAddress'));
    const cut = await Stack.start({
      worker: false,
      shared: { TEMPORAL_ADDRESS: line.address },
      api: { METRICS_REFRESH_MS: '500' },
    });
    try {
      await ApiProcess.startIn(cut);
      expect(valueOf(await metrics(cut), 'tillflow_temporal_up')).toBe(1);
      line.cut();
      await vi.waitFor(async () => expect(valueOf(await metrics(cut), 'tillflow_temporal_up')).toBe(0), {
        timeout: 90_000,
      });
      line.mend();
      await vi.waitFor(async () => expect(valueOf(await metrics(cut), 'tillflow_temporal_up')).toBe(1), {
        timeout: 90_000,
      });
    } finally {
      await cut.stop();
      line.close();
    }
  });

  it('simultaneous requests of /metrics cause one reading of Temporal', async () => {
    const calm = await Stack.start({ worker: false, api: { METRICS_REFRESH_MS: '3600000' } });
    try {
      const texts = await Promise.all(Array.from({ length: 20 }, () => metrics(calm)));
      const readAt = texts.map((text) => valueOf(text, 'tillflow_business_read_timestamp_seconds'));
      expect(readAt[0]).toBeGreaterThan(0);
      expect(new Set(readAt).size).toBe(1);
    } finally {
      await calm.stop();
    }
  });
});
