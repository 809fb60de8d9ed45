/** The reader of a stream. */
export type Holder = {
  readonly checkout: string;
  /** The address of a reader with a link, as `addressKey` returns it. Null for a reader with a key. */
  readonly linkFrom: string | null;
};

/** The least share of a link and of an address: a till, its display, and a customer who shares the page. */
const FEWEST_OF_A_LINK = 10;
const FEWEST_OF_AN_ADDRESS = 50;

/**
 * Limits the open streams. Links, which anyone can have, share at most half of the places: one link a twentieth, one
 * address a fifth (all pages of a shop often have one address). The other half is for keys. The keys' streams of one
 * checkout have at most half of the places.
 */
export class Places {
  readonly #taken = new Map<string, number>();
  readonly #half: number;
  readonly #ofALink: number;
  readonly #ofAnAddress: number;

  /** @param limit all places. */
  constructor(private readonly limit: number) {
    this.#half = Math.max(1, Math.floor(limit / 2));
    this.#ofALink = Math.min(this.#half, Math.max(FEWEST_OF_A_LINK, Math.floor(limit / 20)));
    this.#ofAnAddress = Math.min(this.#half, Math.max(FEWEST_OF_AN_ADDRESS, Math.floor(limit / 5)));
  }

  /** @returns a function that frees the place, or null when no place is free. */
  take(holder: Holder): (() => void) | null {
    const shares = this.#sharesOf(holder);
    if (shares.some(([share, limit]) => this.#held(share) >= limit)) return null;
    for (const [share] of shares) this.#taken.set(share, this.#held(share) + 1);
    let isTaken = true;
    return () => {
      if (isTaken) for (const [share] of shares) this.#free(share);
      isTaken = false;
    };
  }

  /** Each share that the stream counts in, with its limit. */
  #sharesOf({ checkout, linkFrom }: Holder): readonly (readonly [string, number])[] {
    const all = ['all', this.limit] as const;
    if (linkFrom === null) return [all, [`keys of ${checkout}`, this.#half]];
    return [
      all,
      ['links', this.#half],
      [`links of ${checkout}`, this.#ofALink],
      [`links from ${linkFrom}`, this.#ofAnAddress],
    ];
  }

  #held(share: string): number {
    return this.#taken.get(share) ?? 0;
  }

  #free(share: string): void {
    const left = this.#held(share) - 1;
    if (left === 0) this.#taken.delete(share);
    else this.#taken.set(share, left);
  }
}
