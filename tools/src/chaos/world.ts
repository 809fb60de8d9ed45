import { createHash, randomBytes, randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { createSandbox, type ChargeJson, type Sandbox } from '@tillflow/sandbox';
import { openTemporal, type Temporal } from '@tillflow/temporal';
import type { CheckoutMemo, CheckoutPolicy, CheckoutResult } from '@tillflow/workflows';
import { GuardedChild } from '../guarded-child.js';
import { freePorts } from '../ports.js';
import { AUDITED_SECTIONS, type ProviderBooks } from './audit.js';

const ROOT = fileURLToPath(new URL('../../../', import.meta.url));
const READY_WITHIN_MS = 90_000;
const KEY = 'key-of-the-campaign';

/** East of UTC by so much, the whole day of a payment is before its cut-off: a campaign voids at any hour. */
export const VOID_DATE_OFFSET_MINUTES = 480;

const CALL_DEADLINE_MS = 500;
const SETTLE_MS = 500;

/** The product's times, shortened: what is proved does not depend on them. */
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

/** The least time between a call that had no answer and the next of its kind, less what a busy machine takes. */
export const QUIET_MS = CALL_DEADLINE_MS + SETTLE_MS - 200;

/** Longer than {@link POLICY} lets a call take, shorter than it waits before it repeats one. */
export const LATE_MS = 800;

export type WorldOptions = {
  /** A campaign's own, so that it can be repeated. */
  readonly seed: number;
  readonly workers: number;
  readonly temporalAddress: string;
};

/** A program that can be killed and frozen, and is started again when it was. */
class Program {
  #child: GuardedChild | undefined;
  #starting: Promise<void> = Promise.resolve();
  #stopped = false;

  constructor(
    private readonly app: 'worker' | 'api',
    private readonly environment: Readonly<Record<string, string>>,
  ) {}

  async start(): Promise<void> {
    const child = new GuardedChild(process.execPath, [`apps/${this.app}/dist/main.js`], {
      cwd: ROOT,
      env: { ...process.env, ...this.environment },
      graceMs: 1_000,
    });
    this.#child = child;
    this.#starting = child.waitForLine(new RegExp(`\\b${this.app} ready`), READY_WITHIN_MS);
    void child.exited.then(() => this.#revive(child));
    await this.#starting;
  }

  /** When it is there, or there again. */
  async ready(): Promise<void> {
    await this.#starting;
  }

  async signal(signal: NodeJS.Signals): Promise<void> {
    const child = this.#child;
    if (child === undefined) return;
    try {
      process.kill(await child.pid, signal);
    } catch {
      // It ended before the signal came.
    }
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    this.#child?.killNow();
    await this.#child?.exited;
  }

  /** It may also fail to start, while Temporal is being restarted: then it is started until it stays. */
  #revive(ended: GuardedChild): void {
    if (this.#stopped || this.#child !== ended) return;
    this.#starting = this.start();
    this.#starting.catch(() => undefined);
  }
}

/** The whole product as processes, a provider that breaks on purpose, and the means to break everything else. */
export class World {
  readonly #programs: readonly Program[];
  /** Whom to thaw in the end. */
  readonly workers: readonly Program[];
  readonly api: Program;

  private constructor(
    readonly sandbox: Sandbox,
    readonly temporal: Temporal,
    readonly taskQueue: string,
    readonly apiUrl: string,
    programs: { readonly workers: readonly Program[]; readonly api: Program },
  ) {
    this.workers = programs.workers;
    this.api = programs.api;
    this.#programs = [programs.api, ...programs.workers];
  }

  static async open({ seed, workers, temporalAddress }: WorldOptions): Promise<World> {
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
    const api = new Program('api', {
      ...shared,
      PORT: String(port),
      PROVIDER_WEBHOOK_SECRET: sandbox.keys.webhookSecrets.join(','),
      API_KEYS: `campaign:ops:${createHash('sha256').update(KEY).digest('hex')}`,
      URL_SIGNING_KEY: randomBytes(32).toString('base64url'),
      RATE_LIMIT: '10000',
      OPEN_RATE_LIMIT: '10000',
    });
    const all = Array.from({ length: workers }, () => new Program('worker', { ...shared, SHUTDOWN_GRACE_MS: '1000' }));
    const world = new World(sandbox, temporal, taskQueue, `http://127.0.0.1:${port}`, { workers: all, api });
    try {
      await Promise.all([api, ...all].map((program) => program.start()));
    } catch (error) {
      await world.close();
      throw error;
    }
    return world;
  }

  async close(): Promise<void> {
    await Promise.all(this.#programs.map((program) => program.stop()));
    await this.temporal.close();
    await this.sandbox.close();
  }

  /** Everything runs again and nothing fails any more. */
  async heal(): Promise<void> {
    this.sandbox.faults.clear();
    this.sandbox.webhooks.configure({ url: `${this.apiUrl}/webhooks/provider` });
    await Promise.all(this.workers.map((worker) => worker.signal('SIGCONT')));
    await Promise.all(this.#programs.map((program) => program.ready()));
  }

  workflowOf(reference: string) {
    return this.temporal.client.workflow.getHandle<() => Promise<CheckoutResult>>(`checkout/default/${reference}`);
  }

  /** @returns null when Temporal does not answer, or knows no such checkout. */
  async memoOf(reference: string): Promise<CheckoutMemo | null> {
    return this.tolerant(async () => {
      const { memo } = await this.workflowOf(reference).describe();
      // Written by this product alone.
      return memo as CheckoutMemo;
    });
  }

  /** As a till does: @returns null when the API does not answer. */
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

  /** Nobody is told more than that it did not work: whoever waits comes again. */
  async tolerant<T>(work: () => Promise<T>, withinMs = 15_000): Promise<T | null> {
    const over = new AbortController();
    const done = this.temporal.connection.withDeadline(Date.now() + withinMs, work).catch(() => null);
    try {
      return await Promise.race([done, sleep(withinMs + 500, null, { signal: over.signal })]);
    } finally {
      over.abort();
    }
  }

  books(): ProviderBooks {
    // Every section that was asked for is there.
    return this.sandbox.state(AUDITED_SECTIONS) as ProviderBooks;
  }

  chargesOf(checkoutId: string): ChargeJson[] {
    const { charges = [] } = this.sandbox.state(['charges']);
    return charges.filter(({ metadata }) => metadata['checkout'] === checkoutId);
  }
}
