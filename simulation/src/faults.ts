import type { Fault } from '@tillflow/sandbox';
import type { Link } from './network/network.js';
import type { FaultKind } from './plan.js';
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

/** Causes faults of a world, and counts those that took place. */
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
    world.note(`fault ${kind}`);
    const fault = PROVIDER[kind];
    if (fault !== undefined) {
      world.sandbox.faults.add([fault]);
      return;
    }
    if (kind in WEBHOOK_FAULTS) {
      this.#failWebhooks(WEBHOOK_FAULTS[kind as keyof typeof WEBHOOK_FAULTS]);
      return;
    }
    const worker = random.pick(world.workers.length > 0 ? world.workers : [null]);
    switch (kind) {
      case 'worker: killed':
        if (worker !== null) void world.killWorker(worker, random.pick([50, 1_000, 5_000]));
        return;
      case 'worker: all killed': {
        const backAfterMs = random.pick([500, 5_000, 15_000]);
        for (const one of [...world.workers]) void world.killWorker(one, backAfterMs);
        return;
      }
      case 'worker: frozen':
        if (worker === null) return;
        worker.openPolls = random.integer(0, 1);
        world.freeze(worker.machine, random.pick([300, 1_500, 8_000, 20_000]));
        return;
      case 'worker: forgets its runs':
        for (const one of world.workers) one.forgetAll();
        return;
      case 'worker: task lost':
        if (worker !== null) worker.loseTasks += 1;
        return;
      case 'worker: reports twice':
        for (const one of world.workers) one.repeatReports += 1;
        return;
      case 'API: killed':
        void world.killApi();
        return;
      case 'API: frozen':
        world.freeze(world.api, random.pick([500, 3_000, 12_000]));
        return;
      case 'engine: restarts':
        void world.restartEngine(random.pick([200, 2_000, 6_000]));
        return;
      case 'engine: search lags':
        world.engine.visibilityLagMs = random.pick([1_000, 5_000, 30_000]);
        return;
      case 'clock: API ahead':
        world.api.skewMs = random.pick([2_000, 60_000, 600_000]);
        return;
      case 'clock: API behind':
        world.api.skewMs = -random.pick([2_000, 60_000, 600_000]);
        return;
      case 'clock: workers ahead':
        for (const one of world.workers) one.machine.skewMs = random.pick([500, 5_000, 25_000]);
        return;
      case 'clock: workers behind':
        for (const one of world.workers) one.machine.skewMs = -random.pick([500, 5_000, 25_000]);
        return;
      default:
        this.#breakLink(kind);
    }
  }

  /** No fault follows, and those under way end. */
  end(): void {
    this.#isOver = true;
    for (const one of this.world.workers) {
      one.openPolls = 0;
      one.loseTasks = 0;
      one.repeatReports = 0;
      one.machine.skewMs = 0;
    }
    this.world.api.skewMs = 0;
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
        world.time.after(ms + 1, () => world.engine.polls(), undefined);
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
    const { world } = this;
    this.#webhookFaults += 1;
    const latest = this.#webhookFaults;
    world.sandbox.webhooks.configure({ url: 'http://api/webhooks/provider', ...rates });
    world.time.after(
      WEBHOOKS_FAIL_MS,
      () => {
        if (latest === this.#webhookFaults) world.sandbox.webhooks.configure({ url: 'http://api/webhooks/provider' });
      },
      undefined,
    );
  }
}
