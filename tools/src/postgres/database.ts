import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { rmSync } from 'node:fs';
import { chmod, chown, mkdtemp, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { freePorts } from '../ports.js';
import { SupervisedChild } from '../supervised-child.js';
import {
  executeFile,
  findInstalledPostgres,
  selectRow,
  unpackPostgres,
  type PostgresPrograms,
} from './postgres-programs.js';
import type { ProgramSearch } from './temporal-programs.js';

const run = promisify(execFile);

const USER = 'temporal';
/** `nobody`: PostgreSQL refuses to run as root. */
const NOBODY = 65_534;
const READY_WITHIN_MS = 60_000;
const START_TRIES = 20;
const BETWEEN_TRIES_MS = 500;

export interface DatabaseOptions extends ProgramSearch {
  /** PostgreSQL refuses further connections. */
  readonly maxConnections: number;
}

/** A PostgreSQL server of its own, in a temporary folder. It can be killed and started again with its data. */
export class Database {
  readonly user = USER;
  #child: SupervisedChild | undefined;

  private constructor(
    private readonly programs: PostgresPrograms,
    private readonly folder: string,
    readonly port: number,
    readonly password: string,
    private readonly maxConnections: number,
    private readonly discard: () => void,
  ) {}

  /** @throws {NotAvailableError} when PostgreSQL is neither installed nor can be downloaded. */
  static async start(options: DatabaseOptions): Promise<Database> {
    const folder = await mkdtemp(join(tmpdir(), 'tillflow-postgres-'));
    const discard = (): void => rmSync(folder, { recursive: true, force: true, maxRetries: 5, retryDelay: 100 });
    process.on('exit', discard);
    const programs =
      (await findInstalledPostgres(options.env)) ?? (await unpackPostgres(options, join(folder, 'programs')));
    const [port = 0] = await freePorts(1);
    const password = randomBytes(16).toString('hex');
    const database = new Database(programs, folder, port, password, options.maxConnections, discard);
    try {
      await database.#initialize();
      await database.start();
    } catch (error) {
      await database.stop();
      throw error;
    }
    return database;
  }

  get url(): string {
    return `postgresql://${USER}:${this.password}@127.0.0.1:${this.port}/postgres`;
  }

  /** Starts the server, and waits until it takes connections: after a kill, it first recovers. */
  async start(): Promise<void> {
    for (let tries = 1; ; tries += 1) {
      try {
        await this.#start();
        return;
      } catch (error) {
        // Processes of the killed server may still hold its memory or its port for a moment.
        if (tries === START_TRIES) throw error;
        await sleep(BETWEEN_TRIES_MS);
      }
    }
  }

  /** The process that starts one process for each connection. @throws {Error} when PostgreSQL does not run. */
  get pid(): Promise<number> {
    if (this.#child === undefined) throw new Error('PostgreSQL does not run');
    return this.#child.pid;
  }

  /** Kills the server and the process of each connection with SIGKILL: what was not written to the log is lost. */
  async kill(): Promise<void> {
    const server = await this.pid;
    // pgrep fails when it finds none.
    const { stdout } = await run('pgrep', ['-P', String(server)]).catch(() => ({ stdout: '' }));
    for (const pid of [server, ...stdout.split('\n').filter(Boolean).map(Number)]) killNow(pid);
    await this.#child?.exited;
  }

  /** Ends the server, and removes its data. */
  async stop(): Promise<void> {
    if (this.#child !== undefined) await this.kill();
    this.discard();
    process.off('exit', this.discard);
  }

  /** The values of the one row that this query selects. */
  select(sql: string): Promise<string[]> {
    return selectRow(this.programs, this.url, sql);
  }

  /** Executes a file of statements. @throws {Error} with what PostgreSQL says */
  execute(path: string): Promise<void> {
    return executeFile(this.programs, this.url, path);
  }

  async #initialize(): Promise<void> {
    const passwordFile = join(this.folder, 'password');
    await writeFile(passwordFile, this.password);
    if (isRoot()) {
      await chown(this.folder, NOBODY, NOBODY);
      await chown(passwordFile, NOBODY, NOBODY);
      await chmod(this.folder, 0o700);
    }
    const initdb = this.#run('initdb', [
      '--pgdata',
      join(this.folder, 'data'),
      '--username',
      USER,
      '--pwfile',
      passwordFile,
      '--auth=scram-sha-256',
      '--encoding=UTF8',
      '--no-sync',
    ]);
    if ((await initdb.exited) !== 0) throw new Error(`PostgreSQL cannot be initialised:\n${initdb.tail()}`);
  }

  async #start(): Promise<void> {
    const settings = {
      port: this.port,
      listen_addresses: '127.0.0.1',
      unix_socket_directories: '',
      max_connections: this.maxConnections,
    };
    const child = this.#run('postgres', [
      '-D',
      join(this.folder, 'data'),
      ...Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`]),
    ]);
    this.#child = child;
    try {
      await child.waitForLine(/ready to accept connections/, READY_WITHIN_MS);
    } catch (error) {
      await child.stop();
      throw error;
    }
  }

  #run(program: string, args: readonly string[]): SupervisedChild {
    const path = join(this.programs.folder, program);
    const env = { PATH: process.env['PATH'], LC_ALL: 'C.UTF-8', ...this.programs.env };
    const options = { env, cwd: this.folder, graceMs: 5_000 };
    if (!isRoot()) return new SupervisedChild(path, args, options);
    const asNobody = [`--reuid=${NOBODY}`, `--regid=${NOBODY}`, '--clear-groups', '--'];
    return new SupervisedChild('setpriv', [...asNobody, path, ...args], options);
  }
}

function isRoot(): boolean {
  return process.getuid?.() === 0;
}

function killNow(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch {
    // It ended meanwhile.
  }
}
