import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePorts } from './ports.js';
import { startTemporalServer, type TemporalServer } from './temporal-server.js';

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
    const { pid, ended } = this.#running;
    if (pid === undefined) throw new Error('Only a server of our own can be killed');
    process.kill(pid, 'SIGKILL');
    await ended;
    await this.#start();
  }

  async stop(): Promise<void> {
    await this.#server?.stop();
    await rm(this.folder, { recursive: true, force: true });
  }

  async #start(): Promise<void> {
    this.#server = await startTemporalServer({
      forTests: true,
      dbFilename: join(this.folder, 'temporal.db'),
      port: this.port,
      log: this.log,
      // One that is given is not ours to kill.
      env: { ...process.env, TEMPORAL_ADDRESS: undefined },
    });
  }
}
