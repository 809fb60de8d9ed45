import { rmSync } from 'node:fs';
import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { openTemporal, type Temporal } from '@tillflow/temporal';
import { startTemporalServer, type TemporalServer } from '@tillflow/tools';
import { MeasuredProcess } from '../measured-process.js';
import { PROVIDER, SandboxProcess } from '../sandbox-process.js';
import { AT_ONCE } from './books.js';

const WORKER = fileURLToPath(new URL('main.js', import.meta.resolve('@tillflow/worker')));

/** What a reconciliation needs: both books, and workers that compare them, each a process of its own. */
export class ReconcileStack {
  readonly taskQueue = 'tillflow';

  private constructor(
    readonly temporal: Temporal,
    readonly sandbox: SandboxProcess,
    private readonly server: TemporalServer,
    private readonly folder: string,
  ) {}

  static async start(): Promise<ReconcileStack> {
    const folder = await mkdtemp(join(tmpdir(), 'tillflow-bench-'));
    process.once('exit', () => rmSync(folder, { recursive: true, force: true }));
    for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(130));
    // A server of somebody else would be measured with what else it does.
    const { TEMPORAL_ADDRESS: _, ...env } = process.env;
    const server = await startTemporalServer({ dbFilename: join(folder, 'temporal.db'), env });
    const sandbox = await SandboxProcess.start(AT_ONCE);
    const temporal = await openTemporal({
      TEMPORAL_ADDRESS: server.address,
      TEMPORAL_NAMESPACE: 'default',
      TEMPORAL_TASK_QUEUE: 'tillflow',
      TEMPORAL_TLS: false,
    });
    return new ReconcileStack(temporal, sandbox, server, folder);
  }

  /** A new one for each measurement: a process keeps the memory that it once took. */
  startWorker(): Promise<MeasuredProcess> {
    return MeasuredProcess.start(WORKER, /"(worker ready)"/, {
      TEMPORAL_ADDRESS: this.server.address,
      PROVIDER_BASE_URL: this.sandbox.url,
      PROVIDER_SECRET_KEY: PROVIDER.secretKey,
    });
  }

  async stop(): Promise<void> {
    await this.temporal.connection.close();
    await this.sandbox.stop();
    await this.server.stop();
    rmSync(this.folder, { recursive: true, force: true });
  }
}
