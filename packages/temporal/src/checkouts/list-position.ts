import { createHash } from 'node:crypto';

/** How far a list was read. */
export type ListPlace = {
  /** Which part of the list: 0 contains the open checkouts, when the list begins with them. */
  readonly part: number;
  /** The last checkout that was read: the list continues after it. Epoch milliseconds; null at the beginning. */
  readonly createdAt: number | null;
  readonly id: string;
  /** When the first page was read, in epoch milliseconds. */
  readonly began: number;
  /** The length of the last window, in seconds. */
  readonly seconds: number | null;
  readonly shown: ShownCheckouts;
};

/** A cursor has to fit into a URL. */
const MAX_SHOWN = 450;
const HASH_BYTES = 6;

/**
 * The open checkouts that a list has shown, so that one that ends meanwhile is not shown again among the ended ones.
 * Stored as six bytes of a hash each, for at most 450 checkouts.
 */
class ShownCheckouts {
  readonly #hashes: Set<string>;

  constructor(
    bytes: Uint8Array,
    /** False once there were too many to store. */
    readonly isComplete: boolean,
  ) {
    const all = Buffer.from(bytes);
    this.#hashes = new Set();
    for (let start = 0; start < all.length; start += HASH_BYTES) {
      this.#hashes.add(all.toString('hex', start, start + HASH_BYTES));
    }
  }

  has(id: string): boolean {
    return this.#hashes.has(hashOf(id));
  }

  with(ids: readonly string[]): ShownCheckouts {
    const all = [...this.#hashes, ...ids.map(hashOf)];
    const stored = all.slice(0, MAX_SHOWN);
    return new ShownCheckouts(Buffer.from(stored.join(''), 'hex'), this.isComplete && stored.length === all.length);
  }

  get bytes(): Uint8Array {
    return Buffer.from([...this.#hashes].join(''), 'hex');
  }
}

function hashOf(id: string): string {
  return createHash('sha256')
    .update(id)
    .digest('hex')
    .slice(0, 2 * HASH_BYTES);
}

export function firstPlace(now: number): ListPlace {
  const shown = new ShownCheckouts(new Uint8Array(), true);
  return { part: 0, createdAt: null, id: '', began: now, seconds: null, shown };
}

/** At most 3,000 bytes. */
export function writePlace({ part, createdAt, id, began, seconds, shown }: ListPlace): Uint8Array {
  const head = JSON.stringify([part, createdAt, id, began, seconds, shown.isComplete]);
  return Buffer.concat([Buffer.from(`${head}\n`), shown.bytes]);
}

/** @param bytes from {@link writePlace}. Bytes from outside must be signed: they are not checked here. */
export function readPlace(bytes: Uint8Array): ListPlace {
  const all = Buffer.from(bytes);
  const end = all.indexOf('\n');
  const [part, createdAt, id, began, seconds, isComplete] = JSON.parse(all.toString('utf8', 0, end)) as [
    number,
    number | null,
    string,
    number,
    number | null,
    boolean,
  ];
  return { part, createdAt, id, began, seconds, shown: new ShownCheckouts(all.subarray(end + 1), isComplete) };
}
