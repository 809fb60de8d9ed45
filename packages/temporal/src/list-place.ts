import { createHash } from 'node:crypto';

/** How far a list was read. */
export type ListPlace = {
  /** Which of the list's parts: 0 are the open ones, where the list has them first. */
  readonly part: number;
  /** The last that was read: everything after it in the order is left. Epoch milliseconds; null at the beginning. */
  readonly createdAt: number | null;
  readonly id: string;
  /** When the reading began, in epoch milliseconds. */
  readonly began: number;
  /** The length of the window that was read last, in seconds. */
  readonly seconds: number | null;
  readonly shown: Shown;
};

/** A cursor has to fit into an address. */
const MOST_SHOWN = 450;
const BYTES = 6;

/**
 * The open checkouts that a list has shown: one that ends meanwhile is not shown again among those that ended. By six
 * bytes of a hash each, up to 450 of them.
 */
class Shown {
  readonly #hashes: Set<string>;

  constructor(
    bytes: Uint8Array,
    /** False once there were too many to remember. */
    readonly isComplete: boolean,
  ) {
    const all = Buffer.from(bytes);
    this.#hashes = new Set();
    for (let at = 0; at < all.length; at += BYTES) this.#hashes.add(all.toString('hex', at, at + BYTES));
  }

  has(id: string): boolean {
    return this.#hashes.has(hashOf(id));
  }

  with(ids: readonly string[]): Shown {
    const all = [...this.#hashes, ...ids.map(hashOf)];
    const kept = all.slice(0, MOST_SHOWN);
    return new Shown(Buffer.from(kept.join(''), 'hex'), this.isComplete && kept.length === all.length);
  }

  get bytes(): Uint8Array {
    return Buffer.from([...this.#hashes].join(''), 'hex');
  }
}

function hashOf(id: string): string {
  return createHash('sha256')
    .update(id)
    .digest('hex')
    .slice(0, 2 * BYTES);
}

export function beginning(now: number): ListPlace {
  return { part: 0, createdAt: null, id: '', began: now, seconds: null, shown: new Shown(new Uint8Array(), true) };
}

/** At most 3,000 bytes. */
export function writePlace({ part, createdAt, id, began, seconds, shown }: ListPlace): Uint8Array {
  const head = JSON.stringify([part, createdAt, id, began, seconds, shown.isComplete]);
  return Buffer.concat([Buffer.from(`${head}\n`), shown.bytes]);
}

/** @param bytes as {@link writePlace} wrote them: whoever takes them from outside has to have signed them. */
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
  return { part, createdAt, id, began, seconds, shown: new Shown(all.subarray(end + 1), isComplete) };
}
