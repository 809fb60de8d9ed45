/** How many streams may be held, in all and of one checkout, so that one link cannot take the places of all. */
export class Places {
  readonly #taken = new Map<string, number>();
  #total = 0;

  constructor(private readonly limit: number) {}

  /** @returns what gives the place back, or null when there is none. */
  take(id: string): (() => void) | null {
    const ofOne = this.#taken.get(id) ?? 0;
    if (this.#total >= this.limit || ofOne >= Math.ceil(this.limit / 2)) return null;
    this.#total += 1;
    this.#taken.set(id, ofOne + 1);
    let isTaken = true;
    return () => {
      if (isTaken) this.#giveBack(id);
      isTaken = false;
    };
  }

  #giveBack(id: string): void {
    this.#total -= 1;
    const left = (this.#taken.get(id) ?? 1) - 1;
    if (left === 0) this.#taken.delete(id);
    else this.#taken.set(id, left);
  }
}
