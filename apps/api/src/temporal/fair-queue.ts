/**
 * A queue that takes its items in turns: one of each caller, and the items of one caller in their order. So a caller
 * with a long line does not delay a caller with a short one.
 */
export class FairQueue<T> {
  /** In the order of the turns. A line is never empty. */
  readonly #lines = new Map<string, Set<T>>();
  #size = 0;

  get size(): number {
    return this.#size;
  }

  /** How many items the queue takes before an item that the caller would add now. */
  ahead(caller: string): number {
    const own = this.#lines.get(caller)?.size ?? 0;
    let ahead = own;
    for (const [other, { size }] of this.#lines) if (other !== caller) ahead += Math.min(size, own + 1);
    return ahead;
  }

  add(caller: string, item: T): void {
    const line = this.#lines.get(caller);
    if (line === undefined) this.#lines.set(caller, new Set([item]));
    else line.add(item);
    this.#size += 1;
  }

  remove(caller: string, item: T): void {
    const line = this.#lines.get(caller);
    if (line?.delete(item) !== true) return;
    this.#size -= 1;
    if (line.size === 0) this.#lines.delete(caller);
  }

  /** Takes the oldest item of the caller whose turn it is. That caller's next turn is the last. */
  take(): T | undefined {
    for (const [caller, line] of this.#lines) {
      for (const item of line) {
        this.remove(caller, item);
        if (this.#lines.delete(caller)) this.#lines.set(caller, line);
        return item;
      }
    }
    return undefined;
  }

  /** The item that the queue takes last: the newest of the longest line. */
  last(): T | undefined {
    let longest: ReadonlySet<T> = new Set();
    for (const line of this.#lines.values()) if (line.size >= longest.size) longest = line;
    return [...longest].at(-1);
  }
}
