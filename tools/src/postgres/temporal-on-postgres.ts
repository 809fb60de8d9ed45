import { rmSync } from 'node:fs';
import { mkdtemp, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { openTemporal, setUpNamespace, type Temporal } from '@tillflow/temporal';
import { msToTs } from '@tillflow/temporal/sdk-internals';
import { searchAttributes } from '@tillflow/workflows';
import { dynamicConfig } from '../dynamic-config.js';
import { freePorts } from '../ports.js';
import { SupervisedChild } from '../supervised-child.js';
import { untilNamespaceAnswers } from '../temporal-server.js';
import { Database } from './database.js';
import { findTemporalPrograms, type ProgramSearch, type TemporalPrograms } from './temporal-programs.js';

const SHARDS = 4;
const NAMESPACE = 'default';
const RETENTION_MS = 86_400_000;
const PORTS_OF_A_SERVER = [
  'FRONTEND_GRPC_PORT',
  'FRONTEND_HTTP_PORT',
  'FRONTEND_MEMBERSHIP_PORT',
  'HISTORY_GRPC_PORT',
  'HISTORY_MEMBERSHIP_PORT',
  'MATCHING_GRPC_PORT',
  'MATCHING_MEMBERSHIP_PORT',
  'WORKER_GRPC_PORT',
  'WORKER_MEMBERSHIP_PORT',
] as const;
const READY_WITHIN_MS = 60_000;
const START_TRIES = 5;

export interface InstallationOptions extends ProgramSearch {
  /** How many Temporal servers share the database. */
  readonly servers: number;
  readonly maxConnections: number;
  /** Never changes after the first start. Default: 4. */
  readonly shards?: number;
}

/** Temporal as in production, on one machine: its servers on a PostgreSQL of their own, set up for Tillflow. */
export class TemporalOnPostgres {
  private constructor(
    readonly database: Database,
    readonly servers: readonly Server[],
    private readonly discard: () => void,
  ) {}

  /** @throws {NotAvailableError} when a program is missing and cannot be downloaded or built. */
  static async start(options: InstallationOptions): Promise<TemporalOnPostgres> {
    const programs = await findTemporalPrograms(options);
    const folder = await mkdtemp(join(tmpdir(), 'tillflow-servers-'));
    const discard = (): void => rmSync(folder, { recursive: true, force: true });
    process.on('exit', discard);
    const config = join(folder, 'dynamic-config.yaml');
    await writeFile(config, yaml(dynamicConfig({ forTests: true })));
    const database = await Database.start(options);
    const servers = await Promise.all(
      Array.from({ length: options.servers }, () => Server.on(database, programs, config, options.shards ?? SHARDS)),
    );
    const installation = new TemporalOnPostgres(database, servers, discard);
    try {
      await createSchema(programs, database);
      await Promise.all(servers.map((server) => server.start()));
      await setUp(installation);
    } catch (error) {
      await installation.stop();
      throw error;
    }
    return installation;
  }

  /** `host:port` of each server's gRPC service. */
  get addresses(): readonly string[] {
    return this.servers.map(({ address }) => address);
  }

  async stop(): Promise<void> {
    await Promise.all(this.servers.map((server) => server.stop()));
    await this.database.stop();
    this.discard();
    process.off('exit', this.discard);
  }
}

/** One Temporal server: frontend, history, matching and worker in one process. */
export class Server {
  #child: SupervisedChild | undefined;

  private constructor(
    readonly address: string,
    private readonly program: string,
    private readonly env: NodeJS.ProcessEnv,
  ) {}

  static async on(
    database: Database,
    { server }: TemporalPrograms,
    dynamicConfigFile: string,
    shards: number,
  ): Promise<Server> {
    const numbers = await freePorts(PORTS_OF_A_SERVER.length);
    const ports = Object.fromEntries(PORTS_OF_A_SERVER.map((name, index) => [name, String(numbers[index])]));
    return new Server(`127.0.0.1:${ports['FRONTEND_GRPC_PORT']}`, server, {
      ...clientOf(database),
      ...ports,
      DB: 'postgres12',
      NUM_HISTORY_SHARDS: String(shards),
      BIND_ON_IP: '127.0.0.1',
      TEMPORAL_BROADCAST_ADDRESS: '127.0.0.1',
      TEMPORAL_ALLOW_NO_AUTH: 'true',
      DYNAMIC_CONFIG_FILE_PATH: dynamicConfigFile,
      LOG_LEVEL: 'fatal',
    });
  }

  /** Starts the server at its address, and waits until it answers. */
  async start(): Promise<void> {
    for (let tries = 1; ; tries += 1) {
      const child = new SupervisedChild(this.program, ['start'], { env: this.env, graceMs: 1_000 });
      this.#child = child;
      const over = new AbortController();
      try {
        const failed = child.exited.then((code) => {
          throw new Error(`Temporal ended with exit code ${code}:\n${child.tail()}`);
        });
        await Promise.race([untilServerAnswers(this.address, over.signal), failed]);
        return;
      } catch (error) {
        await child.stop();
        // Another process may have taken a port meanwhile.
        if (tries === START_TRIES) throw error;
      } finally {
        over.abort();
      }
    }
  }

  /** Kills the server with SIGKILL. */
  async kill(): Promise<void> {
    process.kill(await this.pid, 'SIGKILL');
    await this.#child?.exited;
  }

  /** The server's process. @throws {Error} when it does not run. */
  get pid(): Promise<number> {
    if (this.#child === undefined) throw new Error('The server does not run');
    return this.#child.pid;
  }

  async stop(): Promise<void> {
    await this.#child?.stop();
  }
}

function clientOf({ user, password, port }: Database): NodeJS.ProcessEnv {
  return { POSTGRES_SEEDS: '127.0.0.1', DB_PORT: String(port), POSTGRES_USER: user, POSTGRES_PWD: password };
}

function yaml(settings: Readonly<Record<string, string>>): string {
  return Object.entries(settings)
    .map(([name, value]) => `${name}:\n  - value: ${value}\n`)
    .join('');
}

/** As `temporal-sql-tool` does it in production. */
async function createSchema({ sqlTool }: TemporalPrograms, database: Database): Promise<void> {
  for (const [name, schema] of [
    ['temporal', 'temporal'],
    ['temporal_visibility', 'visibility'],
  ] as const) {
    const steps = [
      ['create'],
      ['setup-schema', '--version', '0.0'],
      ['update-schema', '--schema-name', `postgresql/v12/${schema}`],
    ];
    for (const step of steps) {
      const child = new SupervisedChild(sqlTool, step, {
        env: {
          SQL_HOST: '127.0.0.1',
          SQL_PORT: String(database.port),
          SQL_USER: database.user,
          SQL_PASSWORD: database.password,
          SQL_DATABASE: name,
          SQL_PLUGIN: 'postgres12',
        },
      });
      if ((await child.exited) !== 0) throw new Error(`The schema could not be created:\n${child.tail()}`);
    }
  }
}

/** Creates the namespace and Tillflow's search attributes, and waits until every server knows them. */
async function setUp({ addresses }: TemporalOnPostgres): Promise<void> {
  const [first = ''] = addresses;
  await withTemporal(first, async (temporal) => {
    await temporal.connection.workflowService.registerNamespace({
      namespace: NAMESPACE,
      workflowExecutionRetentionPeriod: msToTs(RETENTION_MS),
    });
    await untilNamespaceAnswers(first, new AbortController().signal);
    await untilDone(() => setUpNamespace(temporal, Object.values(searchAttributes), { dryRun: false }));
  });
  const query = Object.values(searchAttributes)
    .map(({ name }) => `${name} IS NULL`)
    .join(' AND ');
  for (const address of addresses) {
    await withTemporal(address, ({ connection }) =>
      untilDone(() => connection.workflowService.countWorkflowExecutions({ namespace: NAMESPACE, query })),
    );
  }
}

async function withTemporal(address: string, work: (temporal: Temporal) => Promise<unknown>): Promise<void> {
  const temporal = await openTemporal({
    TEMPORAL_ADDRESS: address,
    TEMPORAL_NAMESPACE: NAMESPACE,
    TEMPORAL_TASK_QUEUE: 'setup',
    TEMPORAL_TLS: false,
  });
  try {
    await work(temporal);
  } finally {
    await temporal.close();
  }
}

/** A server that has just started does not know what another one has just stored. */
async function untilDone(work: () => Promise<unknown>): Promise<void> {
  const deadline = Date.now() + READY_WITHIN_MS;
  for (;;) {
    try {
      await work();
      return;
    } catch (error) {
      if (Date.now() > deadline) throw error;
      await sleep(200);
    }
  }
}

/** Any answer will do: the namespace is created later. */
async function untilServerAnswers(address: string, over: AbortSignal): Promise<void> {
  await withTemporal(address, async ({ connection }) => {
    const deadline = Date.now() + READY_WITHIN_MS;
    while (!over.aborted) {
      try {
        await connection.withDeadline(Date.now() + 2_000, () => connection.workflowService.listNamespaces({}));
        return;
      } catch (error) {
        if (Date.now() > deadline) throw error;
        await sleep(100);
      }
    }
  });
}
