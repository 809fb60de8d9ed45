import { DEFAULT_ACCOUNT } from '@tillflow/domain';
import { z } from 'zod';
import { describeMistake, FileMistakesError } from '../settings/lined-file.js';
import { isLiveKey } from '../settings/live-key.js';
import { SettingsError } from '../settings/settings.js';
import type { WatchedFile } from '../settings/watched-file.js';
import { apiKeys } from './api-keys.js';
import { hasExpired, KeyRing, type Key } from './keys.js';
import { openKeysFile } from './keys-file.js';

/** The keys of the API. The worker reads them too, because the workflow keeps to the limits of refunds. */
export const keySettings = {
  /** Keys without limits. Unset: only those of `KEYS_FILE`. */
  API_KEYS: apiKeys.default([]),
  /** The path of a file with keys, each with its scopes, stores and tills. It is read again when it changes. */
  KEYS_FILE: z.string().optional(),
  /** The path of a file with further accounts. `Accounts` reads it. */
  ACCOUNTS_FILE: z.string().optional(),
};

type KeySettings = {
  readonly API_KEYS: readonly Key[];
  readonly KEYS_FILE?: string | undefined;
  readonly PROVIDER_SECRET_KEY: string;
};

/**
 * @property isLive real money moves in one of them
 * @property mistakes why the present content of `ACCOUNTS_FILE` is not in force
 */
type KnownAccounts = {
  readonly names: readonly string[];
  readonly isLive: boolean;
  readonly mistakes: readonly unknown[];
};

type Logger = { info(message: string): void; error(fields: object, message: string): void };

/** The keys of `API_KEYS`, and those of `KEYS_FILE` as it is now. */
export class ConfiguredKeys {
  readonly #own: KeyRing;
  readonly #file: WatchedFile<KeyRing> | undefined;

  /**
   * @param accounts the accounts that keys may belong to, as they are now
   * @throws {SettingsError} with every mistake of the file, and its line
   */
  constructor(
    { API_KEYS, KEYS_FILE, PROVIDER_SECRET_KEY }: KeySettings,
    logger: Logger,
    private readonly accounts: KnownAccounts = {
      names: [DEFAULT_ACCOUNT],
      isLive: isLiveKey(PROVIDER_SECRET_KEY),
      mistakes: [],
    },
  ) {
    this.#own = new KeyRing(API_KEYS);
    if (KEYS_FILE === undefined) return;
    try {
      this.#file = openKeysFile(KEYS_FILE, () => ({
        accounts: accounts.names,
        others: API_KEYS,
        isLive: accounts.isLive,
      }));
    } catch (error) {
      if (!(error instanceof FileMistakesError)) throw error;
      throw new SettingsError(error.mistakes.map((mistake) => `KEYS_FILE, ${describeMistake(mistake)}`));
    }
    this.#file.watch({
      changed: () => logger.info('KEYS_FILE has changed, and its keys are in force'),
      refused: (mistakes) =>
        logger.error(
          { mistakes: mistakes.map(describeMistake) },
          'KEYS_FILE is wrong, and its last good keys stay in force',
        ),
    });
  }

  /** The key of a bearer token; null for an unknown one. It may have expired. */
  find(token: string): Key | null {
    return this.ring.find(token);
  }

  /** Whether the key is still in force as it was when a request showed it. */
  isInForce(key: Key, now = Date.now()): boolean {
    return !hasExpired(key, now) && this.ring.has(key);
  }

  /** Reads the file again: a key may name an account that was unknown before. */
  readAgain(): void {
    this.#file?.readAgain();
  }

  close(): void {
    this.#file?.close();
  }

  /** Whether there is a `KEYS_FILE`: only its keys have limits. */
  get hasFile(): boolean {
    return this.#file !== undefined;
  }

  /** The mistakes in each file that keep its present content out of force. */
  get mistakes(): Readonly<Record<'KEYS_FILE' | 'ACCOUNTS_FILE', number>> {
    return { KEYS_FILE: this.#file?.mistakes.length ?? 0, ACCOUNTS_FILE: this.accounts.mistakes.length };
  }

  get ring(): KeyRing {
    return this.#file?.content ?? this.#own;
  }
}
