import { createHash } from 'node:crypto';
import type { RefundLimit } from '@tillflow/domain';

/** What a key may do. */
export const SCOPES = ['checkouts:read', 'checkouts:write', 'refunds:write', 'refunds:approve', 'ops'] as const;
export type Scope = (typeof SCOPES)[number];

/** A key of the API. Its token is nowhere: only the hash is configured. */
export type Key = {
  /** Unique. Timelines and logs show it. */
  readonly name: string;
  readonly account: string;
  /** The SHA-256 of the token. */
  readonly hash: Buffer;
  readonly scopes: readonly Scope[];
  /** The ids of the stores, and the names of the tills, whose checkouts the key may reach. Null: all. */
  readonly stores: readonly string[] | null;
  readonly terminals: readonly string[] | null;
  /** The key is valid before this time, in Unix milliseconds. Null: it does not expire. */
  readonly notAfter: number | null;
  readonly refundLimit: RefundLimit;
};

/** The names of keys. A colon separates the parts of other requesters' names. */
export const KEY_NAME = /^[A-Za-z0-9._-]{1,64}$/;
export const KEY_HASH = /^[0-9a-fA-F]{64}$/;

/**
 * Keys by their hash. The time of a look-up may show something about hashes, but no one can choose a token by its hash. So it
 * shows nothing about tokens, and takes the same time for ten keys and for ten thousand.
 */
export class KeyRing {
  readonly #keys: ReadonlyMap<string, Key>;
  readonly #names: ReadonlyMap<string, Key>;

  constructor(keys: readonly Key[]) {
    this.#keys = new Map(keys.map((key) => [key.hash.toString('hex'), key]));
    this.#names = new Map(keys.map((key) => [key.name, key]));
  }

  /** The key of a bearer token; null for an unknown one. It may have expired. */
  find(token: string): Key | null {
    return this.#keys.get(createHash('sha256').update(token).digest('hex')) ?? null;
  }

  /** The key with this name; null for an unknown one. It may have expired. */
  named(name: string): Key | null {
    return this.#names.get(name) ?? null;
  }

  /** Whether the ring still has the key, with the same rights. */
  has(key: Key): boolean {
    const own = this.#keys.get(key.hash.toString('hex'));
    return own === key || (own !== undefined && JSON.stringify(own) === JSON.stringify(key));
  }
}

export function hasExpired({ notAfter }: Pick<Key, 'notAfter'>, now: number): boolean {
  return notAfter !== null && now >= notAfter;
}
