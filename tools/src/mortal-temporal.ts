import { cp, mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePorts } from './ports.js';
import { startTemporalServer, type TemporalServer } from './temporal-server.js';

const DATABASE = 'temporal.db';
const BACKUP = 'backup';

/** A server that keeps its state in a file, so that it can be killed and found again on the same port. */
export class MortalTemporal {
  #server: TemporalServer | undefined;

  private constructor(
    private readonly folder: string,
    private readonly port: number,
    private readonly log: (line: string) => void,
  ) {}

  static async start(log: (line: string) => void): Promise<MortalTemporal> {
    const [port = 0] = await freePorts(1);
    const own = new MortalTemporal(await mkdtemp(join(tmpdir(), 'tillflow-temporal-')), port, log);
    await own.#start();
    return own;
  }

  get address(): string {
    return this.#running.address;
  }

  get #running(): TemporalServer {
    if (this.#server === undefined) throw new Error('It was not started');
    return this.#server;
  }

  /** SIGKILL, and a new server on the same file. */
  async restart(): Promise<void> {
    await this.#kill();
    await this.#start();
  }

  /** As {@link restart}, and a copy of the state is kept from between the two. */
  async backUp(): Promise<void> {
    await this.#kill();
    for (const file of await this.#database()) await cp(join(this.folder, file), join(this.folder, BACKUP, file));
    await this.#start();
  }

  /** As {@link restart}, on the copy that {@link backUp} kept: what happened since is forgotten. */
  async restore(): Promise<void> {
    await this.#kill();
    for (const file of await this.#database()) await rm(join(this.folder, file));
    await cp(join(this.folder, BACKUP), this.folder, { recursive: true });
    await this.#start();
  }

  async stop(): Promise<void> {
    await this.#server?.stop();
    await rm(this.folder, { recursive: true, force: true });
  }

  async #kill(): Promise<void> {
    const { pid, ended } = this.#running;
    if (pid === undefined) throw new Error('Only a server of our own can be killed');
    process.kill(pid, 'SIGKILL');
    await ended;
  }

  /** The file, and what the database keeps beside it. */
  async #database(): Promise<string[]> {
    return (await readdir(this.folder)).filter((file) => file.startsWith(DATABASE));
  }

  async #start(): Promise<void> {
    this.#server = await startTemporalServer({
      forTests: true,
      dbFilename: join(this.folder, DATABASE),
      port: this.port,
      log: this.log,
      // One that is given is not ours to kill.
      env: { ...process.env, TEMPORAL_ADDRESS: undefined },
    });
  }
}
