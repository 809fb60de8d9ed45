import { DEFAULT_ACCOUNT } from '@tillflow/domain';
import { describeMistake, FileMistakesError, type Mistake } from '../settings/lined-file.js';
import { isLiveKey } from '../settings/live-key.js';
import { SettingsError } from '../settings/settings.js';
import { WatchedFile } from '../settings/watched-file.js';
import { defaultAccount, parseAccountsFile, type Account, type Environment } from './accounts-file.js';

type Logger = { info(message: string): void; error(fields: object, message: string): void };

/**
 * The accounts at the provider that an installation serves, each with the settings of one program: those of
 * `ACCOUNTS_FILE` as it is now, or the one account of the environment.
 */
export class Accounts<T> {
  readonly #file: WatchedFile<ReadonlyMap<string, Account<T>>> | undefined;
  readonly #read: () => ReadonlyMap<string, Account<T>>;

  /**
   * @param read reads the settings of one account from its environment
   * @throws {SettingsError} with every mistake of the settings and of the file
   */
  constructor(environment: Environment, read: (environment: Environment) => T) {
    const path = environment['ACCOUNTS_FILE'] ?? '';
    if (path === '') {
      const only = defaultAccount(environment, read);
      this.#read = () => only;
      return;
    }
    try {
      const file = new WatchedFile(path, (text) => parseAccountsFile(text, environment, read));
      this.#file = file;
      this.#read = () => file.content;
    } catch (error) {
      if (!(error instanceof FileMistakesError)) throw error;
      throw new SettingsError(error.mistakes.map((mistake) => `ACCOUNTS_FILE, ${describeMistake(mistake)}`));
    }
  }

  get names(): readonly string[] {
    return [...this.#all.keys()];
  }

  get all(): readonly Account<T>[] {
    return [...this.#all.values()];
  }

  /** Whether the file may name further accounts, now or later. */
  get hasFile(): boolean {
    return this.#file !== undefined;
  }

  get(name: string): Account<T> | undefined {
    return this.#all.get(name);
  }

  /** The account of the environment. It always exists. */
  get default(): Account<T> {
    const found = this.#all.get(DEFAULT_ACCOUNT);
    if (found === undefined) throw new Error('There is no account default');
    return found;
  }

  /** Whether real money moves in one of them. */
  get isLive(): boolean {
    return this.all.some(({ environment }) => isLiveKey(environment['PROVIDER_SECRET_KEY'] ?? ''));
  }

  /** Why the present content of the file is not in force. Empty when it is. */
  get mistakes(): readonly Mistake[] {
    return this.#file?.mistakes ?? [];
  }

  /** Calls `changed` each time the file has changed, and is in force. */
  watch(logger: Logger, changed: () => void): void {
    this.#file?.watch({
      changed: () => {
        logger.info('ACCOUNTS_FILE has changed, and its accounts are in force');
        changed();
      },
      refused: (mistakes) =>
        logger.error(
          { mistakes: mistakes.map(describeMistake) },
          'ACCOUNTS_FILE is wrong, and its last good accounts stay in force',
        ),
    });
  }

  close(): void {
    this.#file?.close();
  }

  get #all(): ReadonlyMap<string, Account<T>> {
    return this.#read();
  }
}
