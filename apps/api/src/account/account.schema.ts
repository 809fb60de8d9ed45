import { z } from 'zod';
import { text } from '../checkouts/fields.js';
import * as examples from '../openapi/resource-examples.js';

const address = z
  .url({ protocol: /^https?$/, error: 'must be an http(s) address' })
  .max(2_048)
  .nullable();

const exportKey = text(64).min(1);

export const updateAccount = z
  .strictObject({
    chain_enabled: z.boolean().optional(),
    zero_interest_installments: z.boolean().optional(),
    chain_return_uri: address.optional().meta({ description: 'Null clears it' }),
    webhook_uri: address.optional().meta({ description: 'Where webhooks are sent; null: nowhere' }),
    metadata_export_keys: z
      .record(z.string().regex(/^[A-Za-z0-9_]{1,64}$/), z.union([exportKey, z.array(exportKey).min(1).max(50)]))
      .refine((keys) => Object.keys(keys).length > 0, 'needs at least one name; null clears them')
      .refine((keys) => Object.keys(keys).length <= 20, 'at most 20 names')
      .nullable()
      .optional()
      .meta({ description: 'Names of metadata that exports carry, by kind of record; null clears them' }),
  })
  .refine((change) => Object.keys(change).length > 0, 'needs at least one field')
  .meta({ id: 'UpdateAccount', example: examples.accountChange });
export type UpdateAccount = z.output<typeof updateAccount>;

export const upgradeApiVersion = z
  .strictObject({
    confirm: z.literal(true).meta({
      description:
        'That it is meant: every request without a version of its own is answered in the newest from then on',
    }),
  })
  .meta({ id: 'UpgradeApiVersion', example: { confirm: true } });
export type UpgradeApiVersion = z.output<typeof upgradeApiVersion>;

const fields = {
  id: z.string(),
  api_version: z.string().nullish(),
  webhook_uri: z.string().nullish(),
  chain_enabled: z.boolean().nullish(),
  chain_return_uri: z.string().nullish(),
  zero_interest_installments: z.boolean().nullish(),
  metadata_export_keys: z.looseObject({}).nullish(),
  supported_currencies: z.array(z.string()).nullish(),
};

/** The provider's account. Fields that are not named here are passed on. */
export const accountReply = z.looseObject(fields).meta({ id: 'Account' });
export type AccountReply = z.output<typeof accountReply>;

export const accountVersionsReply = z
  .looseObject({ ...fields, versions: z.array(z.string()).nullish().meta({ description: 'Oldest first' }) })
  .meta({ id: 'AccountVersions' });
export type AccountVersionsReply = z.output<typeof accountVersionsReply>;
