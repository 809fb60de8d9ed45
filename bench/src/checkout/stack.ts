import { createHash, randomBytes } from 'node:crypto';
import { rmSync } from 'node:fs';
import { mkdtemp, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { openTemporal, type Temporal } from '@tillflow/temporal';
import { startTemporalServer, type TemporalServer } from '@tillflow/tools';
import { MeasuredProcess } from '../measured-process.js';
import { usageOfProcess } from '../process-usage.js';
import { PROVIDER, SandboxProcess } from '../sandbox-process.js';
import type { Usage } from '../usage-reporter.js';

/** Each program lies beside its package's entry. */
const WORKER = fileURLToPath(new URL('main.js', import.meta.resolve('@tillflow/worker')));
const API = fileURLToPath(new URL('main.js', import.meta.resolve('@tillflow/api')));
const FLOOR_WORKER = fileURLToPath(new URL('floors/worker.js', import.meta.url));

/** The queue of the floors' own worker. */
export const FLOOR_QUEUE = 'bench-floors';
export const API_KEY = 'key-of-a-till';
/** More than any round has at once. */
const SANDBOX_CONNECTIONS = 64;

const PARTS = ['server', 'worker', 'api', 'sandbox', 'floors', 'load'] as const;
export type Part = (typeof PARTS)[number];
export type UsageOfParts = Readonly<Record<Part, Usage>>;

/** Every part as a process of its own, on a Temporal server of this run with its database in a file. */
export class BenchStack {
  private constructor(
    readonly temporal: Temporal,
    readonly sandbox: SandboxProcess,
    readonly apiUrl: string,
    private readonly server: TemporalServer,
    private readonly programs: Readonly<Record<'worker' | 'api' | 'floors', MeasuredProcess>>,
    private readonly folder: string,
  ) {}

  static async start(): Promise<BenchStack> {
    const folder = await mkdtemp(join(tmpdir(), 'tillflow-bench-'));
    process.once('exit', () => rmSync(folder, { recursive: true, force: true }));
    for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(130));

    // A server of somebody else would be measured with what else it does.
    const { TEMPORAL_ADDRESS: _, ...env } = process.env;
    const server = await startTemporalServer({ dbFilename: databaseIn(folder), env });
    const sandbox = await SandboxProcess.start(SANDBOX_CONNECTIONS);
    const temporalEnv = { TEMPORAL_ADDRESS: server.address };
    const provider = { PROVIDER_BASE_URL: sandbox.url, PROVIDER_SECRET_KEY: PROVIDER.secretKey };
    const [worker, api, floors] = await Promise.all([
      MeasuredProcess.start(WORKER, /"(worker ready)"/, { ...temporalEnv, ...provider }),
      MeasuredProcess.start(API, /"url":"([^"]+)","msg":"api ready"/, {
        ...temporalEnv,
        ...provider,
        PORT: '0',
        PROVIDER_WEBHOOK_SECRET: PROVIDER.webhookSecret,
        API_KEYS: `bench:checkout:${createHash('sha256').update(API_KEY).digest('hex')}`,
        URL_SIGNING_KEY: randomBytes(32).toString('base64url'),
        // One key carries the load of many tills.
        RATE_LIMIT: '100000',
      }),
      MeasuredProcess.start(FLOOR_WORKER, /^floors ready (\S+)/, { ...temporalEnv, FLOOR_QUEUE }),
    ]);
    await sandbox.control('POST', '/webhooks', { url: `${api.address}/webhooks/provider` });
    const temporal = await openTemporal({
      TEMPORAL_ADDRESS: server.address,
      TEMPORAL_NAMESPACE: 'default',
      TEMPORAL_TASK_QUEUE: FLOOR_QUEUE,
      TEMPORAL_TLS: false,
    });
    return new BenchStack(temporal, sandbox, api.address, server, { worker, api, floors }, folder);
  }

  /** CPU and memory of each process until now; the server's are 0 where there is no /proc. */
  async usage(): Promise<UsageOfParts> {
    const { worker, api, floors } = this.programs;
    const { user, system } = process.cpuUsage();
    return {
      server: (await usageOfProcess(this.server.pid ?? 0)) ?? { cpuSeconds: 0, rssBytes: 0 },
      worker: await worker.usage(),
      api: await api.usage(),
      sandbox: await this.sandbox.usage(),
      floors: await floors.usage(),
      load: { cpuSeconds: (user + system) / 1e6, rssBytes: process.memoryUsage.rss() },
    };
  }

  /** Bytes of the database without its log, which is written into it every few megabytes. */
  async databaseBytes(): Promise<number> {
    return (await stat(databaseIn(this.folder))).size;
  }

  async stop(): Promise<void> {
    await this.temporal.close();
    await Promise.all(Object.values(this.programs).map((program) => program.stop()));
    await this.sandbox.stop();
    await this.server.stop();
    rmSync(this.folder, { recursive: true, force: true });
  }
}

const databaseIn = (folder: string): string => join(folder, 'temporal.db');

/** CPU that each part used between two readings, in seconds. */
export function cpuBetween(before: UsageOfParts, after: UsageOfParts): Readonly<Record<Part, number>> {
  return byPart((part) => after[part].cpuSeconds - before[part].cpuSeconds);
}

export function byPart<T>(of: (part: Part) => T): Readonly<Record<Part, T>> {
  return Object.fromEntries(PARTS.map((part) => [part, of(part)])) as Record<Part, T>;
}
