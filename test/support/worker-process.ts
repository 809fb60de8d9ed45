import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import type { PaymentActivities } from '@tillflow/workflows';

const MAIN = fileURLToPath(new URL('../../apps/worker/dist/main.js', import.meta.url));
const SIGNAL_AT = new URL('./signal-at.mjs', import.meta.url).href;

export type SignalAt = { readonly signal: 'SIGKILL' | 'SIGSTOP' } & (
  | {
      /** When: the request was made but nothing written, or in the last moment before its first byte is. */
      readonly moment: 'undici:request:create' | 'undici:client:sendHeaders';
      readonly method: string;
      /** Of the provider's API, such as `/charges/{id}/expire`. */
      readonly route: string;
    }
  | {
      /** When: a call that may have an effect was taken on, and nothing of its request was made. */
      readonly moment: 'call:begun';
      readonly activity: keyof PaymentActivities;
    }
);

/** A worker as the process it is in production, so that it can be killed and frozen. */
export class WorkerProcess {
  private constructor(
    private readonly child: ChildProcess,
    readonly exited: Promise<number | null>,
    /** It sent itself the signal that it was to. */
    readonly signalled: Promise<void>,
  ) {}

  /** @param signalAt the process sends this signal to itself, once, at a moment that only it can see. */
  static async start(environment: Readonly<Record<string, string>>, signalAt?: SignalAt): Promise<WorkerProcess> {
    const child = spawn(process.execPath, [...(signalAt === undefined ? [] : ['--import', SIGNAL_AT]), MAIN], {
      env: { ...process.env, ...environment, LOG_LEVEL: 'warn', SIGNAL_AT: JSON.stringify(signalAt ?? null) },
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    const exited = once(child, 'exit').then(([code]: (number | null)[]) => code ?? null);
    const lines = createInterface({ input: child.stdout });
    const said = (start: string): Promise<void> =>
      new Promise((resolve) => lines.on('line', (line) => line.startsWith(start) && resolve()));
    const signalled = said('signalled');
    await said('worker ready');
    return new WorkerProcess(child, exited, signalled);
  }

  signal(signal: NodeJS.Signals): void {
    this.child.kill(signal);
  }

  async stop(): Promise<void> {
    this.signal('SIGKILL');
    await this.exited;
  }
}
