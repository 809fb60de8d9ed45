import { CallerGoneError } from '../temporal/gate.js';
import { currentBudget } from '../temporal/request-budget.js';

/** Lets equal requests that run at the same time in this process share one answer. */
export class InFlight<T> {
  readonly #running = new Map<string, Promise<T>>();

  /**
   * The work runs on the time budget of the first caller. When it fails because that caller disconnected, another
   * caller runs it again, so it must be safe to run twice.
   * @returns the answer, and whether this caller ran the work.
   */
  async join(subject: string, work: () => Promise<T>): Promise<{ readonly answer: T; readonly first: boolean }> {
    for (;;) {
      const running = this.#running.get(subject);
      if (running === undefined) break;
      try {
        return { answer: await running, first: false };
      } catch (error) {
        if (!isLeft(error) || currentBudget()?.gone.aborted === true) throw error;
      }
    }
    const started = work().finally(() => this.#running.delete(subject));
    this.#running.set(subject, started);
    return { answer: await started, first: true };
  }
}

/** The caller disconnected, possibly between two calls to Temporal. */
function isLeft(error: unknown): boolean {
  return error instanceof CallerGoneError || (error instanceof Error && isLeft(error.cause));
}

/** Runs work on the same subject, in this process, in sequence. */
export class InTurn {
  readonly #last = new Map<string, Promise<unknown>>();

  async run<T>(subject: string, work: () => Promise<T>): Promise<T> {
    const before = this.#last.get(subject) ?? Promise.resolve();
    const mine = before.then(work, work);
    this.#last.set(subject, mine);
    try {
      return await mine;
    } finally {
      if (this.#last.get(subject) === mine) this.#last.delete(subject);
    }
  }
}
