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
