import { PaymentsClient, systemClock } from '@tillflow/payments-client';
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
import { pino } from 'pino';
import type { Engine } from '../engine/engine.js';
import { providerDispatcher, type HttpServer } from '../network/http.js';
import type { Network } from '../network/network.js';
import { Machine, type VirtualTime } from '../virtual/time.js';
import { ActivityContext, type Activities } from '../worker/activities.js';
import { SimulatedWorker } from '../worker/worker.js';
import { loadWorkflows, type WorkflowCode } from '../worker/workflow-code.js';
import { SECRET_KEY } from './provider.js';
import { ENGINE, TASK_QUEUE } from './settings.js';

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
const silent = pino({ level: 'silent' });
let workflows: Promise<WorkflowCode> | undefined;

/** The worker processes of a world. */
export class SimulatedWorkers {
  readonly all: SimulatedWorker[] = [];
  #started = 0;
  readonly #clocks: TemporalClock[] = [];
  readonly #connections: Temporal[] = [];

  constructor(
    private readonly parts: {
      readonly time: VirtualTime;
      readonly network: Network;
      readonly engine: Engine;
      readonly engineMachine: () => Machine | null;
      readonly provider: HttpServer;
      readonly note: (what: string) => void;
    },
  ) {}

  /** Temporal answers in a moment. */
  get #reading() {
    const { now } = this.parts.time;
    return { from: now - 2, to: now, said: now - 1 };
  }

  /** As each worker does every few minutes. */
  readClocks(): void {
    for (const clock of this.#clocks) clock.take(this.#reading);
  }

  async start(): Promise<void> {
    const { time, network, engine, note, engineMachine } = this.parts;
    this.#started += 1;
    const machine = new Machine(`worker-${this.#started}`);
    const settings = workerSettings({
      ...ENGINE,
      PROVIDER_BASE_URL: 'http://provider',
      PROVIDER_SECRET_KEY: SECRET_KEY,
    });
    const temporal = await openTemporal(settings);
    this.#connections.push(temporal);
    // The worker has read the engine's clock.
    const clock = new TemporalClock(this.#reading, {
      wall: () => time.now + machine.skewMs,
      monotonic: () => time.now,
    });
    this.#clocks.push(clock);
    const client = new PaymentsClient({
      baseUrl: settings.PROVIDER_BASE_URL,
      secretKey: settings.PROVIDER_SECRET_KEY,
      dispatcher: providerDispatcher(network, 'worker-provider', this.parts.provider),
      clock: { ...systemClock, now: () => clock.now(), monotonic: () => performance.now() },
      searchedMetadata: SEARCHED_METADATA,
    });
    const keys = new ConfiguredKeys({ API_KEYS: [], PROVIDER_SECRET_KEY: SECRET_KEY }, silent);
    const activities = activitiesOf({ temporal, client, keys, presence: { hasEndpoints: () => false } }, settings);
    workflows ??= loadWorkflows(BUNDLE_PATH, ACTIVITIES);
    const worker = new SimulatedWorker({
      engine,
      network,
      time,
      workflows: await workflows,
      activities: new ActivityContext({
        time,
        client: temporal.client,
        activities: activities as unknown as Activities,
        interceptors: [correlated, scheduledAt({ temporal: clock })],
        taskQueue: TASK_QUEUE,
      }),
      machine,
      engineMachine,
      note,
    });
    this.all.push(worker);
    engine.parts.pollers.add(worker);
    note(`${worker.name} started`);
  }

  /** The process ends without a word; another one takes its place, with nothing in memory. */
  async kill(worker: SimulatedWorker, backAfterMs: number): Promise<void> {
    if (worker.machine.isDead) return;
    this.parts.note(`${worker.name} killed`);
    worker.machine.isDead = true;
    worker.forgetAll();
    this.parts.engine.parts.pollers.remove(worker.name);
    this.all.splice(this.all.indexOf(worker), 1);
    await this.parts.time.sleep(backAfterMs);
    await this.start();
  }

  /** Does not wait: a connection closes when its calls have ended, and the calls of a killed worker never end. */
  close(): void {
    for (const worker of this.all) worker.forgetAll();
    for (const temporal of this.#connections) void temporal.close();
  }
}
