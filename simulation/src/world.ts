import { createHash } from 'node:crypto';
import { AccountApi, apiSettings, Neighbours, type Shared } from '@tillflow/api';
import { PaymentsClient, systemClock } from '@tillflow/payments-client';
import { createSandbox, type Sandbox } from '@tillflow/sandbox';
import { ConfiguredKeys, openTemporal, type Temporal } from '@tillflow/temporal';
import {
  activitiesOf,
  BUNDLE_PATH,
  correlated,
  scheduledAt,
  SEARCHED_METADATA,
  TemporalClock,
  workerSettings,
} from '@tillflow/worker';
import type { ChargeJson } from '@tillflow/sandbox';
import { chargesOf, COMPARED_SECTIONS, type ProviderRecords } from '@tillflow/tools/chaos';
import type { CheckoutMemo } from '@tillflow/workflows';
import type { ProviderCharge } from '@tillflow/workflows/testing';
import { defaultPayloadConverter } from '@temporalio/common';
import { pino } from 'pino';
import { setGlobalDispatcher } from 'undici';
import { Engine } from './engine/engine.js';
import type { Run } from './engine/run.js';
import { Service } from './engine/service.js';
import { connectTo } from './network/grpc.js';
import { providerDispatcher, serve, WebhookDispatcher, type HttpAnswer, type HttpServer } from './network/http.js';
import { Network } from './network/network.js';
import { Random } from './random.js';
import { enter } from './virtual/install.js';
import { Machine, running, VirtualTime } from './virtual/time.js';
import { loadWorkflows, SimulatedWorker, type Activities } from './worker.js';

const START_AT = Date.parse('2026-03-10T04:00:00.000Z');
const KEY = 'the-key-of-the-simulated-tills';
export const TASK_QUEUE = 'tillflow';
const WEBHOOK_SECRET = Buffer.from('the secret of simulated webhooks').toString('base64');
const SECRET_KEY = 'skey_test_simulation000000000';
const EVENT_TAIL_EVERY_MS = 60_000;
const silent = pino({ level: 'silent' });

type Workflows = Awaited<ReturnType<typeof loadWorkflows>>;
let workflows: Promise<Workflows> | undefined;

export type TillAnswer = { readonly status: number; readonly json: unknown };

/** One installation in one process: API, workers, engine and provider, on a clock and a network of its own. */
export class World {
  readonly time: VirtualTime;
  readonly random: Random;
  readonly network: Network;
  readonly engine: Engine;
  readonly sandbox: Sandbox;
  readonly provider = new Machine('provider');
  readonly #engineMachine = new Machine('engine');
  #engineIsDown = false;
  api!: Machine;
  #account!: AccountApi;
  readonly workers: SimulatedWorker[] = [];
  #operator!: Temporal;
  #started = 0;
  readonly #hash = createHash('sha256');
  readonly lines: string[] = [];
  readonly #openRequests = new Set<() => void>();
  readonly #closing: (() => Promise<unknown>)[] = [];

  private constructor(
    readonly seed: string,
    private readonly workflows: Workflows,
    private readonly keepsLines: boolean,
  ) {
    this.random = new Random(seed);
    this.time = new VirtualTime(START_AT + this.random.integer(0, 86_400_000), this.random.stream('product'));
    enter(this.time);
    this.network = new Network(this.time, this.random.stream('network'));
    this.engine = new Engine(this.time, this.random.stream('engine'), (what) => this.note(what));
    this.sandbox = running.run(this.provider, () =>
      createSandbox({
        seed,
        secretKey: SECRET_KEY,
        publicKey: 'pkey_test_simulation000000000',
        webhookSecrets: [WEBHOOK_SECRET],
        webhookUrl: 'http://api/webhooks/provider',
        publicUrl: 'http://provider',
        assumptions: { rememberedRequests: 1_000_000 },
      }),
    );
  }

  static async open(
    seed: string,
    options: { readonly workers: number; readonly keepsLines?: boolean },
  ): Promise<World> {
    workflows ??= loadWorkflows(BUNDLE_PATH, ACTIVITIES);
    const world = new World(seed, await workflows, options.keepsLines ?? false);
    connectTo({
      network: world.network,
      service: new Service(world.engine),
      engine: () => (world.#engineIsDown ? null : world.#engineMachine),
    });
    running.run(world.provider, () => setGlobalDispatcher(new WebhookDispatcher(world.network, world.#apiServer)));
    for (const moment of ['request', 'response'] as const) {
      world.sandbox.on(moment, ({ method, path, status }) =>
        world.note(`provider ${moment} ${method} ${path} ${status}`),
      );
    }
    world.#operator = await openTemporal(clientSettings());
    world.#closing.push(() => world.#operator.close());
    await world.startApi();
    for (let count = 0; count < options.workers; count += 1) await world.startWorker();
    world.#keepTail();
    return world;
  }

  /** The virtual time, who acts, and what happened: the same seed writes the same lines. */
  note(what: string): void {
    const line = `${(this.time.now - START_AT).toFixed(3)} ${what}`;
    this.#hash.update(line).update('\n');
    if (this.keepsLines) this.lines.push(line);
  }

  /** Of everything that was noted. */
  get digest(): string {
    return this.#hash.copy().digest('hex');
  }

  /** A client of the engine that no fault affects, for people who operate the installation. */
  get operator(): Temporal {
    return this.#operator;
  }

  async startApi(): Promise<void> {
    this.#started += 1;
    const machine = new Machine(`api-${this.#started}`);
    const values = apiSettings({
      TEMPORAL_ADDRESS: 'engine:7233',
      TEMPORAL_TASK_QUEUE: TASK_QUEUE,
      PROVIDER_BASE_URL: 'http://provider',
      PROVIDER_SECRET_KEY: SECRET_KEY,
      PROVIDER_WEBHOOK_SECRET: WEBHOOK_SECRET,
      API_KEYS: `tills:ops:${createHash('sha256').update(KEY).digest('hex')}`,
      URL_SIGNING_KEY: 'the key that signs all links of a simulation',
      PUBLIC_URL: 'http://api',
      RATE_LIMIT: '100000',
      OPEN_RATE_LIMIT: '100000',
      DOCS_OPEN: 'false',
    });
    const keys = new ConfiguredKeys(values, silent);
    const shared: Shared = { keys, neighbours: new Neighbours(), logger: silent, tracer: undefined };
    await running.run(machine, async () => {
      this.#account = await AccountApi.open(values, shared);
      await this.#account.app.getHttpAdapter().getInstance().ready();
    });
    this.api = machine;
    this.note(`api ${machine.name} started`);
  }

  /** The process ends without a word; another one takes its place. */
  async killApi(): Promise<void> {
    this.note('api killed');
    this.api.isDead = true;
    for (const end of this.#openRequests) end();
    this.#openRequests.clear();
    await this.time.sleep(500);
    await this.startApi();
  }

  async startWorker(): Promise<SimulatedWorker> {
    this.#started += 1;
    const machine = new Machine(`worker-${this.#started}`);
    const settings = workerSettings({
      TEMPORAL_ADDRESS: 'engine:7233',
      TEMPORAL_TASK_QUEUE: TASK_QUEUE,
      PROVIDER_BASE_URL: 'http://provider',
      PROVIDER_SECRET_KEY: SECRET_KEY,
    });
    const temporal = await openTemporal(settings);
    this.#closing.push(() => temporal.close());
    // The worker has read the engine's clock: the reading took a moment.
    const clock = new TemporalClock(
      { from: this.time.now - 2, to: this.time.now, said: this.time.now - 1 },
      { wall: () => this.time.now + machine.skewMs, monotonic: () => this.time.now },
    );
    const client = new PaymentsClient({
      baseUrl: settings.PROVIDER_BASE_URL,
      secretKey: settings.PROVIDER_SECRET_KEY,
      dispatcher: providerDispatcher(this.network, 'worker-provider', this.#providerServer),
      clock: { ...systemClock, now: () => clock.now(), monotonic: () => performance.now() },
      searchedMetadata: SEARCHED_METADATA,
    });
    const keys = new ConfiguredKeys({ API_KEYS: [], PROVIDER_SECRET_KEY: SECRET_KEY }, silent);
    const activities = activitiesOf({ temporal, client, keys, presence: { hasEndpoints: () => false } }, settings);
    const worker = new SimulatedWorker({
      engine: this.engine,
      network: this.network,
      time: this.time,
      workflows: this.workflows,
      activities: activities as unknown as Activities,
      interceptors: [correlated, scheduledAt({ temporal: clock })],
      client: temporal.client,
      machine,
      taskQueue: TASK_QUEUE,
      engineMachine: () => (this.#engineIsDown ? null : this.#engineMachine),
      note: (what) => this.note(what),
    });
    this.workers.push(worker);
    this.engine.workers.set(worker.name, worker);
    this.engine.polls();
    this.note(`${worker.name} started`);
    return worker;
  }

  async killWorker(worker: SimulatedWorker, backAfterMs: number): Promise<void> {
    if (worker.machine.isDead) return;
    this.note(`${worker.name} killed`);
    worker.machine.isDead = true;
    worker.forgetAll();
    this.engine.workers.delete(worker.name);
    this.workers.splice(this.workers.indexOf(worker), 1);
    await this.time.sleep(backAfterMs);
    await this.startWorker();
  }

  freeze(machine: Machine, milliseconds: number): void {
    this.note(`${machine.name} frozen for ${milliseconds}`);
    machine.frozenUntil = this.time.now + milliseconds;
    this.time.after(milliseconds + 1, () => this.engine.polls(), undefined);
  }

  /** The engine restarts: it refuses calls for a moment, and loses what was only in its memory. */
  async restartEngine(milliseconds: number): Promise<void> {
    this.note('engine restarts');
    this.#engineIsDown = true;
    this.engine.restart();
    await this.time.sleep(milliseconds);
    this.#engineIsDown = false;
    this.engine.polls();
  }

  /** Ends every fault of processes and connections. */
  heal(): void {
    this.note('healed');
    this.network.heal();
    for (const machine of [this.api, this.provider, ...this.workers.map(({ machine: one }) => one)])
      machine.frozenUntil = 0;
    this.sandbox.faults.clear();
    this.sandbox.webhooks.configure({ url: 'http://api/webhooks/provider' });
    this.engine.visibilityLagMs = 40;
    this.engine.polls();
  }

  /** The memo of the newest run, as the engine stores it; null: there is none. */
  memoOf(workflowId: string): CheckoutMemo | null {
    const run = this.engine.newest.get(workflowId);
    if (run === undefined) return null;
    const known = this.#memos.get(run);
    if (known?.version === run.memo['version'] && known !== undefined) return known.memo;
    const values = Object.entries(run.memo).map(([name, payload]) => [
      name,
      defaultPayloadConverter.fromPayload(payload),
    ]);
    const memo = Object.fromEntries(values) as CheckoutMemo;
    this.#memos.set(run, { version: run.memo['version'], memo });
    return memo;
  }

  readonly #memos = new WeakMap<Run, { readonly version: unknown; readonly memo: CheckoutMemo }>();

  /** Does something at the provider: its customers and its dashboard do it. */
  atProvider<T>(work: (sandbox: Sandbox) => T): T {
    return running.run(this.provider, () => work(this.sandbox));
  }

  chargesOf(checkoutId: string): ChargeJson[] {
    const { charges = [] } = this.atProvider((sandbox) => sandbox.state(['charges']));
    return charges.filter(({ metadata }) => metadata['checkout'] === checkoutId);
  }

  /** The charges of a checkout, as the oracle reads them. */
  providerCharges(checkoutId: string): ProviderCharge[] {
    const { charges = [], refunds = [] } = this.atProvider((sandbox) => sandbox.state(['charges', 'refunds']));
    return chargesOf({ charges, refunds }, checkoutId);
  }

  records(): ProviderRecords {
    return this.atProvider((sandbox) => sandbox.state(COMPARED_SECTIONS)) as ProviderRecords;
  }

  /** Someone at the provider's dashboard calls its API. */
  async askProvider(method: string, path: string, body: string): Promise<void> {
    const headers = {
      authorization: `Basic ${Buffer.from(`${SECRET_KEY}:`).toString('base64')}`,
      'content-type': 'application/x-www-form-urlencoded',
    };
    await running.run(this.provider, () =>
      this.#providerServer.answer({ method, path, headers, body }, () => undefined),
    );
  }

  /** What a till sends. Null: no answer came. */
  ask(
    method: 'GET' | 'POST',
    path: string,
    body?: object,
    headers: Readonly<Record<string, string>> = {},
    withinMs = 15_000,
  ): Promise<TillAnswer | null> {
    return new Promise((resolve) => {
      const type: Record<string, string> = body === undefined ? {} : { 'content-type': 'application/json' };
      const request = {
        method,
        path,
        headers: { host: 'api', authorization: `Bearer ${KEY}`, ...type, ...headers },
        body: body === undefined ? '' : JSON.stringify(body),
      };
      let leave = (): void => undefined;
      const cancel = this.network.exchange(
        'till-api',
        this.#apiServer.machine,
        () => this.#apiServer.answer(request, (close) => (leave = close)),
        (result) => {
          end();
          if ('broken' in result || result.answer === null) resolve(null);
          else {
            const text = result.answer.body.toString('utf8');
            resolve({ status: result.answer.status, json: text === '' ? null : (JSON.parse(text) as unknown) });
          }
        },
      );
      const end = this.time.after(
        withinMs,
        () => {
          cancel();
          leave();
          resolve(null);
        },
        undefined,
      );
    });
  }

  readonly #providerServer: HttpServer = {
    machine: () => this.provider,
    answer: (request, onOpen) =>
      serve((incoming, response) => this.sandbox.handle(incoming, response), request, onOpen),
  };

  readonly #apiServer: HttpServer = {
    machine: () => this.api,
    answer: (request, onOpen) => this.#inject(request, onOpen),
  };

  async #inject(
    {
      method,
      path,
      headers,
      body,
    }: {
      readonly method: string;
      readonly path: string;
      readonly headers: Readonly<Record<string, string>>;
      readonly body: string;
    },
    onOpen: (close: () => void) => void,
  ): Promise<HttpAnswer | null> {
    const gone = new AbortController();
    const died = new Promise<null>((resolve) => {
      const end = (): void => resolve(null);
      this.#openRequests.add(end);
      gone.signal.addEventListener('abort', end);
    });
    onOpen(() => gone.abort());
    const answered = this.#account.app
      .inject({
        method: method as 'GET',
        url: path,
        headers,
        ...(body === '' ? {} : { payload: body }),
        signal: gone.signal,
      })
      .then(
        ({ statusCode, rawPayload }): HttpAnswer => ({
          status: statusCode,
          headers: {},
          body: rawPayload,
          isCut: false,
        }),
        () => null,
      );
    return Promise.race([answered, died]);
  }

  /** As the Schedule of the event tail does: once a minute, when it does not run. */
  #keepTail(): void {
    if (this.#isClosed) return;
    const present = this.engine.newest.get('event-tail');
    if (present?.isOpen !== true) {
      this.engine.start(
        {
          workflowId: 'event-tail',
          type: 'eventTail',
          taskQueue: TASK_QUEUE,
          input: [],
          memo: {},
          searchAttributes: {},
          requestId: `tail ${this.time.now}`,
        },
        { usesExisting: false, allowsDuplicate: true },
      );
    }
    this.time.after(EVENT_TAIL_EVERY_MS, () => this.#keepTail(), undefined);
  }

  #isClosed = false;

  /** Ends the event tail, so that months can pass without a pass every few seconds. */
  stopTail(): void {
    this.#isClosed = true;
    const tail = this.engine.newest.get('event-tail');
    if (tail?.isOpen === true) this.engine.terminate(tail);
  }

  close(): void {
    this.#isClosed = true;
    for (const worker of this.workers) worker.forgetAll();
    connectTo(null);
    enter(null);
  }
}

function clientSettings() {
  return {
    TEMPORAL_ADDRESS: 'engine:7233',
    TEMPORAL_NAMESPACE: 'default',
    TEMPORAL_TASK_QUEUE: TASK_QUEUE,
    TEMPORAL_TLS: false,
  };
}

/** The names of the activities, which the library wants to know before it runs workflow code. */
const ACTIVITIES = [
  'createSource',
  'createCharge',
  'expireCharge',
  'createRefund',
  'retrieveCharge',
  'findCharges',
  'refundRights',
  'readEvents',
  'recallTail',
];
