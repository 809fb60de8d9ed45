/** A name and its limit. */
export type Share = readonly [string, number];

/** Counts what is held under each name. */
export class Shares {
  readonly #held = new Map<string, number>();

  /** @returns a function that gives back one of each share, or null when one of them has reached its limit. */
  take(shares: readonly Share[]): (() => void) | null {
    if (shares.some(([name, limit]) => this.#of(name) >= limit)) return null;
    for (const [name] of shares) this.#held.set(name, this.#of(name) + 1);
    let isHeld = true;
    return () => {
      if (isHeld) for (const [name] of shares) this.#free(name);
      isHeld = false;
    };
  }

  #of(name: string): number {
    return this.#held.get(name) ?? 0;
  }

  #free(name: string): void {
    const left = this.#of(name) - 1;
    if (left === 0) this.#held.delete(name);
    else this.#held.set(name, left);
  }
}

/** The reader of a stream. */
export type Holder = {
  readonly checkout: string;
  /** The address of a reader with a link, as `addressKey` returns it. Null for a reader with a key or a session. */
  readonly linkFrom: string | null;
  /** The name of the reader's key. */
  readonly key?: string | undefined;
  /** The id of the counter link whose session the reader has. */
  readonly counterLink?: string | undefined;
};

/** The least share of a link and of an address: a till, its display, and a customer who shares the page. */
const FEWEST_OF_A_LINK = 10;
const FEWEST_OF_AN_ADDRESS = 50;

/**
 * Limits the open streams. Links, which anyone can have, share at most half of the places: one link a twentieth, one
 * address a fifth (all pages of a shop often have one address). The other half is for keys and sessions. One key has at
 * most half of the places, and so have the keys' streams of one checkout. The sessions of one counter link have a tenth.
 */
export class Places {
  readonly #shares = new Shares();
  readonly #half: number;
  readonly #ofALink: number;
  readonly #ofACounter: number;
  readonly #ofAnAddress: number;

  /** @param limit all places. */
  constructor(private readonly limit: number) {
    this.#half = Math.max(1, Math.floor(limit / 2));
    this.#ofALink = Math.min(this.#half, Math.max(FEWEST_OF_A_LINK, Math.floor(limit / 20)));
    this.#ofACounter = Math.min(this.#half, Math.max(FEWEST_OF_A_LINK, Math.floor(limit / 10)));
    this.#ofAnAddress = Math.min(this.#half, Math.max(FEWEST_OF_AN_ADDRESS, Math.floor(limit / 5)));
  }

  /** @returns a function that frees the place, or null when no place is free. */
  take(holder: Holder): (() => void) | null {
    return this.#shares.take(this.#sharesOf(holder));
  }

  /** Each share that the stream counts in, with its limit. */
  #sharesOf({ checkout, linkFrom, key, counterLink }: Holder): readonly Share[] {
    const all = ['all', this.limit] as const;
    if (linkFrom === null) {
      return [
        all,
        [`keys of ${checkout}`, this.#half],
        ...(key === undefined ? [] : [[`key ${key}`, this.#half] as const]),
        ...(counterLink === undefined ? [] : [[`counter ${counterLink}`, this.#ofACounter] as const]),
      ];
    }
    return [
      all,
      ['links', this.#half],
      [`links of ${checkout}`, this.#ofALink],
      [`links from ${linkFrom}`, this.#ofAnAddress],
    ];
  }
}
