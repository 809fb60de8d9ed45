import { openTemporal, type Temporal } from '@tillflow/temporal';
import type { CheckoutMemo } from '@tillflow/workflows';
import { defaultPayloadConverter } from '@temporalio/common';
import { Engine } from './engine/engine.js';
import type { Run } from './engine/run.js';
import { Service } from './engine/service.js';
import { SimulatedApi } from './installation/api.js';
import { Provider } from './installation/provider.js';
import { TASK_QUEUE } from './installation/settings.js';
import { SimulatedWorkers } from './installation/workers.js';
import { connectTo } from './network/grpc.js';
import { Network } from './network/network.js';
import { Random } from './random.js';
import { Trace } from './trace.js';
import { enter } from './virtual/install.js';
import { Machine, VirtualTime } from './virtual/time.js';

/** A world begins at this hour, or within the day after it. */
const START_AT = Date.parse('2026-03-10T04:00:00.000Z');
/** Some worlds begin on the day that the next year does not have. */
const LEAP_DAY_AT = Date.parse('2028-02-29T00:00:00.000Z');
const AT_LEAP_DAY = 1 / 16;
const DAY_MS = 86_400_000;
/** In some worlds, the time to void a payment of the day ends while the checkouts live. */
const CUT_OFF_AT = Date.parse('2026-03-10T16:15:00.000Z');
const AT_CUT_OFF = 1 / 8;
const BEFORE_CUT_OFF_MS = 4 * 60_000;
/** The Schedule of the event tail. Milliseconds. */
const EVENT_TAIL_EVERY_MS = 60_000;

/** One installation in one process: API, workers, engine and provider, on a clock and a network of its own. */
export class World {
  readonly time: VirtualTime;
  readonly random: Random;
  readonly trace: Trace;
  readonly network: Network;
  readonly engine: Engine;
  readonly provider: Provider;
  readonly api: SimulatedApi;
  readonly workers: SimulatedWorkers;
  readonly #engineMachine = new Machine('engine');
  #engineIsDown = false;
  #operator: Temporal | null = null;
  #isClosed = false;
  #tailIsPaused = false;
  /** What to do when a workflow has published another state. */
  readonly #readers = new Map<string, () => void>();
  readonly #memos = new WeakMap<Run, { readonly version: unknown; readonly memo: CheckoutMemo }>();

  private constructor(
    readonly seed: string,
    keepsLines: boolean,
  ) {
    this.random = new Random(seed);
    const startAt = startOf(this.random);
    this.time = new VirtualTime(startAt, this.random.stream('product'));
    this.trace = new Trace(() => this.time.now - startAt, keepsLines);
    enter(this.time);
    const { time } = this;
    const { note } = this.trace;
    const engineMachine = (): Machine | null => (this.#engineIsDown ? null : this.#engineMachine);
    this.network = new Network(time, this.random.stream('network'));
    this.engine = new Engine(time, this.random.stream('engine'), note);
    this.engine.runs.onChange = ({ start }) => this.#readers.get(start.workflowId)?.();
    this.provider = new Provider(seed, time, note);
    const { network, engine } = this;
    connectTo({ network, service: new Service(engine), engine: engineMachine });
    this.api = new SimulatedApi({ time, network, note });
    this.workers = new SimulatedWorkers({
      time,
      network,
      engine,
      engineMachine,
      provider: this.provider.server,
      note,
    });
  }

  /** @param options `keepsLines`: the trace keeps its lines, and not only their digest */
  static async open(seed: string, options: { readonly workers: number; readonly keepsLines: boolean }): Promise<World> {
    const world = new World(seed, options.keepsLines);
    world.provider.sendWebhooksTo(world.network, world.api.server);
    world.#operator = await openTemporal({
      TEMPORAL_ADDRESS: 'engine:7233',
      TEMPORAL_NAMESPACE: 'default',
      TEMPORAL_TASK_QUEUE: TASK_QUEUE,
      TEMPORAL_TLS: false,
    });
    await world.api.start();
    for (let count = 0; count < options.workers; count += 1) await world.workers.start();
    world.#keepTail();
    return world;
  }

  /** A client of the engine that no fault affects, for people who operate the installation. */
  get operator(): Temporal {
    if (this.#operator === null) throw new Error('The world is not open');
    return this.#operator;
  }

  freeze(machine: Machine, milliseconds: number): void {
    this.trace.note(`${machine.name} frozen for ${milliseconds}`);
    machine.frozenUntil = this.time.now + milliseconds;
    this.pollsAfter(milliseconds);
  }

  /** Workers that could not ask for tasks ask again after this time. */
  pollsAfter(milliseconds: number): void {
    this.time.after(milliseconds + 1, () => this.engine.parts.pollers.poll(), undefined);
  }

  /** The engine restarts: it refuses calls for a moment, and loses what was only in its memory. */
  async restartEngine(milliseconds: number): Promise<void> {
    this.trace.note('engine restarts');
    this.#engineIsDown = true;
    this.engine.restart();
    await this.time.sleep(milliseconds);
    this.#engineIsDown = false;
    this.engine.parts.pollers.poll();
  }

  /** Ends every fault of processes, connections and clocks. */
  heal(): void {
    this.trace.note('healed');
    this.network.heal();
    this.provider.heal();
    for (const machine of [this.api.machine, this.provider.machine, ...this.workers.all.map((one) => one.machine)]) {
      machine.frozenUntil = 0;
      machine.skewMs = 0;
    }
    for (const worker of this.workers.all) worker.heal();
    this.engine.runs.visibilityLagMs = 40;
    this.engine.parts.pollers.poll();
  }

  /** The memo of the newest run, as the engine stores it; null: there is none. */
  memoOf(workflowId: string): CheckoutMemo | null {
    const run = this.engine.runs.newest.get(workflowId);
    if (run === undefined) return null;
    const version = run.memo['version'];
    const known = this.#memos.get(run);
    if (known !== undefined && known.version === version) return known.memo;
    const values = Object.entries(run.memo).map(([name, payload]) => [
      name,
      defaultPayloadConverter.fromPayload<unknown>(payload),
    ]);
    const memo = Object.fromEntries(values) as CheckoutMemo;
    this.#memos.set(run, { version, memo });
    return memo;
  }

  /** Calls `read` each time that this workflow has published another state. */
  onPublished(workflowId: string, read: () => void): void {
    let version: unknown;
    this.#readers.set(workflowId, () => {
      const newest = this.engine.runs.newest.get(workflowId)?.memo['version'];
      if (newest === version) return;
      version = newest;
      read();
    });
  }

  /** The Schedule of the event tail is paused, and its run ends. */
  pauseTail(): void {
    this.#tailIsPaused = true;
    const run = this.engine.runs.newest.get('event-tail');
    if (run?.isOpen === true) this.engine.terminate(run);
  }

  /** Every machine stands still until this instant, as on a suspended host. Then workers read Temporal's clock again. */
  skipTo(instant: number): void {
    this.time.skipTo(instant);
    this.workers.readClocks();
  }

  /** As the Schedule of the event tail does: once a minute, when it does not run. */
  #keepTail(): void {
    if (this.#isClosed || this.#tailIsPaused) return;
    const { runs } = this.engine;
    if (runs.newest.get('event-tail')?.isOpen !== true) {
      const requestId = `tail ${this.time.now}`;
      const start = { workflowId: 'event-tail', type: 'eventTail', taskQueue: TASK_QUEUE, input: [], requestId };
      const policies = { usesExisting: false, allowsDuplicate: true };
      runs.start({ ...start, memo: {}, searchAttributes: {} }, policies);
    }
    this.time.after(EVENT_TAIL_EVERY_MS, () => this.#keepTail(), undefined);
  }

  close(): void {
    this.#isClosed = true;
    // The process stays in this world until the next one begins: what still runs sets timers that never end.
    this.workers.close();
    void this.operator.close();
  }
}

/** Milliseconds since 1970, UTC. */
function startOf(random: Random): number {
  if (random.chance(AT_CUT_OFF)) return CUT_OFF_AT - random.integer(0, BEFORE_CUT_OFF_MS);
  return (random.chance(AT_LEAP_DAY) ? LEAP_DAY_AT : START_AT) + random.integer(0, DAY_MS);
}
