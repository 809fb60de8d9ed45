/**
 * Events that this process has dealt with and that left nothing to remember, so that those in the overlap of two passes
 * are not delivered again.
 */
export class KnownEvents {
  readonly #ids = new Set<string>();

  /** @param limit the oldest are forgotten beyond it: they are delivered once more at worst. */
  constructor(private readonly limit: number) {}

  has(id: string): boolean {
    return this.#ids.has(id);
  }

  add(id: string): void {
    this.#ids.add(id);
    for (const oldest of this.#ids) {
      if (this.#ids.size <= this.limit) return;
      this.#ids.delete(oldest);
    }
  }
}
