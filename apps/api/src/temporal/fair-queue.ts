/** @param since when it came, in milliseconds: an item that came earlier is taken first, whenever it is added */
type Item = { readonly since: number };

/**
 * A queue that takes its items in turns: one of each caller, and the items of one caller in the order in which they came. So
 * a caller with a long line does not delay a caller with a short one.
 */
export class FairQueue<T extends Item> {
  /** In the order of the turns. A line is never empty. */
  readonly #lines = new Map<string, T[]>();
  #size = 0;

  get size(): number {
    return this.#size;
  }

  /** How many items the queue takes before an item that the caller would add now. */
  ahead(caller: string, since: number): number {
    const own = placeOf(this.#lines.get(caller) ?? [], since);
    let ahead = own;
    for (const [other, { length }] of this.#lines) if (other !== caller) ahead += Math.min(length, own + 1);
    return ahead;
  }

  add(caller: string, item: T): void {
    const line = this.#lines.get(caller);
    if (line === undefined) this.#lines.set(caller, [item]);
    else line.splice(placeOf(line, item.since), 0, item);
    this.#size += 1;
  }

  remove(caller: string, item: T): void {
    const line = this.#lines.get(caller);
    const index = line?.indexOf(item) ?? -1;
    if (line === undefined || index === -1) return;
    line.splice(index, 1);
    this.#size -= 1;
    if (line.length === 0) this.#lines.delete(caller);
  }

  /** Takes the oldest item of the caller whose turn it is. That caller's next turn is the last. */
  take(): T | undefined {
    for (const [caller, line] of this.#lines) {
      const [item] = line;
      if (item === undefined) continue;
      this.remove(caller, item);
      if (this.#lines.delete(caller)) this.#lines.set(caller, line);
      return item;
    }
    return undefined;
  }

  /** The item that the queue takes last: the newest of the longest line. */
  last(): T | undefined {
    let longest: readonly T[] = [];
    for (const line of this.#lines.values()) if (line.length >= longest.length) longest = line;
    return longest.at(-1);
  }
}

/** Behind all that came before it, or at the same time. */
function placeOf(line: readonly Item[], since: number): number {
  return line.findLastIndex((item) => item.since <= since) + 1;
}
