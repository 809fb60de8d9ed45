import { fork, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import type { ContestantName } from './contestants.js';
import type { Lap, LapResult } from './lap.js';

const PROGRAM = fileURLToPath(new URL('contestant.js', import.meta.url));

/** A contestant in a process of its own: none compiles code for another, or collects another's garbage. */
export class ContestantProcess {
  readonly #child: ChildProcess;

  constructor(
    readonly name: ContestantName,
    url: string,
  ) {
    this.#child = fork(PROGRAM, [name, url]);
    // A bench that is broken off leaves nothing behind.
    process.once('exit', () => this.#child.kill('SIGKILL'));
  }

  /** @throws {Error} when the contestant ends instead of answering. */
  async run(lap: Lap): Promise<LapResult> {
    const ended = new AbortController();
    const answered = once(this.#child, 'message', { signal: ended.signal });
    const exited = once(this.#child, 'exit', { signal: ended.signal }).then(([code]: unknown[]) => {
      throw new Error(`${this.name} ended with exit code ${String(code)}`);
    });
    try {
      this.#child.send(lap);
      const [result] = (await Promise.race([answered, exited])) as [LapResult];
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
