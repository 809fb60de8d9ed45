import type { Worker } from '@temporalio/worker';
import type { Clocks } from './clocks/clocks.js';

type Part = Pick<Work, 'ended' | 'stop'>;

/**
 * Settles when both have ended. When one ends, also by a failure, the other finishes its tasks in flight and ends: until
 * then, they need the client of the provider. @throws the failure
 */
export async function endedTogether(one: Part, other: Part): Promise<void> {
  const endedWith = (first: Part, second: Part): Promise<void> =>
    first.ended.finally(() => {
      second.stop().catch(() => undefined);
    });
  const results = await Promise.allSettled([endedWith(one, other), endedWith(other, one)]);
  for (const result of results) if (result.status === 'rejected') throw result.reason;
}

/**
 * Takes work from Temporal while the machine's clock is correct. Temporal's library cannot pause a worker: to pause, a
 * worker finishes its tasks and ends, and later another worker replaces it.
 */
export class Work {
  /** Resolves with true when the first worker polls, and with false when `stop` or a failure comes first. */
  readonly begun: Promise<boolean>;
  /** Settles when the last worker has stopped; rejects when a worker fails or cannot be created. */
  readonly ended: Promise<void>;
  readonly #stopping = new AbortController();
  readonly #clocks: Clocks;
  #worker: Worker | undefined;
  #begin: (hasBegun: boolean) => void = () => undefined;

  constructor(create: () => Promise<Worker>, clocks: Clocks) {
    this.#clocks = clocks;
    this.begun = new Promise((resolve) => {
      this.#begin = resolve;
    });
    this.ended = this.#run(create).finally(() => this.#begin(false));
  }

  get isRunning(): boolean {
    return this.#worker?.getState() === 'RUNNING';
  }

  /** Takes no more work, and finishes the tasks in flight. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    this.#shutDown();
    await this.ended;
  }

  async #run(create: () => Promise<Worker>): Promise<void> {
    const { signal } = this.#stopping;
    for (;;) {
      await this.#clocks.until(true, signal);
      if (signal.aborted) return;
      const worker = await create();
      const running = worker.run();
      this.#worker = worker;
      this.#begin(true);
      // `stop` was called while the worker was created.
      if (signal.aborted) this.#shutDown();
      const over = new AbortController();
      const watching = this.#clocks.until(false, AbortSignal.any([signal, over.signal])).then(() => this.#shutDown());
      try {
        await running;
      } finally {
        over.abort();
        await watching;
        this.#worker = undefined;
      }
    }
  }

  #shutDown(): void {
    if (this.#worker?.getState() === 'RUNNING') this.#worker.shutdown();
  }
}
