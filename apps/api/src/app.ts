import type { IncomingMessage } from 'node:http';
import {
  ConfiguredKeys,
  isSame,
  warnIfUnencrypted,
  type Account,
  type Accounts,
  type Environment,
} from '@tillflow/temporal';
import { DEFAULT_ACCOUNT } from '@tillflow/domain';
import { openTracer } from '@tillflow/telemetry';
import type { Logger } from 'pino';
import { AccountApi, type Shared } from './accounts/account-api.js';
import { accountOfRequest } from './accounts/account-of-request.js';
import { Neighbours } from './accounts/neighbours.js';
import type { Handler } from './edge/edge.js';
import type { ApiSettings } from './settings.js';

/** The pause before an account that could not be served is tried again. Milliseconds. */
const AGAIN_MS = 5_000;

export type RunningApi = {
  /** `http://host:port` at which it listens. */
  readonly url: string;
  /** Finishes the requests in progress, accepts no more, and closes all connections. */
  close(): Promise<void>;
};

/**
 * Starts the API. It also starts without Temporal; `/health/ready` then answers 503.
 * @param accounts further accounts. Absent: only the account `default`, with these settings
 */
export async function startApi(
  values: ApiSettings,
  logger: Logger,
  accounts?: Accounts<ApiSettings>,
): Promise<RunningApi> {
  warnIfUnencrypted(values, logger);
  const keys = new ConfiguredKeys(values, logger, accounts);
  const tracer = await openTracer(values, 'api', logger);
  const shared: Shared = { keys, neighbours: new Neighbours(), logger, tracer };
  const others = new OtherAccounts(shared);
  const hasOthers = accounts?.hasFile === true;
  const front = await AccountApi.open(values, shared, hasOthers ? others.handlerOf : undefined);
  const first = accounts?.default.environment ?? {};
  if (hasOthers) await others.replace(accounts.all, first);
  await front.app.listen(values.PORT, values.HOST);
  const url = await front.app.getUrl();
  front.listeningAt(url);
  others.listeningAt(url);
  accounts?.watch(logger, () => {
    others.replaceLater(accounts, first);
    keys.readAgain();
  });
  return {
    url,
    async close() {
      accounts?.close();
      keys.close();
      // Together: the server answers the requests of all parts before it closes.
      const closings = await Promise.all([front.stop(), others.stop()]);
      await Promise.all(closings.map((close) => close()));
      await tracer?.end();
    },
  };
}

/** The parts of the API that do not listen: further accounts, and `default` once its settings have changed. */
class OtherAccounts {
  readonly #open = new Map<string, { readonly account: Account<ApiSettings>; readonly api: AccountApi }>();
  #replacing: Promise<void> = Promise.resolve();
  #url: string | undefined;
  #isStopping = false;

  constructor(private readonly shared: Shared) {}

  readonly handlerOf = (request: IncomingMessage): Handler | undefined =>
    this.#open.get(accountOfRequest(request, this.shared.keys))?.api.handle;

  listeningAt(url: string): void {
    this.#url = url;
    for (const { api } of this.#open.values()) api.listeningAt(url);
  }

  /** One replacement at a time. The failure of one account leaves it as it was, and is tried again. */
  replaceLater(accounts: Accounts<ApiSettings>, front: Environment): void {
    this.#replacing = this.#replacing.then(() => this.#replaceUntilDone(accounts, front));
  }

  async #replaceUntilDone(accounts: Accounts<ApiSettings>, front: Environment): Promise<void> {
    const failures = await this.#replaceAll(accounts.all, front);
    for (const err of failures) this.shared.logger.error({ err }, 'an account is not served; the next try follows');
    if (failures.length === 0 || this.#isStopping) return;
    setTimeout(() => this.replaceLater(accounts, front), AGAIN_MS).unref();
  }

  /** @param front the environment of the part that listens, which serves `default` until that changes */
  async replace(accounts: readonly Account<ApiSettings>[], front: Environment): Promise<void> {
    const [failure] = await this.#replaceAll(accounts, front);
    if (failure !== undefined) throw failure;
  }

  async #replaceAll(accounts: readonly Account<ApiSettings>[], front: Environment): Promise<unknown[]> {
    for (const [name, { api }] of this.#open) {
      if (accounts.some((account) => account.name === name)) continue;
      this.#open.delete(name);
      this.shared.neighbours.delete(name);
      this.#retire(name, api);
    }
    const replaced = await Promise.allSettled(accounts.map((account) => this.#replaceOne(account, front)));
    return replaced.flatMap((one) => (one.status === 'rejected' ? [one.reason as unknown] : []));
  }

  async #replaceOne(account: Account<ApiSettings>, front: Environment): Promise<void> {
    const { name, environment, settings } = account;
    const present = this.#open.get(name);
    const known = present?.account.environment ?? (name === DEFAULT_ACCOUNT ? front : {});
    if (this.#isStopping || isSame(known, environment)) return;
    const api = await AccountApi.open(settings, this.shared, () => undefined);
    await api.edge.server.ready();
    if (this.#url !== undefined) api.listeningAt(this.#url);
    this.#open.set(name, { account, api });
    this.#retire(name, present?.api);
  }

  async stop(): Promise<() => Promise<void>> {
    this.#isStopping = true;
    await this.#replacing;
    const closings = await Promise.all([...this.#open.values()].map(({ api }) => api.stop()));
    return async () => {
      await Promise.all(closings.map((close) => close()));
    };
  }

  #retire(account: string, api: AccountApi | undefined): void {
    api
      ?.retire()
      .catch((error: unknown) => this.shared.logger.error({ account, err: error }, 'an account cannot be closed'));
  }
}
