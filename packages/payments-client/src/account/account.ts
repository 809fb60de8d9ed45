import type { Intent } from '../integrity.js';
import type { RequestOptions } from '../options.js';
import { path } from '../path.js';
import type { Transport } from '../transport.js';
import { type Account, account, type AccountVersions, accountVersions } from './schema.js';

/** What is left out stays as it is; null clears an address or the keys (assumption). Source: API reference, "Account". */
export interface AccountUpdateParams {
  chain_enabled?: boolean | null | undefined;
  zero_interest_installments?: boolean | null | undefined;
  chain_return_uri?: string | null | undefined;
  /** Where webhook events are sent. */
  webhook_uri?: string | null | undefined;
  metadata_export_keys?: Record<string, unknown> | null | undefined;
}

const asUpdated: Intent<AccountUpdateParams, Account> = (asked, reply) =>
  isOtherAddress(asked.webhook_uri, reply.webhook_uri) ? ['webhook_uri'] : [];

/** None is null or empty. One that can be read is compared as URLs are: `https://Shop.example` is `https://shop.example/`. */
function isOtherAddress(asked: string | null | undefined, reported: string | null | undefined): boolean {
  return asked !== undefined && reported !== undefined && addressOf(asked) !== addressOf(reported);
}

function addressOf(text: string | null): string {
  const address = (text ?? '').trim();
  return URL.canParse(address) ? new URL(address).href : address;
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

  /** @throws {IntegrityError} when the reply has another `webhook_uri`: events would go elsewhere */
  update(params: AccountUpdateParams, options?: RequestOptions): Promise<Account> {
    return this.#http.patch(path`/account`, params, account, options, asUpdated);
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
