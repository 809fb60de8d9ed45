/** An iterable that shows its next value before it is taken. */
export class Peekable<T> {
  readonly #values: AsyncIterator<T>;
  #next: Promise<IteratorResult<T>> | null = null;

  constructor(values: AsyncIterable<T>) {
    this.#values = values[Symbol.asyncIterator]();
  }

  /** The values from here on, as long as they satisfy the test. The first that does not is left. */
  async *while(satisfies: (value: T) => boolean): AsyncGenerator<T, void, undefined> {
    for (;;) {
      this.#next ??= this.#values.next();
      const { done, value } = await this.#next;
      if (done === true || !satisfies(value)) return;
      this.#next = null;
      yield value;
    }
  }

  /** Lets the source close what it holds open. */
  async close(): Promise<void> {
    await this.#values.return?.();
  }
}
