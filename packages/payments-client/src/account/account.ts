import type { RequestOptions } from '../options.js';
import { path } from '../path.js';
import type { Transport } from '../transport.js';
import { type Account, account, type AccountVersions, accountVersions } from './schema.js';

/** What is left out stays as it is; null clears an address or the keys (assumption). Source: API reference, "Account". */
export interface AccountUpdateParams {
  chain_enabled?: boolean | undefined;
  zero_interest_installments?: boolean | undefined;
  chain_return_uri?: string | null | undefined;
  /** Where webhook events are sent. */
  webhook_uri?: string | null | undefined;
  metadata_export_keys?: Record<string, unknown> | null | undefined;
}

/** Settings of the merchant's account. Source: API reference, "Account"; retrieve is an assumption. */
export class AccountSettings {
  readonly #http: Transport;

  constructor(http: Transport) {
    this.#http = http;
  }

  retrieve(options?: RequestOptions): Promise<Account> {
    return this.#http.get(path`/account`, undefined, account, options);
  }

  update(params: AccountUpdateParams, options?: RequestOptions): Promise<Account> {
    return this.#http.patch(path`/account`, params, account, options);
  }

  /**
   * Moves the account to the newest version (assumption: the reference shows no way to choose another). Every request
   * without a version of its own is answered in the account's version from then on.
   */
  updateApiVersion(options?: RequestOptions): Promise<Account> {
    return this.#http.patch(path`/account/api_version`, undefined, account, options);
  }

  listApiVersions(options?: RequestOptions): Promise<AccountVersions> {
    return this.#http.get(path`/account/api_versions`, undefined, accountVersions, options);
  }
}
