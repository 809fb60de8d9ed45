import { CallerGoneError } from '../temporal/gate.js';
import { currentBudget } from '../temporal/request-budget.js';

/** Lets those who ask the same at the same time, in this process, wait for one and the same answer. */
export class InFlight<T> {
  readonly #running = new Map<string, Promise<T>>();

  /**
   * The work runs in the time of the caller who asked first. When the work ends because that caller left, one of the
   * others takes its place: what it asks for must be safe to ask for twice.
   * @returns the answer, and whether this caller is the one who brought the work about.
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

/** Also where something was sent before: what had to follow was left out, because that caller was gone. */
function isLeft(error: unknown): boolean {
  return error instanceof CallerGoneError || (error instanceof Error && isLeft(error.cause));
}

/** Lets those who work on the same thing, in this process, do so one after the other. */
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
