import { createHash, randomBytes } from 'node:crypto';
import { rmSync } from 'node:fs';
import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { openTemporal, type Temporal } from '@tillflow/temporal';
import { startTemporalServer, type TemporalServer } from '@tillflow/tools';
import { MeasuredProcess, usageOfProcess, type Usage } from './processes.js';
import { nodeOptionsOf, programOf, PROVIDER, SandboxProcess, THIS_TREE } from './sandbox-process.js';

const BASELINE_WORKER = fileURLToPath(new URL('checkout/baseline/worker.js', import.meta.url));
export const TASK_QUEUE = 'tillflow';
/** The task queue of the baselines, which have their own worker. */
export const BASELINE_QUEUE = 'bench-baseline';
export const API_KEY = 'key-of-a-till';
/** More than any round has calls in progress. */
const SANDBOX_CONNECTIONS = 64;

const PARTS = ['server', 'database', 'worker', 'api', 'sandbox', 'baseline', 'load'] as const;
export type Part = (typeof PARTS)[number];
export type UsageOfParts = Readonly<Record<Part, Usage>>;

/** Where Temporal listens, and how it ends. */
type EngineServer = Pick<TemporalServer, 'address' | 'pid' | 'stop'>;

/** A Temporal server with its database in a file, and the sandbox. Each is its own process. */
export class Engine {
  private constructor(
    readonly tree: string,
    readonly temporal: Temporal,
    readonly sandbox: SandboxProcess,
    readonly server: EngineServer,
    private readonly folder: string,
  ) {}

  /**
   * @param tree the directory of the built tree that is measured.
   * @param given a Temporal that already runs, instead of the server. The engine ends it.
   */
  static async start(tree = THIS_TREE, given?: EngineServer): Promise<Engine> {
    const folder = await mkdtemp(join(tmpdir(), 'tillflow-bench-'));
    process.once('exit', () => rmSync(folder, { recursive: true, force: true }));
    for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(130));
    // A shared server would be measured with the work of others.
    const env = { ...process.env, TEMPORAL_ADDRESS: undefined };
    const server =
      given ?? (await startTemporalServer({ dbFilename: join(folder, 'temporal.db'), env, timeSkipping: true }));
    const sandbox = await SandboxProcess.start(SANDBOX_CONNECTIONS, tree);
    const temporal = await openTemporal({
      TEMPORAL_ADDRESS: server.address,
      TEMPORAL_NAMESPACE: 'default',
      TEMPORAL_TASK_QUEUE: TASK_QUEUE,
      TEMPORAL_TLS: false,
    });
    return new Engine(tree, temporal, sandbox, server, folder);
  }

  /** @param env further settings. */
  startWorker(env: Readonly<Record<string, string>> = {}): Promise<MeasuredProcess> {
    return MeasuredProcess.start(programOf(this.tree, 'worker'), /"(worker ready)"|^worker ready (\S+)/, {
      ...this.workerSettings(),
      ...env,
    });
  }

  /** @param env further settings. */
  async startApi(env: Readonly<Record<string, string>> = {}): Promise<MeasuredProcess> {
    const api = await MeasuredProcess.start(
      programOf(this.tree, 'api'),
      /"url":"([^"]+)","msg":"api ready"|^api ready (\S+)$/,
      { ...this.apiSettings(), ...env },
    );
    await this.sandbox.control('POST', '/webhooks', { url: `${api.address}/webhooks/provider` });
    return api;
  }

  async stop(): Promise<void> {
    await this.temporal.close();
    await this.sandbox.stop();
    await this.server.stop();
    rmSync(this.folder, { recursive: true, force: true });
  }

  /** The settings of a worker. */
  workerSettings(): Readonly<Record<string, string>> {
    return {
      ...nodeOptionsOf(this.tree),
      TEMPORAL_ADDRESS: this.server.address,
      PROVIDER_BASE_URL: this.sandbox.url,
      PROVIDER_SECRET_KEY: PROVIDER.secretKey,
    };
  }

  /** The settings of an API, or of a program that has an API and a worker, with a new signing key. */
  apiSettings(): Readonly<Record<string, string>> {
    return {
      ...this.workerSettings(),
      PORT: '0',
      PROVIDER_WEBHOOK_SECRET: PROVIDER.webhookSecret,
      API_KEYS: `bench:checkout:${createHash('sha256').update(API_KEY).digest('hex')}`,
      URL_SIGNING_KEY: randomBytes(32).toString('base64url'),
      // One key carries the load of many tills.
      RATE_LIMIT: '100000',
    };
  }
}

export type StackOptions = {
  /** The directory of the built tree that is measured. Default: this tree. */
  readonly tree?: string;
  /** Whether the worker of the baselines starts too. */
  readonly hasBaseline?: boolean;
  /** Further settings of the API. */
  readonly env?: Readonly<Record<string, string>>;
};

/**
 * The engine with a worker and the API, and where it is needed the worker of the baselines. Each is its own process.
 */
export class Stack {
  private constructor(
    private readonly engine: Engine,
    private readonly programs: Readonly<Record<'worker' | 'api', MeasuredProcess>> & {
      readonly baseline?: MeasuredProcess;
    },
  ) {}

  static async start({ tree = THIS_TREE, hasBaseline = false, env = {} }: StackOptions = {}): Promise<Stack> {
    const engine = await Engine.start(tree);
    const [worker, api, baseline] = await Promise.all([
      engine.startWorker(),
      engine.startApi(env),
      hasBaseline &&
        MeasuredProcess.start(BASELINE_WORKER, /^baseline ready (\S+)/, {
          ...nodeOptionsOf(THIS_TREE),
          TEMPORAL_ADDRESS: engine.server.address,
          BASELINE_QUEUE,
        }),
    ]);
    return new Stack(engine, { worker, api, ...(baseline && { baseline }) });
  }

  get temporal(): Temporal {
    return this.engine.temporal;
  }

  get sandbox(): SandboxProcess {
    return this.engine.sandbox;
  }

  get apiUrl(): string {
    return this.programs.api.address;
  }

  /** CPU and memory of each process so far. */
  async usage(): Promise<UsageOfParts> {
    const { worker, api, baseline } = this.programs;
    const { user, system } = process.cpuUsage();
    return {
      server: await usageOfProcess(this.engine.server.pid ?? 0),
      worker: await worker.usage(),
      api: await api.usage(),
      sandbox: await this.sandbox.usage(),
      // In the server's process.
      database: { cpuSeconds: 0, rssBytes: 0 },
      baseline: (await baseline?.usage()) ?? { cpuSeconds: 0, rssBytes: 0 },
      load: { cpuSeconds: (user + system) / 1e6, rssBytes: process.memoryUsage.rss() },
    };
  }

  async stop(): Promise<void> {
    await Promise.all(Object.values(this.programs).map((program) => program.stop()));
    await this.engine.stop();
  }
}

/** CPU of each part between two readings, in seconds. */
export function cpuBetween(before: UsageOfParts, after: UsageOfParts): Readonly<Record<Part, number>> {
  return byPart((part) => after[part].cpuSeconds - before[part].cpuSeconds);
}

export function byPart<T>(of: (part: Part) => T): Readonly<Record<Part, T>> {
  return Object.fromEntries(PARTS.map((part) => [part, of(part)])) as Record<Part, T>;
}
