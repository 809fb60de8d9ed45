import type { Worker } from '@temporalio/worker';
import type { Clocks } from './clocks/clocks.js';

/**
 * Takes work from Temporal while the machine's clock is right. Temporal's library cannot pause a worker: one that is to
 * take no more work finishes what it has and ends, and another takes its place.
 */
export class Work {
  /** Whether work was ever taken: true when the first worker takes some, false when none will. */
  readonly begun: Promise<boolean>;
  /** Settles when the last worker has stopped; rejects when one broke or could not be made. */
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

  get isUnderWay(): boolean {
    return this.#worker?.getState() === 'RUNNING';
  }

  /** Takes no more work, and finishes what is in flight. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    this.#leave();
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
      // It stopped, or its clock went wrong, while the worker was made.
      if (signal.aborted) this.#leave();
      const over = new AbortController();
      const watching = this.#clocks.until(false, AbortSignal.any([signal, over.signal])).then(() => this.#leave());
      try {
        await running;
      } finally {
        over.abort();
        await watching;
        this.#worker = undefined;
      }
    }
  }

  #leave(): void {
    if (this.#worker?.getState() === 'RUNNING') this.#worker.shutdown();
  }
}
