import { createHash, randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { apiSettings, startApi, type RunningApi } from '@tillflow/api';
import { createSandbox, type Sandbox, type SandboxOptions } from '@tillflow/sandbox';
import { checkoutWorkflowId, parseCheckoutId } from '@tillflow/domain';
import { programLogger } from '@tillflow/telemetry';
import { Accounts, openTemporal, type Temporal } from '@tillflow/temporal';
import { startWorker, Workers, workerSettings, type RunningWorker } from '@tillflow/worker';
import type { Checkout, CheckoutMemo, CheckoutResult, TimelineEntry } from '@tillflow/workflows';
import { DefaultLogger, Runtime } from '@temporalio/worker';
import type { Logger } from 'pino';
import { inject } from 'vitest';
import { eventually } from './eventually.js';

export type CheckoutJson = Checkout & {
  version: number;
  qr: { image_url: string } | null;
  events_url: string | null;
  receipt_url: string | null;
  location: string;
};
export type Answer<T = CheckoutJson> = { readonly status: number; readonly body: T; readonly headers: Headers };
export type ProblemJson = {
  type: string;
  title: string;
  status: number;
  code: string;
  detail: string;
  request_id: string;
  errors?: { path: string; message: string }[];
};

type Environment = Readonly<Record<string, string>>;

/** How often a request is sent at most, when the API says that Temporal was too slow for it. */
const MOST_TRIES = 5;

export type StackOptions = {
  /**
   * Settings of the API beyond the ones a stack needs. The sandbox dates payments as `VOID_DATE_OFFSET_MINUTES` says.
   */
  readonly api?: Environment;
  /** Settings of API, worker and the test's own client. */
  readonly shared?: Environment;
  /** False: the test starts workers itself. */
  readonly worker?: boolean;
  /** The address that the sandbox sends webhooks to; default the API, null for none. */
  readonly webhookUrl?: string | null;
  readonly sandbox?: SandboxOptions;
  /** Starts a server between the product and the sandbox, and returns the provider's address for API and worker. */
  readonly before?: (sandboxUrl: string) => Promise<string>;
};

type RequestOptions = { body?: unknown; key?: string | null; headers?: Record<string, string> };

// Set once for each process. Temporal's own log lines would hide the lines of the tests.
Runtime.install({ logger: new DefaultLogger('ERROR'), shutdownSignals: [] });

/** With this offset the whole day of a payment is before its cut-off, so tests can void at any hour. */
export const ALWAYS_VOIDABLE_MINUTES = 480;

export const KEYS = { checkout: 'key-of-a-till', ops: 'key-of-an-operator' } as const;

/**
 * Settings under which an unknown outcome is settled within seconds, although no proof depends on the times. A call
 * still has time to end on a machine that stalls for a second.
 */
export const SETTLES_SOON = {
  SEND_WITHIN_MS: '1500',
  CALL_DEADLINE_MS: '1500',
  SETTLE_DELAY_MS: '100',
  LOOK_DELAYS_MS: '50,100,200,400',
} as const;

/** Settings of an API that answers 202 soon. */
export const IMPATIENT = { ANSWER_WITHIN_MS: '2500' } as const;

/** The key that signs the stack's links. */
export const SIGNING_KEY = 'signs the links of tests and nothing else';

/** Every part of the product, real, on the run's Temporal server and a task queue of its own. */
export class Stack {
  readonly logs: string[] = [];
  readonly taskQueue = `test-${randomUUID()}`;
  readonly logger: Logger = programLogger('test', 'debug', { write: (line: string) => void this.logs.push(line) });
  #worker: RunningWorker | undefined;

  private constructor(
    readonly sandbox: Sandbox,
    readonly sandboxUrl: string,
    private readonly providerUrl: string,
    private options: StackOptions,
  ) {}

  api!: RunningApi;
  temporal!: Temporal;

  static async start(options: StackOptions = {}): Promise<Stack> {
    const api = { VOID_DATE_OFFSET_MINUTES: String(ALWAYS_VOIDABLE_MINUTES), ...options.api };
    const voidRule = { dateOffsetMinutes: Number(api.VOID_DATE_OFFSET_MINUTES) };
    const sandbox = createSandbox({ ...options.sandbox, assumptions: { voidRule, ...options.sandbox?.assumptions } });
    const { url } = await sandbox.listen();
    const providerUrl = (await options.before?.(url)) ?? url;
    const stack = new Stack(sandbox, url, providerUrl, { ...options, api });
    await stack.#start();
    return stack;
  }

  async #start(): Promise<void> {
    const { webhookUrl, worker } = this.options;
    this.temporal = await openTemporal(workerSettings(this.workerEnvironment()));
    const accounts = new Accounts(this.apiEnvironment(), apiSettings);
    this.api = await startApi(accounts.default.settings, this.logger, accounts);
    if (webhookUrl !== null) this.sendWebhooksTo(webhookUrl ?? `${this.api.url}/webhooks/provider`);
    if (worker !== false) await this.startWorker();
  }

  /** Starts the API again, after it was closed, at its previous port. */
  async restartApi(port: string): Promise<void> {
    this.api = await startApi(apiSettings({ ...this.apiEnvironment(), PORT: port }), this.logger);
  }

  /** The same sandbox and queue under an API and a worker with other settings, as after a deployment. */
  async restartWith(shared: Environment): Promise<void> {
    await this.#stop();
    this.options = { ...this.options, shared };
    await this.#start();
  }

  /** Does the work with another API in place of the stack's own, which still receives the webhooks. */
  async withApi<T>(settings: Environment, work: () => Promise<T>): Promise<T> {
    const own = this.api;
    this.api = await startApi(apiSettings({ ...this.apiEnvironment(), ...settings }), this.logger);
    try {
      return await work();
    } finally {
      await this.api.close();
      this.api = own;
    }
  }

  get worker(): RunningWorker {
    if (this.#worker === undefined) throw new Error('No worker runs in this stack');
    return this.#worker;
  }

  sendWebhooksTo(url: string): void {
    this.sandbox.webhooks.configure({ url });
  }

  async startWorker(): Promise<void> {
    const environment = this.workerEnvironment();
    if (environment['ACCOUNTS_FILE'] === undefined) {
      this.#worker = await startWorker(workerSettings(environment), this.logger);
      return;
    }
    const workers = new Workers(new Accounts(environment, workerSettings), this.logger);
    await workers.begin();
    await workers.ready;
    this.#worker = workers;
  }

  async stopWorker(): Promise<void> {
    await this.#worker?.stop();
    this.#worker = undefined;
  }

  async stop(): Promise<void> {
    await this.#stop();
    await this.sandbox.close();
  }

  async #stop(): Promise<void> {
    await this.stopWorker();
    await this.api.close();
    await this.temporal.close();
  }

  workerEnvironment(): Environment {
    return {
      TEMPORAL_ADDRESS: inject('temporalAddress'),
      TEMPORAL_TASK_QUEUE: this.taskQueue,
      PROVIDER_BASE_URL: this.providerUrl,
      PROVIDER_SECRET_KEY: this.sandbox.keys.secret,
      SHUTDOWN_GRACE_MS: '5000',
      MAX_CACHED_WORKFLOWS: '100',
      ...this.options.shared,
    };
  }

  apiEnvironment(): Environment {
    return {
      ...this.workerEnvironment(),
      PORT: '0',
      PROVIDER_WEBHOOK_SECRET: this.sandbox.keys.webhookSecrets.join(','),
      API_KEYS: Object.entries(KEYS)
        .map(([role, key]) => `${role}:${role}:${createHash('sha256').update(key).digest('hex')}`)
        .join(','),
      URL_SIGNING_KEY: SIGNING_KEY,
      // On a busy machine an answer takes long. A test that wants 202 sets less, or uses `withApi`.
      ANSWER_WITHIN_MS: '15000',
      RATE_LIMIT: '10000',
      OPEN_RATE_LIMIT: '10000',
      ...this.options.api,
    };
  }

  /**
   * As a caller does, it repeats a request that the API could not carry out in time, because a busy machine is slow. A
   * stack whose Temporal a test cuts off or slows down has an address of it, and shows each answer.
   */
  async request<T = CheckoutJson>(method: string, path: string, options: RequestOptions = {}): Promise<Answer<T>> {
    const { api, shared } = this.options;
    const tries = (api?.['TEMPORAL_ADDRESS'] ?? shared?.['TEMPORAL_ADDRESS']) === undefined ? MOST_TRIES : 1;
    for (let left = tries - 1; ; left -= 1) {
      const answer = await this.#requestOnce<T>(method, path, options);
      const { status, body, headers } = answer;
      const isTooSlow = status === 503 && (body as ProblemJson).code === 'temporal_unavailable';
      if (!isTooSlow || left === 0) return answer;
      await sleep(Number(headers.get('retry-after')) * 1_000);
    }
  }

  async #requestOnce<T>(method: string, path: string, options: RequestOptions): Promise<Answer<T>> {
    const { body, key = KEYS.checkout, headers = {} } = options;
    const response = await fetch(`${this.api.url}${path}`, {
      method,
      headers: {
        ...(key === null ? {} : { authorization: `Bearer ${key}` }),
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        ...headers,
      },
      ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
    });
    const text = await response.text();
    const json = response.headers.get('content-type')?.includes('json') === true;
    return {
      status: response.status,
      headers: response.headers,
      body: (json && text !== '' ? JSON.parse(text) : text) as T,
    };
  }

  post<T = CheckoutJson>(path: string, body?: unknown): Promise<Answer<T>> {
    return this.request<T>('POST', path, { body });
  }

  get<T = CheckoutJson>(path: string): Promise<Answer<T>> {
    return this.request<T>('GET', path);
  }

  /** A checkout over THB 1,500.00, unless the fields differ. */
  create(fields: Readonly<Record<string, unknown>> = {}): Promise<Answer> {
    return this.post('/v1/checkouts', { reference: newReference(), amount: 150_000, currency: 'THB', ...fields });
  }

  /** A new checkout that the customer can pay. On a busy machine, its QR code may come after the answer to the request. */
  async open(fields: Readonly<Record<string, unknown>> = {}): Promise<CheckoutJson> {
    const { body } = await this.create(fields);
    return body.qr === null ? this.until(body.id, ({ qr }) => qr !== null) : body;
  }

  /** Opens a checkout as a till does: it repeats the request after a 503 or a lost connection. */
  begin(fields: Readonly<Record<string, unknown>> = {}, timeoutMs = 60_000): Promise<Answer> {
    const reference = newReference();
    return eventually(
      async () => {
        const answer = await this.create({ reference, ...fields });
        if (answer.status === 503) throw new Error(JSON.stringify(answer.body));
        return answer;
      },
      { timeoutMs },
    );
  }

  async timeline(id: string): Promise<TimelineEntry[]> {
    const { body } = await this.get<{ data: TimelineEntry[] }>(`/v1/checkouts/${id}/timeline`);
    return body.data;
  }

  /** The handle of the checkout's workflow, for requests that have no route in the API. */
  workflowOf(id: string) {
    const key = parseCheckoutId(id);
    if (key === null) throw new Error(`Not a checkout's id: ${id}`);
    return this.temporal.client.workflow.getHandle<() => Promise<CheckoutResult>>(checkoutWorkflowId(key));
  }

  async memoOf(id: string): Promise<CheckoutMemo> {
    // Written by this product alone.
    return (await this.workflowOf(id).describe()).memo as CheckoutMemo;
  }

  /** The results of the checkout's activities, local ones too, each as JSON, in all of its runs. */
  async activityResultsOf(id: string): Promise<string[]> {
    const { workflowId } = this.workflowOf(id);
    const results: string[] = [];
    for await (const { runId } of this.temporal.client.workflow.list({ query: `WorkflowId = "${workflowId}"` })) {
      const { events } = await this.temporal.client.workflow.getHandle(workflowId, runId).fetchHistory();
      for (const { activityTaskCompletedEventAttributes: completed, markerRecordedEventAttributes: marker } of events ??
        []) {
        const data = (completed?.result ?? marker?.details?.['result'])?.payloads?.[0]?.data;
        if (data !== null && data !== undefined) results.push(Buffer.from(data).toString('utf8'));
      }
    }
    return results;
  }

  /**
   * Waits until the server has given up a call of the checkout, or the workflow task of a local one. This needs no
   * worker.
   */
  async untilCallTimedOut(id: string): Promise<void> {
    await eventually(
      async () => {
        const { events } = await this.workflowOf(id).fetchHistory();
        const hasTimedOut = events?.some(
          (event) => event.activityTaskTimedOutEventAttributes ?? event.workflowTaskTimedOutEventAttributes,
        );
        if (hasTimedOut !== true) throw new Error('Not yet');
      },
      { timeoutMs: 60_000 },
    );
  }

  /** Waits until the checkout satisfies the test; fails with the checkout as it is. */
  async until(id: string, satisfied: (checkout: CheckoutJson) => boolean, timeoutMs = 90_000): Promise<CheckoutJson> {
    return eventually(
      async () => {
        const { status, body } = await this.get(`/v1/checkouts/${id}`);
        // On a busy machine the API may answer 503, and such an answer has no fields of a checkout.
        if (status !== 200 || !satisfied(body)) throw new Error(`Not yet: ${JSON.stringify(body)}`);
        return body;
      },
      { timeoutMs },
    );
  }

  untilStatus(id: string, status: string, timeoutMs?: number): Promise<CheckoutJson> {
    return this.until(id, (checkout) => checkout.status === status, timeoutMs);
  }

  /** The events of each of a checkout's runs, the first run first. */
  runsOf(reference: string) {
    return this.runsOfWorkflow(`checkout/default/${reference}`);
  }

  async runsOfWorkflow(workflowId: string) {
    const { workflow } = this.temporal.client;
    const eventsOf = async (runId?: string) =>
      (await workflow.getHandle(workflowId, runId).fetchHistory()).events ?? [];
    const runs = [await eventsOf()];
    for (;;) {
      const before = runs[0]?.[0]?.workflowExecutionStartedEventAttributes?.continuedExecutionRunId ?? '';
      if (before === '') return runs;
      runs.unshift(await eventsOf(before));
    }
  }

  /** Waits until the checkout's workflow has continued as new. */
  untilNextRun(reference: string): Promise<void> {
    return this.untilNextRunOfWorkflow(`checkout/default/${reference}`);
  }

  async untilNextRunOfWorkflow(workflowId: string): Promise<void> {
    const handle = this.temporal.client.workflow.getHandle(workflowId);
    const { runId } = await handle.describe();
    await eventually(async () => {
      if ((await handle.describe()).runId === runId) throw new Error('Still the same run');
    });
  }

  /** The provider's requests of one kind, as `POST /charges`. */
  requests(methodAndRoute: string): readonly { method: string; route: string | null }[] {
    return this.sandbox.state().requests.filter(({ method, route }) => `${method} ${route}` === methodAndRoute);
  }

  /** Refunds as a person does in the provider's dashboard: without a refund key, so that only a retrieve shows it. */
  refundElsewhere(chargeId: string, amount: number): Promise<void> {
    return this.#doElsewhere(`/charges/${chargeId}/refunds`, { amount: String(amount) });
  }

  /** Expires a charge as another program with the same key does. */
  expireElsewhere(chargeId: string): Promise<void> {
    return this.#doElsewhere(`/charges/${chargeId}/expire`, {});
  }

  async #doElsewhere(path: string, body: Record<string, string>): Promise<void> {
    const response = await fetch(`${this.sandboxUrl}${path}`, {
      method: 'POST',
      headers: { authorization: `Basic ${btoa(`${this.sandbox.keys.secret}:`)}` },
      body: new URLSearchParams(body),
    });
    if (!response.ok) throw new Error(`The provider refused: ${await response.text()}`);
  }

  /** The provider's charges of one checkout. */
  chargesOf(checkoutId: string) {
    return this.sandbox.state().charges.filter(({ metadata }) => metadata['checkout'] === checkoutId);
  }
}

export function newReference(): string {
  return `test-${randomUUID()}`;
}

/** The only charge of a checkout that has one. */
export function chargeIdOf(checkout: Pick<Checkout, 'attempts'>): string {
  const id = checkout.attempts[0]?.charge_id;
  if (id === null || id === undefined) throw new Error(`The checkout has no charge: ${JSON.stringify(checkout)}`);
  return id;
}
