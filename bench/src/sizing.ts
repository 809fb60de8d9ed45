import { randomBytes } from 'node:crypto';
import { LoadBalancer, NotAvailableError, TemporalOnPostgres } from '@tillflow/tools/postgres';
import { answeredMs, cpuOf, paidMs, rateOf, runRound, type Round } from './checkout/round.js';
import { Till } from './checkout/till.js';
import { checkoutVariant, type Variant } from './checkout/variants.js';
import { KillBill } from './kill-bill.js';
import { addUsage, usageOfFamily, usageOfProcess, type MeasuredProcess, type Usage } from './processes.js';
import { print, printTable, report } from './report.js';
import { THIS_TREE } from './sandbox-process.js';
import { Engine, type Part, type UsageOfParts } from './stack.js';
import { percentile, randomOf, shuffled } from './statistics.js';

/** One size of an installation. */
type Size = {
  /** Temporal servers on one PostgreSQL. */
  readonly servers: number;
  /** Of Temporal's history, chosen for ever at the first start. */
  readonly shards: number;
  /** API services, and as many workers. */
  readonly programs: number;
};

type Plan = {
  readonly servers: readonly number[];
  readonly shards: readonly number[];
  readonly programs: readonly number[];
  readonly callers: readonly number[];
  /** Seconds of a round, and of the one before it that does not count. */
  readonly seconds: number;
  readonly warmUpSeconds: number;
  /** The same for Java, which compiles its code while it runs. */
  readonly javaWarmUpSeconds: number;
};

const FULL: Plan = {
  servers: [1, 2],
  shards: [4, 512],
  programs: [1, 2],
  callers: [20, 50],
  seconds: 30,
  warmUpSeconds: 10,
  javaWarmUpSeconds: 60,
};
const QUICK: Plan = {
  servers: [2],
  shards: [4],
  programs: [2],
  callers: [5],
  seconds: 3,
  warmUpSeconds: 1,
  javaWarmUpSeconds: 1,
};

/** Each of a server's four services has a pool of 20 connections and one of 10. */
const connectionsOf = (servers: number): number => servers * 4 * (20 + 10) + 20;
const CPU_PARTS: readonly Part[] = ['server', 'database', 'worker', 'api', 'sandbox', 'load'];
const BYTES = `
  SELECT sum(pg_database_size(datname))::bigint, pg_wal_lsn_diff(pg_current_wal_lsn(), '0/0')::bigint
  FROM pg_database WHERE datname LIKE 'temporal%'`;

/** Bytes of the database, and of its log. */
type Bytes = { readonly database: number; readonly log: number };

type Measured = Size & {
  readonly callers: number;
  readonly round: Round;
  /** For each paid checkout. */
  readonly bytes: Bytes;
  /** Of each part after the round. */
  readonly usage: UsageOfParts;
};

/** A round of another system. */
type Beside = { readonly callers: number; readonly round: Round };

/**
 * Measures what a paid checkout costs each part of an installation on PostgreSQL, for several sizes of it. All parts and
 * the callers share the cores of one machine, so that the CPU of a checkout counts here, and not the checkouts a second.
 */
export async function benchSizing({
  quick,
  seed,
}: {
  readonly quick: boolean;
  readonly seed: number;
}): Promise<boolean> {
  const plan = quick ? QUICK : FULL;
  const sizes = plan.servers.flatMap((servers) =>
    plan.shards.flatMap((shards) => plan.programs.map((programs): Size => ({ servers, shards, programs }))),
  );
  const measured: Measured[] = [];
  const beside: Beside[] = [];
  try {
    for (const size of shuffled(sizes, randomOf(seed))) {
      print(`sizing: ${nameOf(size)}`);
      measured.push(...(await measureSize(size, plan)));
    }
    beside.push(...(await measureKillBill(plan)));
  } catch (error) {
    if (!(error instanceof NotAvailableError)) throw error;
    print(`NOT TRIED: ${error.message}`);
    return true;
  }
  printMeasured(measured);
  printBeside(beside);
  const results = measured.map(({ callers, round, ...size }) => ({
    name: `${nameOf(size)}, ${callers} callers`,
    value: rateOf([round]),
    unit: 'checkouts/s',
    digits: 1,
  }));
  const ofBeside = beside.map(({ callers, round: { cpuMs, samples, failures } }) => ({
    callers,
    payments: samples.length,
    cpuMs,
    failures,
  }));
  return report('sizing', results, { seed, plan, measured: measured.map(summaryOf), killBill: ofBeside });
}

/** Kill Bill under the same callers, in the same hour, on the same machine. Nothing where Java is missing. */
async function measureKillBill({ callers, seconds, javaWarmUpSeconds }: Plan): Promise<Beside[]> {
  print('sizing: Kill Bill');
  const killBill = await KillBill.start();
  if (killBill === null) {
    print('NOT TRIED: Kill Bill needs Java, which is not installed');
    return [];
  }
  try {
    const all: Beside[] = [];
    for (const concurrency of callers) {
      const variant = await killBill.variant(concurrency);
      await runRound(killBill, variant, { concurrency, seconds: javaWarmUpSeconds });
      all.push({ callers: concurrency, round: await runRound(killBill, variant, { concurrency, seconds }) });
    }
    return all;
  } finally {
    await killBill.stop();
  }
}

async function measureSize(size: Size, { callers, seconds, warmUpSeconds }: Plan): Promise<Measured[]> {
  const installation = await Installation.start(size);
  try {
    const all: Measured[] = [];
    for (const concurrency of callers) {
      await runRound(installation, installation.variant, { concurrency, seconds: warmUpSeconds });
      const before = await installation.bytes();
      const round = await runRound(installation, installation.variant, { concurrency, seconds });
      const after = await installation.bytes();
      const perCheckout = (bytes: (of: Bytes) => number): number =>
        (bytes(after) - bytes(before)) / round.workflowIds.length;
      const bytes = { database: perCheckout(({ database }) => database), log: perCheckout(({ log }) => log) };
      all.push({ ...size, callers: concurrency, round, bytes, usage: await installation.usage() });
    }
    return all;
  } finally {
    await installation.stop();
  }
}

/** Temporal on PostgreSQL with the sandbox, and one or more API services and workers. Each is its own process. */
class Installation {
  #next = 0;

  private constructor(
    private readonly postgres: TemporalOnPostgres,
    private readonly engine: Engine,
    private readonly workers: readonly MeasuredProcess[],
    private readonly apis: readonly MeasuredProcess[],
    private readonly tills: readonly Till[],
    private readonly variants: readonly Variant[],
  ) {}

  static async start({ servers, shards, programs }: Size): Promise<Installation> {
    const postgres = await TemporalOnPostgres.start({
      servers,
      shards,
      maxConnections: connectionsOf(servers),
      env: process.env,
      log: print,
    });
    const balancer = await LoadBalancer.before(postgres.addresses);
    const stop = async (): Promise<void> => {
      balancer.close();
      await postgres.stop();
    };
    const engine = await Engine.start(THIS_TREE, { address: balancer.address, pid: undefined, stop });
    const env = { URL_SIGNING_KEY: randomBytes(32).toString('base64url') };
    const workers: MeasuredProcess[] = [];
    const apis: MeasuredProcess[] = [];
    for (let number = 0; number < programs; number += 1) {
      workers.push(await engine.startWorker());
      apis.push(await engine.startApi(env));
    }
    const tills = apis.map(({ address }) => new Till(address));
    const variants = tills.map((till) => checkoutVariant(engine, till));
    return new Installation(postgres, engine, workers, apis, tills, variants);
  }

  /** A paid checkout, with each API in turn. */
  get variant(): Variant {
    const [first] = this.variants;
    if (first === undefined) throw new Error('The installation has no API');
    const once: Variant['once'] = (callers) => {
      this.#next += 1;
      return (this.variants[this.#next % this.variants.length] ?? first).once(callers);
    };
    return { ...first, once };
  }

  async usage(): Promise<UsageOfParts> {
    const { user, system } = process.cpuUsage();
    const all = async (programs: readonly MeasuredProcess[]): Promise<Usage> =>
      addUsage(await Promise.all(programs.map((program) => program.usage())));
    const servers = this.postgres.servers.map(async ({ pid }) => usageOfProcess(await pid));
    return {
      server: addUsage(await Promise.all(servers)),
      database: await usageOfFamily(await this.postgres.database.pid),
      worker: await all(this.workers),
      api: await all(this.apis),
      sandbox: await this.engine.sandbox.usage(),
      baseline: addUsage([]),
      load: { cpuSeconds: (user + system) / 1e6, rssBytes: process.memoryUsage.rss() },
    };
  }

  async bytes(): Promise<Bytes> {
    const [database, log] = await this.postgres.database.select(BYTES);
    return { database: Number(database), log: Number(log) };
  }

  async stop(): Promise<void> {
    await Promise.all(this.tills.map((till) => till.close()));
    await Promise.all([...this.apis, ...this.workers].map((program) => program.stop()));
    await this.engine.stop();
  }
}

function nameOf({ servers, shards, programs }: Size): string {
  const what = programs === 1 ? 'worker and API' : 'workers and APIs';
  return `${servers} ${servers === 1 ? 'server' : 'servers'}, ${shards} shards, ${programs} ${what}`;
}

function printMeasured(measured: readonly Measured[]): void {
  print('\nTimes in ms, CPU in ms and KB of disk per paid checkout, which stays open.\n');
  const cpu = CPU_PARTS.map((part) => `${part} CPU`);
  const header = ['', 'callers', 'per s', 'QR p50', 'p99', 'paid p50', 'p99', ...cpu, 'data KB', 'log KB'];
  const rows = measured.map(({ callers, round, bytes, ...size }) => [
    nameOf(size),
    String(callers),
    rateOf([round]).toFixed(1),
    ...[answeredMs([round]), paidMs([round])].flatMap((ms) =>
      [0.5, 0.99].map((share) => percentile(ms, share).toFixed(0)),
    ),
    ...CPU_PARTS.map((part) => cpuOf([round], [part]).toFixed(1)),
    ...[bytes.database, bytes.log].map((value) => (value / 1_000).toFixed(1)),
  ]);
  printTable([header, ...rows], (column) => column > 0);
}

function printBeside(beside: readonly Beside[]): void {
  if (beside.length === 0) return;
  print('\nKill Bill: times in ms and CPU in ms per payment.\n');
  const header = ['callers', 'per s', 'answer p50', 'p99', 'Java CPU', 'database CPU', 'load CPU', 'failures'];
  const rows = beside.map(({ callers, round }) => [
    String(callers),
    rateOf([round]).toFixed(1),
    ...[0.5, 0.99].map((share) => percentile(answeredMs([round]), share).toFixed(0)),
    ...(['server', 'database', 'load'] as const).map((part) => cpuOf([round], [part]).toFixed(1)),
    String(round.failures.length),
  ]);
  printTable([header, ...rows], () => true);
}

/** For the file. */
function summaryOf({ round, usage, ...rest }: Measured): object {
  const { failures, othersCores, cpuMs, samples } = round;
  const memory = Object.fromEntries(CPU_PARTS.map((part) => [part, usage[part].rssBytes]));
  return { ...rest, checkouts: samples.length, cpuMs, memory, failures, othersCores };
}
