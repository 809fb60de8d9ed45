/** Lets those who ask the same at the same time, in this process, wait for one and the same answer. */
export class InFlight<T> {
  readonly #running = new Map<string, Promise<T>>();

  /** @returns the answer, and whether this caller is the one who brought the work about. */
  async join(subject: string, work: () => Promise<T>): Promise<{ readonly answer: T; readonly first: boolean }> {
    const running = this.#running.get(subject);
    if (running !== undefined) return { answer: await running, first: false };
    const started = work().finally(() => this.#running.delete(subject));
    this.#running.set(subject, started);
    return { answer: await started, first: true };
  }
}
