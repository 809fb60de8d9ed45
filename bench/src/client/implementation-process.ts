import { fork, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import type { ImplementationName } from './implementations.js';
import type { Operation } from './operations.js';

const PROGRAM = fileURLToPath(new URL('implementation.js', import.meta.url));

export type RoundRequest = {
  readonly operation: Operation;
  /** Requests in progress at one time. */
  readonly concurrency: number;
  /** Not measured: sockets open, code warms up. */
  readonly leadInMs: number;
  readonly ms: number;
};

/** The result of one round without its lead-in. */
export type RoundResult = {
  readonly perSecond: number;
  /** Of the whole process, with garbage collection. */
  readonly cpuMsPerRequest: number;
};

/** An implementation in its own process, so that it does not share compiled code or garbage with another. */
export class ImplementationProcess {
  readonly #child: ChildProcess;

  constructor(
    readonly name: ImplementationName,
    url: string,
  ) {
    this.#child = fork(PROGRAM, [name, url]);
    process.once('exit', () => this.#child.kill('SIGKILL'));
  }

  /** @throws {Error} when the process ends instead of answering. */
  async run(round: RoundRequest): Promise<RoundResult> {
    const ended = new AbortController();
    const answered = once(this.#child, 'message', { signal: ended.signal });
    const exited = once(this.#child, 'exit', { signal: ended.signal }).then(([code]: unknown[]) => {
      throw new Error(`${this.name} ended with exit code ${String(code)}`);
    });
    try {
      this.#child.send(round);
      const [result] = (await Promise.race([answered, exited])) as [RoundResult];
      return result;
    } finally {
      for (const waiting of [answered, exited]) waiting.catch(() => undefined);
      ended.abort();
    }
  }

  stop(): void {
    this.#child.kill();
  }
}
