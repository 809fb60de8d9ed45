import { setTimeout as sleep } from 'node:timers/promises';
import { DEFAULT_ACCOUNT } from '@tillflow/domain';
import { ConfiguredKeys, isSame, type Account, type Accounts } from '@tillflow/temporal';
import { openTracer, type Tracer } from '@tillflow/telemetry';
import type { Logger } from 'pino';
import type { WorkerSettings } from './settings.js';
import { openWorker, type RunningWorker, type StartOptions } from './worker.js';

type Opened = { readonly account: Account<WorkerSettings>; readonly worker: RunningWorker };

/** The pause before an account that could not be served is tried again. Milliseconds. */
const AGAIN_MS = 5_000;

/**
 * The workers of all accounts in this process, as one. Each takes the tasks of its account's queues only, with the account's
 * own client of the provider. When `ACCOUNTS_FILE` changes, workers start, stop and are replaced.
 */
export class Workers implements RunningWorker {
  readonly #open = new Map<string, Opened>();
  readonly #keys: ConfiguredKeys;
  readonly #stopping = new AbortController();
  readonly stopped: Promise<void>;
  #replacing: Promise<void> = Promise.resolve();
  #tracer: Tracer | undefined;
  #end!: (failure?: Error) => void;

  /** @throws {SettingsError} for a wrong `KEYS_FILE` */
  constructor(
    private readonly accounts: Accounts<WorkerSettings>,
    private readonly logger: Logger,
    private readonly options: Omit<StartOptions, 'keys' | 'tracer'> = {},
  ) {
    this.#keys = new ConfiguredKeys(accounts.default.settings, logger, accounts);
    this.stopped = new Promise((resolve, reject) => {
      this.#end = (failure) => {
        accounts.close();
        this.#keys.close();
        if (failure === undefined) resolve();
        else reject(failure);
      };
    });
    // Whoever waits for it decides what a failure means.
    this.stopped.catch(() => undefined);
  }

  /** Opens the workers of all accounts, then follows the file. @throws when one of them cannot be opened */
  async begin(): Promise<void> {
    this.#tracer = await openTracer(this.accounts.default.settings, 'worker', this.logger);
    await Promise.all(this.accounts.all.map((account) => this.#replaceOne(account)));
    this.accounts.watch(this.logger, () => {
      this.#replacing = this.#replacing.then(() => this.#replaceAll());
      this.#keys.readAgain();
    });
  }

  /** The mistakes in each settings file that keep its present content out of force. */
  get fileMistakes() {
    return this.#keys.mistakes;
  }

  get clocks() {
    return this.#default.clocks;
  }

  get ready(): Promise<void> {
    return Promise.all(this.#all.map(({ ready }) => ready)).then(() => undefined);
  }

  get isTakingWork(): boolean {
    return this.#all.every(({ isTakingWork }) => isTakingWork);
  }

  async isReady(): Promise<boolean> {
    return (await Promise.all(this.#all.map((worker) => worker.isReady()))).every((isReady) => isReady);
  }

  async stop(): Promise<void> {
    this.#stopping.abort();
    await this.#replacing;
    await this.#stopAll();
    await this.stopped;
  }

  async #stopAll(failure?: unknown): Promise<void> {
    const ended = await Promise.allSettled(this.#all.map((worker) => worker.stop()));
    await this.#tracer?.end();
    const failed = ended.find((one) => one.status === 'rejected');
    this.#end(asError(failure ?? failed?.reason));
  }

  /** The failure of one account leaves it as it was, concerns no other, and is tried again. */
  async #replaceAll(): Promise<void> {
    const { all } = this.accounts;
    for (const [name, { worker }] of this.#open) {
      if (all.some((account) => account.name === name)) continue;
      this.#open.delete(name);
      this.#retire(name, worker);
    }
    const replaced = await Promise.allSettled(all.map((account) => this.#replaceOne(account)));
    const failures = replaced.flatMap((one) => (one.status === 'rejected' ? [one.reason as unknown] : []));
    for (const err of failures)
      this.logger.error({ err }, 'the worker of an account could not be replaced; trying again');
    if (failures.length > 0) void this.#replaceAgain();
  }

  async #replaceAgain(): Promise<void> {
    await sleep(AGAIN_MS, undefined, { ref: false });
    if (!this.#stopping.signal.aborted) this.#replacing = this.#replacing.then(() => this.#replaceAll());
  }

  async #replaceOne(account: Account<WorkerSettings>): Promise<void> {
    const { name, environment, settings } = account;
    const present = this.#open.get(name);
    if (this.#stopping.signal.aborted || isSame(present?.account.environment ?? {}, environment)) return;
    const logger = name === DEFAULT_ACCOUNT ? this.logger : this.logger.child({ account: name });
    const worker = await openWorker(settings, logger, {
      ...this.options,
      keys: this.#keys,
      tracer: this.#tracer ?? null,
    });
    worker.ready.catch((err: unknown) => logger.error({ err }, 'a worker is not ready'));
    this.#open.set(name, { account, worker });
    worker.stopped.then(
      () => this.#ended(worker),
      (error: unknown) => this.#ended(worker, error),
    );
    this.#retire(name, present?.worker);
    if (this.#stopping.signal.aborted) await worker.stop();
  }

  /** A worker that ends while its account is served ends all of them: the program starts again. */
  #ended(worker: RunningWorker, failure?: unknown): void {
    if (this.#stopping.signal.aborted || !this.#all.includes(worker)) return;
    this.#stopping.abort();
    void this.#stopAll(failure);
  }

  /** Its calls in flight end first. Meanwhile its successor takes the new tasks. */
  #retire(account: string, worker: RunningWorker | undefined): void {
    worker?.stop().catch((err: unknown) => {
      this.logger.error({ account, err }, 'the worker of an account did not stop cleanly');
    });
  }

  get #all(): readonly RunningWorker[] {
    return [...this.#open.values()].map(({ worker }) => worker);
  }

  get #default(): RunningWorker {
    const found = this.#open.get(DEFAULT_ACCOUNT);
    if (found === undefined) throw new Error('The account default has no worker');
    return found.worker;
  }
}

function asError(failure: unknown): Error | undefined {
  if (failure === undefined || failure instanceof Error) return failure;
  return new Error('A worker failed', { cause: failure });
}
