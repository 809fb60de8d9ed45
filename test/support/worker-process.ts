import { spawn, type ChildProcess } from 'node:child_process';
import { EventEmitter, once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import type { PaymentActivities } from '@tillflow/workflows';

const MAIN = fileURLToPath(new URL('../../apps/worker/dist/main.js', import.meta.url));
const SIGNAL_AT = new URL('./signal-at.mjs', import.meta.url).href;

export type SignalAt = { readonly signal: 'SIGKILL' | 'SIGSTOP' } & (
  | {
      /** The moment: after undici creates the request and before it writes, or immediately before the first byte. */
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
  /** Every line that it wrote so far, to standard output and to standard error. */
  readonly lines: string[] = [];
  readonly exited: Promise<number | null>;
  /** Resolves when the process has sent itself the requested signal. */
  readonly signalled: Promise<string>;
  readonly #child: ChildProcess;
  readonly #heard = new EventEmitter();

  /** @param signalAt the process sends this signal to itself, once, at a moment that only it can see. */
  static async start(environment: Readonly<Record<string, string>>, signalAt?: SignalAt): Promise<WorkerProcess> {
    const worker = new WorkerProcess(environment, signalAt);
    await worker.line('worker ready');
    return worker;
  }

  /** Starts one that may never become ready. */
  static run(environment: Readonly<Record<string, string>>): WorkerProcess {
    return new WorkerProcess(environment);
  }

  private constructor(environment: Readonly<Record<string, string>>, signalAt?: SignalAt) {
    const args = [...(signalAt === undefined ? [] : ['--import', SIGNAL_AT]), MAIN];
    this.#child = spawn(process.execPath, args, {
      env: {
        ...process.env,
        TEMPORAL_DEBUG: '',
        LOG_LEVEL: 'warn',
        ...environment,
        SIGNAL_AT: JSON.stringify(signalAt ?? null),
      },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    this.#heard.setMaxListeners(0);
    this.exited = once(this.#child, 'exit').then(([code]: (number | null)[]) => code ?? null);
    for (const stream of [this.#child.stdout, this.#child.stderr]) {
      if (stream === null) continue;
      createInterface({ input: stream }).on('line', (line) => {
        this.lines.push(line);
        this.#heard.emit('line', line);
      });
    }
    this.signalled = this.line('signalled');
    // Without `signalAt` the process sends itself no signal, and this promise rejects.
    this.signalled.catch(() => undefined);
  }

  /** The first line with these words, also one that it wrote before. Rejects when it ends without. */
  line(words: string): Promise<string> {
    const known = this.lines.find((line) => line.includes(words));
    if (known !== undefined) return Promise.resolve(known);
    return new Promise((resolve, reject) => {
      this.#heard.on('line', (line: string) => line.includes(words) && resolve(line));
      void this.exited.then(() => reject(new Error(`It ended without "${words}":\n${this.lines.join('\n')}`)));
    });
  }

  signal(signal: NodeJS.Signals): void {
    this.#child.kill(signal);
  }

  async stop(): Promise<void> {
    this.signal('SIGKILL');
    await this.exited;
  }
}
