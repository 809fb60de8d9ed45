import type { Fault } from '@tillflow/sandbox';
import type { Surroundings } from './people/surroundings.js';
import { Lies } from './installation/lies.js';
import type { Link } from './network/network.js';
import type { FaultKind } from './fault-kinds.js';
import type { Random } from './random.js';
import type { World } from './world.js';

const POST = { method: 'POST', times: 1 } as const;
const GET = { method: 'GET', path: '/charges/{id}', times: 1 } as const;

/** Faults of the provider, as its sandbox makes them. */
const PROVIDER: Partial<Record<FaultKind, Fault>> = {
  'provider: change answered 503': { ...POST, action: 'status', status: 503 },
  'provider: change made, answered 500': { ...POST, action: 'commit_then_status', status: 500 },
  'provider: change not received': { ...POST, action: 'reset_before' },
  'provider: answer of a change lost': { ...POST, action: 'commit_then_reset' },
  'provider: change hangs': { ...POST, action: 'hang' },
  'provider: change made, then hangs': { ...POST, action: 'commit_then_hang' },
  // Later than the caller's deadline of 10 s, earlier than its repetition.
  'provider: change takes effect late': { ...POST, action: 'delay', delay_ms: 12_000 },
  // Later than its repetition: no lookup before that can find it, and a check minutes later does.
  'provider: change takes effect too late': { ...POST, action: 'delay', delay_ms: 60_000 },
  'provider: change made, slow answer': { ...POST, action: 'commit_then_delay', delay_ms: 3_000 },
  'provider: unreadable answer of a change': { ...POST, action: 'garbage_body' },
  'provider: cut answer of a change': { ...POST, action: 'truncated_body' },
  'provider: change answered 429': { ...POST, action: 'status', status: 429, retry_after: 1 },
  'provider: change refused with 400': { ...POST, action: 'status', status: 400 },
  'provider: key refused': { action: 'status', status: 401, code: 'authentication_failure', times: 3 },
  'provider: read answered 500': { ...GET, action: 'status', status: 500 },
  'provider: read broken off': { ...GET, action: 'reset_before' },
  'provider: read answered 404': { ...GET, action: 'status', status: 404 },
  'provider: unreadable answer of a read': { ...GET, action: 'garbage_body' },
  'provider: read hangs': { ...GET, action: 'hang' },
  'provider: slow read': { ...GET, action: 'delay', delay_ms: 2_500 },
};

const WEBHOOK_FAULTS = {
  'webhook: lost': { drop: 1 },
  'webhook: doubled': { duplicate: 1 },
  'webhook: out of order': { reorder: 1 },
  'webhook: wrong signature': { corrupt_signature: 1 },
  'webhook: late': { delay_ms: 20_000 },
} as const;
/** Webhooks fail for so long. Milliseconds. */
const WEBHOOKS_FAIL_MS = 5_000;

/** How a fault of the installation begins. */
type Cause = (world: World, random: Random) => void;

/** A worker without CPU reads its task late, and gets the answer of a local call as late. Milliseconds. */
const STARVED_MS = [2_500, 4_300, 4_800] as const;

const INSTALLATION: Partial<Record<FaultKind, Cause>> = {
  'worker: killed': ({ workers }, random) => {
    const worker = oneOf(workers.all, random);
    if (worker !== null) void workers.kill(worker, random.pick([50, 1_000, 5_000]));
  },
  'worker: all killed': ({ workers }, random) => {
    const backAfterMs = random.pick([500, 5_000, 15_000]);
    for (const worker of workers.all.slice()) void workers.kill(worker, backAfterMs);
  },
  'worker: frozen': (world, random) => {
    const worker = oneOf(world.workers.all, random);
    if (worker === null) return;
    worker.openPolls = random.integer(0, 1);
    world.freeze(worker.machine, random.pick([300, 1_500, 8_000, 20_000]));
  },
  'worker: without CPU': ({ workers }, random) => {
    const ms = random.pick(STARVED_MS);
    for (const worker of workers.all) worker.delays.push(ms);
  },
  'worker: forgets its runs': ({ workers }) => {
    for (const worker of workers.all) worker.forgetAll();
  },
  'worker: task lost': ({ workers }, random) => {
    const worker = oneOf(workers.all, random);
    if (worker !== null) worker.loseTasks += 1;
  },
  'worker: reports twice': ({ workers }) => {
    for (const worker of workers.all) worker.repeatReports += 1;
  },
  'API: killed': ({ api }) => void api.kill(),
  'API: frozen': (world, random) => world.freeze(world.api.machine, random.pick([500, 3_000, 12_000])),
  'engine: restarts': (world, random) => void world.restartEngine(random.pick([200, 2_000, 6_000])),
  'engine: search lags': ({ engine }, random) => {
    engine.runs.visibilityLagMs = random.pick([1_000, 5_000, 30_000]);
  },
  'clock: API ahead': ({ api }, random) => {
    api.machine.skewMs = random.pick([2_000, 60_000, 600_000]);
  },
  'clock: API behind': ({ api }, random) => {
    api.machine.skewMs = -random.pick([2_000, 60_000, 600_000]);
  },
  'clock: workers ahead': ({ workers }, random) => {
    for (const { machine } of workers.all) machine.skewMs = random.pick([500, 5_000, 25_000]);
  },
  'clock: workers behind': ({ workers }, random) => {
    for (const { machine } of workers.all) machine.skewMs = -random.pick([500, 5_000, 25_000]);
  },
};

/** Null: all are dead at the moment. */
function oneOf<T>(all: readonly T[], random: Random): T | null {
  return all.length === 0 ? null : random.pick(all);
}

/** Causes faults of the provider that meet one charge only, so that lives do not disturb each other. */
export class FaultsOfCharges {
  constructor(private readonly provider: Pick<Surroundings['provider'], 'at'>) {}

  /** @param chargeId undefined: there is no charge yet, and nothing fails */
  cause(kind: FaultKind, chargeId: string | undefined): void {
    const fault = PROVIDER[kind];
    if (fault === undefined || chargeId === undefined) return;
    const path = `/charges/${chargeId}`;
    const paths = fault.method === 'GET' ? [path] : [`${path}/refunds`, `${path}/expire`];
    this.provider.at((sandbox) => {
      for (const one of paths) sandbox.faults.add({ ...fault, path: one });
    });
  }
}

/** Causes faults of a world. */
export class Faults {
  #isOver = false;
  #webhookFaults = 0;

  constructor(
    private readonly world: World,
    private readonly random: Random,
  ) {}

  cause(kind: FaultKind): void {
    if (this.#isOver) return;
    const { world, random } = this;
    world.trace.note(`fault ${kind}`);
    const ofProvider = PROVIDER[kind];
    const ofInstallation = INSTALLATION[kind];
    if (ofProvider !== undefined) world.provider.sandbox.faults.add([ofProvider]);
    else if (ofInstallation !== undefined) ofInstallation(world, random);
    else if (Lies.includes(kind)) world.provider.lies.add(kind);
    else if (kind in WEBHOOK_FAULTS) this.#failWebhooks(WEBHOOK_FAULTS[kind as keyof typeof WEBHOOK_FAULTS]);
    else this.#breakLink(kind);
  }

  /** No fault follows, and those under way end. */
  end(): void {
    this.#isOver = true;
    this.world.heal();
  }

  #breakLink(kind: FaultKind): void {
    const { world, random } = this;
    const [link, how] = kind.split(': ') as [Link, string];
    const state = world.network.of(link);
    const ms = random.pick([100, 2_000, 8_000]);
    switch (how) {
      case 'refused':
      case 'silent':
        world.network.cut(link, ms, how === 'silent');
        world.pollsAfter(ms);
        return;
      case 'request lost':
        state.loseRequests += 1;
        return;
      case 'answer lost':
        state.loseAnswers += 1;
        return;
      default:
        throw new Error(`No fault ${kind}`);
    }
  }

  #failWebhooks(rates: object): void {
    const { provider, time } = this.world;
    this.#webhookFaults += 1;
    const latest = this.#webhookFaults;
    provider.failWebhooks(rates);
    const end = (): void => {
      if (latest === this.#webhookFaults) provider.failWebhooks({});
    };
    time.after(WEBHOOKS_FAIL_MS, end, undefined);
  }
}
