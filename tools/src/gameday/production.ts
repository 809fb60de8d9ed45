import { createHash, randomBytes } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { createSandbox, type Sandbox } from '@tillflow/sandbox';
import { openTemporal, type Temporal } from '@tillflow/temporal';
import type { CheckoutMemo } from '@tillflow/workflows';
import { WorkflowNotFoundError } from '@temporalio/client';
import { CutLine } from '../cut-line.js';
import { freePorts } from '../ports.js';
import { PrometheusServer } from '../prometheus.js';
import { RestartableTemporal } from '../restartable-temporal.js';
import { Program } from './program.js';
import { shortened } from './rules.js';

const ROOT = new URL('../../../', import.meta.url);
const SHIFTED_CLOCK = new URL('tools/shifted-clock.mjs', ROOT).href;
const KEY = 'key-of-the-game-day';
const TASK_QUEUE = 'tillflow';
/** What Prometheus scrapes: the API, and two ports of each worker. */
const PROGRAMS = 5;
const BETWEEN_LOOKS_MS = 200;

/** With dates so far east of UTC, a payment at any hour is before its void cut-off. */
export const VOID_DATE_OFFSET_MINUTES = 480;

/** The time of the alerts runs 60 times as fast, so these settings are shorter. All other settings have their defaults. */
const TIMES = {
  METRICS_REFRESH_MS: '500',
  EVENT_TAIL_INTERVAL_MS: '1000',
  SEND_WITHIN_MS: '3000',
  CALL_DEADLINE_MS: '6000',
  SETTLE_DELAY_MS: '1000',
  LOOK_DELAYS_MS: '500,1000,2000',
  SECOND_LOOK_MS: '10000',
  POLL_INTERVAL_MS: '5000',
  RELAXED_POLL_INTERVAL_MS: '5000',
} as const;

/** An installation as in production: Temporal, the API, two workers, the provider's sandbox, and Prometheus with the alerts. */
export class Production {
  private constructor(
    readonly temporal: RestartableTemporal,
    readonly sandbox: Sandbox,
    /** Between the product and the provider. */
    readonly lineToProvider: CutLine,
    readonly apiUrl: string,
    readonly api: Program,
    readonly workers: readonly [Program, Program],
    private readonly environment: Readonly<Record<string, string>>,
    private readonly client: Temporal,
    private readonly prometheus: PrometheusServer,
  ) {}

  /** @param prometheus the path of the program */
  static async start(prometheus: string, log: (line: string) => void): Promise<Production> {
    const temporal = await RestartableTemporal.start(log);
    const sandbox = createSandbox({
      assumptions: {
        voidRule: { dateOffsetMinutes: VOID_DATE_OFFSET_MINUTES },
        webhookRetriesMs: [1_000, 2_000, 5_000, 10_000],
      },
    });
    const { url } = await sandbox.listen();
    const line = await CutLine.to(new URL(url).host);
    const [port = 0, ...workerPorts] = await freePorts(5);
    const environment = {
      ...TIMES,
      TEMPORAL_ADDRESS: temporal.address,
      TEMPORAL_TASK_QUEUE: TASK_QUEUE,
      PROVIDER_BASE_URL: `http://${line.address}`,
      PROVIDER_SECRET_KEY: sandbox.keys.secret,
      VOID_DATE_OFFSET_MINUTES: String(VOID_DATE_OFFSET_MINUTES),
      LOG_LEVEL: 'fatal',
    };
    const api = new Program('api', {
      ...environment,
      PORT: String(port),
      PROVIDER_WEBHOOK_SECRET: sandbox.keys.webhookSecrets.join(','),
      API_KEYS: `gameday:ops:${createHash('sha256').update(KEY).digest('hex')}`,
      URL_SIGNING_KEY: randomBytes(32).toString('base64url'),
      RATE_LIMIT: '10000',
      OPEN_RATE_LIMIT: '10000',
      METRICS_OPEN: 'true',
    });
    const [health1, sdk1, health2, sdk2] = workerPorts.map(String);
    const worker = (health = '', sdk = ''): Program =>
      new Program('worker', { ...environment, WORKER_HEALTH_PORT: health, WORKER_SDK_METRICS_PORT: sdk });
    const workers = [worker(health1, sdk1), worker(health2, sdk2)] as const;
    await new Program('cli', { TEMPORAL_ADDRESS: temporal.address, TEMPORAL_TASK_QUEUE: TASK_QUEUE }).run(['setup']);
    await Promise.all([api, ...workers].map((program) => program.start()));
    sandbox.webhooks.configure({ url: `http://127.0.0.1:${port}/webhooks/provider` });
    const client = await openTemporal({
      TEMPORAL_ADDRESS: temporal.address,
      TEMPORAL_NAMESPACE: 'default',
      TEMPORAL_TASK_QUEUE: TASK_QUEUE,
      TEMPORAL_TLS: false,
    });
    const alerts = await readFile(fileURLToPath(new URL('deploy/prometheus/alerts.yml', ROOT)), 'utf8');
    const targets = (...ports: readonly (string | undefined)[]) => ports.map((one) => `127.0.0.1:${one}`);
    const scraper = await PrometheusServer.start({
      program: prometheus,
      everySeconds: 1,
      rules: shortened(alerts),
      jobs: [
        { job: 'tillflow-api', targets: targets(String(port)) },
        { job: 'tillflow-worker', targets: targets(health1, health2) },
        { job: 'tillflow-worker-sdk', targets: targets(sdk1, sdk2) },
      ],
    });
    // Before its first scrapes, Prometheus knows of no program.
    while ((await scraper.query('up == 1')).length < PROGRAMS) await sleep(BETWEEN_LOOKS_MS);
    const apiUrl = `http://127.0.0.1:${port}`;
    return new Production(temporal, sandbox, line, apiUrl, api, workers, environment, client, scraper);
  }

  async stop(): Promise<void> {
    await this.prometheus.stop();
    await Promise.all([this.api, ...this.workers].map((program) => program.kill()));
    await this.client.close();
    await this.temporal.stop();
    this.lineToProvider.close();
    await this.sandbox.close();
  }

  /**
   * Alerts by name, with their severities.
   * @param seconds those that fired within so long; null: those that fire now
   */
  async firing(seconds: number | null = null): Promise<ReadonlyMap<string, string>> {
    const alerts = 'ALERTS{alertstate="firing"}';
    const series = await this.prometheus.query(seconds === null ? alerts : `max_over_time(${alerts}[${seconds}s])`);
    return new Map(series.map(({ metric }) => [metric['alertname'] ?? '', metric['severity'] ?? '']));
  }

  /** Sends webhooks to the API, all of them correct unless `faults` says otherwise. */
  configureWebhooks(faults: { readonly drop?: number; readonly corrupt_signature?: number } = {}): void {
    this.sandbox.webhooks.configure({ url: `${this.apiUrl}/webhooks/provider`, ...faults });
  }

  /** Starts a worker again with a clock that is off by so much, in milliseconds; 0: with the right clock. */
  async restartWithClock(worker: Program, shiftMs: number): Promise<void> {
    await worker.kill();
    if (shiftMs === 0) return worker.start();
    // It takes no work, so it does not become ready.
    await worker.begin({ NODE_OPTIONS: `--import=${SHIFTED_CLOCK}`, CLOCK_SHIFT_MS: String(shiftMs) });
  }

  /** Runs the operators' command line. @returns its output @throws when it did not do it: a finding is no failure */
  tillflow(...args: readonly string[]): Promise<string> {
    return new Program('cli', this.environment).run(args, [0, 1]);
  }

  /** Sends what a till sends. @returns null when no answer comes. */
  async request(method: 'GET' | 'POST', path: string, body?: object, headers: Readonly<Record<string, string>> = {}) {
    try {
      const response = await fetch(`${this.apiUrl}${path}`, {
        method,
        headers: { authorization: `Bearer ${KEY}`, 'content-type': 'application/json', ...headers },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
        signal: AbortSignal.timeout(15_000),
      });
      const answered: unknown = await response.json();
      return { status: response.status, body: answered };
    } catch {
      return null;
    }
  }

  /** @returns null when Temporal has no such checkout. @throws when Temporal does not answer */
  async memoOf(reference: string): Promise<CheckoutMemo | null> {
    try {
      const { memo } = await this.client.client.workflow.getHandle(`checkout/default/${reference}`).describe();
      // Only Tillflow writes it.
      return memo as CheckoutMemo;
    } catch (error) {
      if (error instanceof WorkflowNotFoundError) return null;
      throw error;
    }
  }
}
