import { z } from 'zod';
import type { RecordFields } from '../resource.js';

/**
 * The merchant's account in the key's mode. The client checks the fields in the `account` schema below; the rest is
 * passed on as it came. Source: API reference, "Account".
 */
export interface Account extends RecordFields {
  object: 'account';
  /** Prefix `account_`. */
  id: string;
  /** Prefix `acct_`. */
  team?: string | null | undefined;
  country?: string | null | undefined;
  /** Three letters, ISO 4217. */
  currency?: string | null | undefined;
  /** Each three letters, ISO 4217. */
  supported_currencies?: string[] | null | undefined;
  email?: string | null | undefined;
  /** The version in effect, e.g. `2025-06-09`. */
  api_version?: string | null | undefined;
  last_updated_api_version?: string | null | undefined;
  auto_activate_recipients?: boolean | null | undefined;
  chain_enabled?: boolean | null | undefined;
  chaining_allowed?: boolean | null | undefined;
  zero_interest_installments?: boolean | null | undefined;
  chain_return_uri?: string | null | undefined;
  /** Where webhook events are sent. */
  webhook_uri?: string | null | undefined;
  metadata_export_keys?: Record<string, unknown> | null | undefined;
  transfer_config?: Record<string, unknown> | null | undefined;
}

/** The account, with the API versions it can use. Source: API reference, "Account"; `versions` is an assumption. */
export interface AccountVersions extends Account {
  /** Oldest first. */
  versions?: string[] | null | undefined;
}

const fields = {
  object: z.literal('account'),
  id: z.string(),
  livemode: z.boolean().nullish(),
  currency: z.string().nullish(),
  api_version: z.string().nullish(),
  webhook_uri: z.string().nullish(),
};

export const account: z.ZodType<Account> = z.object(fields);

export const accountVersions: z.ZodType<AccountVersions> = z.object({
  ...fields,
  versions: z.array(z.string()).nullish(),
});
