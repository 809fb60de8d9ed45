import { cp, mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePorts } from './ports.js';
import { startTemporalServer, type TemporalServer } from './temporal-server.js';

const DATABASE = 'temporal.db';
const BACKUP = 'backup';

/** A Temporal server with its state in a file. It can be killed and started again on the same port. */
export class RestartableTemporal {
  #server: TemporalServer | undefined;

  private constructor(
    private readonly folder: string,
    private readonly port: number,
    private readonly log: (line: string) => void,
  ) {}

  static async start(log: (line: string) => void): Promise<RestartableTemporal> {
    const [port = 0] = await freePorts(1);
    const own = new RestartableTemporal(await mkdtemp(join(tmpdir(), 'tillflow-temporal-')), port, log);
    await own.start();
    return own;
  }

  get address(): string {
    return this.#running.address;
  }

  get #running(): TemporalServer {
    if (this.#server === undefined) throw new Error('The Temporal server was not started');
    return this.#server;
  }

  /** Kills the server with SIGKILL and starts a new one on the same file. */
  async restart(): Promise<void> {
    await this.kill();
    await this.start();
  }

  /** Restarts the server, and copies its state while it is down. */
  async backUp(): Promise<void> {
    await this.kill();
    for (const file of await this.#database()) await cp(join(this.folder, file), join(this.folder, BACKUP, file));
    await this.start();
  }

  /** Restarts the server with the copy from {@link backUp}: it forgets what happened since. */
  async restore(): Promise<void> {
    await this.kill();
    for (const file of await this.#database()) await rm(join(this.folder, file));
    await cp(join(this.folder, BACKUP), this.folder, { recursive: true });
    await this.start();
  }

  async stop(): Promise<void> {
    await this.#server?.stop();
    await rm(this.folder, { recursive: true, force: true });
  }

  /** Kills the server with SIGKILL. */
  async kill(): Promise<void> {
    const { pid, ended } = this.#running;
    if (pid === undefined) throw new Error('The Temporal server was not started by this process');
    process.kill(pid, 'SIGKILL');
    await ended;
  }

  /** The database and the files that SQLite keeps beside it. */
  async #database(): Promise<string[]> {
    return (await readdir(this.folder)).filter((file) => file.startsWith(DATABASE));
  }

  /** Starts the server on the same port, with the state that it had when it was killed. */
  async start(): Promise<void> {
    this.#server = await startTemporalServer({
      forTests: true,
      dbFilename: join(this.folder, DATABASE),
      port: this.port,
      log: this.log,
      // A server at TEMPORAL_ADDRESS must not be killed.
      env: { ...process.env, TEMPORAL_ADDRESS: undefined },
    });
  }
}
