import { createHash, randomBytes, randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { createSandbox, type ChargeJson, type Sandbox } from '@tillflow/sandbox';
import { openTemporal, type Temporal } from '@tillflow/temporal';
import type { CheckoutMemo, CheckoutPolicy, CheckoutResult } from '@tillflow/workflows';
import { SupervisedChild } from '../supervised-child.js';
import { freePorts } from '../ports.js';
import { COMPARED_SECTIONS, type ProviderRecords } from './records.js';

const ROOT = fileURLToPath(new URL('../../../', import.meta.url));
const READY_WITHIN_MS = 90_000;
const KEY = 'key-of-the-campaign';

/** With dates so far east of UTC, a payment at any hour is before its void cut-off. */
export const VOID_DATE_OFFSET_MINUTES = 480;

const CALL_DEADLINE_MS = 500;
const SETTLE_MS = 500;

/** The policy's times, shortened. */
export const POLICY: Partial<CheckoutPolicy> = {
  sendWithinMs: 600,
  callDeadlineMs: CALL_DEADLINE_MS,
  settleMs: SETTLE_MS,
  lookupDelaysMs: [50, 100, 250, 500, 1_000],
  pollIntervalMs: 2_000,
  attentionAfterMs: 30_000,
  lateEffectCheckMs: 3_000,
  voidDateOffsetMinutes: VOID_DATE_OFFSET_MINUTES,
};

/** The least time between a call without an answer and its repetition, less 200 ms for a busy machine. */
export const IN_FLIGHT_MS = CALL_DEADLINE_MS + SETTLE_MS - 200;

/** Longer than {@link POLICY} lets a call take, shorter than the time before a repetition. */
export const LATE_MS = 800;

export type EnvironmentOptions = {
  /** Decides the sandbox's ids and faults. */
  readonly seed: number;
  readonly workers: number;
  readonly temporalAddress: string;
};

/** A process that can be killed and frozen, and is started again when it ends. */
class Process {
  #child: SupervisedChild | undefined;
  #starting: Promise<void> = Promise.resolve();
  #stopped = false;

  constructor(
    private readonly app: 'worker' | 'api',
    private readonly variables: Readonly<Record<string, string>>,
  ) {}

  async start(): Promise<void> {
    const child = new SupervisedChild(process.execPath, [`apps/${this.app}/dist/main.js`], {
      cwd: ROOT,
      env: { ...process.env, ...this.variables },
      graceMs: 1_000,
    });
    this.#child = child;
    this.#starting = child.waitForLine(new RegExp(`\\b${this.app} ready`), READY_WITHIN_MS);
    void child.exited.then(() => this.#restart(child));
    await this.#starting;
  }

  /** Resolves when the process is ready, or ready again. */
  async ready(): Promise<void> {
    await this.#starting;
  }

  async signal(signal: NodeJS.Signals): Promise<void> {
    const child = this.#child;
    if (child === undefined) return;
    try {
      process.kill(await child.pid, signal);
    } catch {
      // The process has ended.
    }
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    this.#child?.killNow();
    await this.#child?.exited;
  }

  /** A start may fail while Temporal restarts: the process is started again until it stays up. */
  #restart(ended: SupervisedChild): void {
    if (this.#stopped || this.#child !== ended) return;
    this.#starting = this.start();
    this.#starting.catch(() => undefined);
  }
}

/** Tillflow's processes, a sandbox that fails on purpose, and the means to disrupt the processes. */
export class Environment {
  readonly #processes: readonly Process[];
  readonly workers: readonly Process[];
  readonly api: Process;

  private constructor(
    readonly sandbox: Sandbox,
    readonly temporal: Temporal,
    readonly taskQueue: string,
    readonly apiUrl: string,
    processes: { readonly workers: readonly Process[]; readonly api: Process },
  ) {
    this.workers = processes.workers;
    this.api = processes.api;
    this.#processes = [processes.api, ...processes.workers];
  }

  static async open({ seed, workers, temporalAddress }: EnvironmentOptions): Promise<Environment> {
    const sandbox = createSandbox({
      seed: String(seed),
      assumptions: {
        voidRule: { dateOffsetMinutes: VOID_DATE_OFFSET_MINUTES },
        webhookRetriesMs: [1_000, 2_000, 5_000],
      },
    });
    const { url } = await sandbox.listen();
    const [port = 0] = await freePorts(1);
    const taskQueue = `chaos-${randomUUID()}`;
    const shared = {
      TEMPORAL_ADDRESS: temporalAddress,
      TEMPORAL_TASK_QUEUE: taskQueue,
      PROVIDER_BASE_URL: url,
      PROVIDER_SECRET_KEY: sandbox.keys.secret,
      LOG_LEVEL: 'fatal',
    };
    const temporal = await openTemporal({
      TEMPORAL_ADDRESS: temporalAddress,
      TEMPORAL_NAMESPACE: 'default',
      TEMPORAL_TASK_QUEUE: taskQueue,
      TEMPORAL_TLS: false,
    });
    const api = new Process('api', {
      ...shared,
      PORT: String(port),
      PROVIDER_WEBHOOK_SECRET: sandbox.keys.webhookSecrets.join(','),
      API_KEYS: `campaign:ops:${createHash('sha256').update(KEY).digest('hex')}`,
      URL_SIGNING_KEY: randomBytes(32).toString('base64url'),
      RATE_LIMIT: '10000',
      OPEN_RATE_LIMIT: '10000',
    });
    const all = Array.from({ length: workers }, () => new Process('worker', { ...shared, SHUTDOWN_GRACE_MS: '1000' }));
    const environment = new Environment(sandbox, temporal, taskQueue, `http://127.0.0.1:${port}`, {
      workers: all,
      api,
    });
    try {
      await Promise.all([api, ...all].map((process) => process.start()));
    } catch (error) {
      await environment.close();
      throw error;
    }
    return environment;
  }

  async close(): Promise<void> {
    await Promise.all(this.#processes.map((process) => process.stop()));
    await this.temporal.close();
    await this.sandbox.close();
  }

  /** Ends all faults and freezes, and waits until every process runs. */
  async heal(): Promise<void> {
    this.sandbox.faults.clear();
    this.sandbox.webhooks.configure({ url: `${this.apiUrl}/webhooks/provider` });
    await Promise.all(this.workers.map((worker) => worker.signal('SIGCONT')));
    await Promise.all(this.#processes.map((process) => process.ready()));
  }

  workflowOf(reference: string) {
    return this.temporal.client.workflow.getHandle<() => Promise<CheckoutResult>>(`checkout/default/${reference}`);
  }

  /** @returns null when Temporal does not answer or has no such checkout. */
  async memoOf(reference: string): Promise<CheckoutMemo | null> {
    return this.tolerant(async () => {
      const { memo } = await this.workflowOf(reference).describe();
      // Only Tillflow writes it.
      return memo as CheckoutMemo;
    });
  }

  /** Sends what a till sends. @returns null when the API does not answer. */
  async request(method: 'GET' | 'POST', path: string, body?: string, headers: Readonly<Record<string, string>> = {}) {
    try {
      const response = await fetch(`${this.apiUrl}${path}`, {
        method,
        headers: { authorization: `Bearer ${KEY}`, ...headers },
        ...(body === undefined ? {} : { body }),
        signal: AbortSignal.timeout(10_000),
      });
      const text = await response.text();
      return { status: response.status, json: text === '' ? null : (JSON.parse(text) as unknown) };
    } catch {
      return null;
    }
  }

  /** @returns null for every failure: the caller tries again. */
  async tolerant<T>(work: () => Promise<T>, withinMs = 15_000): Promise<T | null> {
    const over = new AbortController();
    const done = this.temporal.connection.withDeadline(Date.now() + withinMs, work).catch(() => null);
    try {
      return await Promise.race([done, sleep(withinMs + 500, null, { signal: over.signal })]);
    } finally {
      over.abort();
    }
  }

  records(): ProviderRecords {
    // The answer has every section of the request.
    return this.sandbox.state(COMPARED_SECTIONS) as ProviderRecords;
  }

  chargesOf(checkoutId: string): ChargeJson[] {
    const { charges = [] } = this.sandbox.state(['charges']);
    return charges.filter(({ metadata }) => metadata['checkout'] === checkoutId);
  }
}
