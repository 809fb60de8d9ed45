import type { RequestOptions } from '../../options.js';
import type { ReplyComparison } from '../../reply/integrity.js';
import { path } from '../../request/path.js';
import { Resource } from '../resource.js';
import { type Account, account, type AccountVersions, accountVersions } from './schema.js';

/**
 * A field that is left out stays as it is. Null clears an address or the keys (assumption). Source: API reference,
 * "Account".
 */
export interface AccountUpdateParams {
  chain_enabled?: boolean | null | undefined;
  zero_interest_installments?: boolean | null | undefined;
  chain_return_uri?: string | null | undefined;
  /** Where webhook events are sent. */
  webhook_uri?: string | null | undefined;
  metadata_export_keys?: Record<string, unknown> | null | undefined;
}

const compareUpdate: ReplyComparison<AccountUpdateParams, Account> = (requested, replied) =>
  isOtherAddress(requested.webhook_uri, replied.webhook_uri) ? ['webhook_uri'] : [];

/**
 * Null and the empty string are no address. Others are compared as URLs: `https://Shop.example` is
 * `https://shop.example/`.
 */
function isOtherAddress(requested: string | null | undefined, replied: string | null | undefined): boolean {
  return requested !== undefined && replied !== undefined && addressOf(requested) !== addressOf(replied);
}

function addressOf(text: string | null): string {
  const address = (text ?? '').trim();
  return URL.canParse(address) ? new URL(address).href : address;
}

/** Settings of the merchant's account. Source: API reference, "Account"; retrieve is an assumption. */
export class AccountSettings extends Resource {
  retrieve(options?: RequestOptions): Promise<Account> {
    return this.http.get(path`/account`, undefined, account, options);
  }

  /** @throws {IntegrityError} when the reply has another `webhook_uri`: the provider would send events elsewhere */
  update(params: AccountUpdateParams, options?: RequestOptions): Promise<Account> {
    return this.http.patch(path`/account`, params, account, options, compareUpdate);
  }

  /**
   * Moves the account to the newest version (assumption: the reference shows no way to choose another). From then on
   * the provider answers every request without a version of its own in the account's version.
   */
  updateApiVersion(options?: RequestOptions): Promise<Account> {
    return this.http.patch(path`/account/api_version`, undefined, account, options);
  }

  listApiVersions(options?: RequestOptions): Promise<AccountVersions> {
    return this.http.get(path`/account/api_versions`, undefined, accountVersions, options);
  }
}
