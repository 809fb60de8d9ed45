import { z } from 'zod';
import { providerId, text, withAnyField } from '../shared/fields.schema.js';

/** In the characters of RFC 3986: a URL of another alphabet has an ASCII form. */
const URI = /^https?:\/\/(?:[A-Za-z0-9._~:/?#[\]@!$&'()*+,;=-]|%[0-9A-Fa-f]{2})+$/;

const address = z
  .url({ error: 'must be an http(s) address' })
  .regex(URI, 'must be an http(s) address')
  .max(2_048)
  .nullable();

const exportKey = text(64, 1);

const MAX_EXPORT_NAMES = 20;

export const updateAccount = withAnyField(
  z.strictObject({
    chain_enabled: z.boolean().optional(),
    zero_interest_installments: z.boolean().optional(),
    chain_return_uri: address.optional().meta({ description: 'Null clears it' }),
    webhook_uri: address.optional().meta({ description: 'Where the provider sends webhooks. Null: nowhere' }),
    metadata_export_keys: z
      .record(z.string().regex(/^[A-Za-z0-9_]{1,64}$/), z.union([exportKey, z.array(exportKey).min(1).max(50)]))
      .refine((keys) => Object.keys(keys).length > 0, 'needs at least one name. Null clears them')
      .refine((keys) => Object.keys(keys).length <= MAX_EXPORT_NAMES, `at most ${MAX_EXPORT_NAMES} names`)
      .meta({ minProperties: 1, maxProperties: MAX_EXPORT_NAMES })
      .nullable()
      .optional()
      .meta({ description: 'Names of metadata that exports contain, by kind of record. Null clears them' }),
  }),
).meta({ id: 'UpdateAccount', examples: [{ webhook_uri: 'https://pay.example/webhooks/provider' }] });
export type UpdateAccount = z.output<typeof updateAccount>;

export const upgradeApiVersion = z
  .strictObject({
    confirm: z.literal(true).meta({
      description: 'Confirms the upgrade: the provider then answers every request without a version in the newest one',
    }),
  })
  .meta({ id: 'UpgradeApiVersion', examples: [{ confirm: true }] });
export type UpgradeApiVersion = z.output<typeof upgradeApiVersion>;

const fields = {
  id: providerId,
  api_version: z.string().nullish(),
  webhook_uri: z.string().nullish(),
  chain_enabled: z.boolean().nullish(),
  chain_return_uri: z.string().nullish(),
  zero_interest_installments: z.boolean().nullish(),
  metadata_export_keys: z.looseObject({}).nullish(),
  supported_currencies: z.array(z.string()).nullish(),
};

const example = {
  object: 'account',
  id: 'account_test_9i6u3y0t7r',
  api_version: '2025-06-09',
  webhook_uri: 'https://pay.example/webhooks/provider',
  supported_currencies: ['THB', 'SGD', 'MYR'],
};

/** The provider's account. Fields that are not named here are passed on. */
export const accountReply = z.looseObject(fields).meta({ id: 'Account', examples: [example] });

export const accountVersionsReply = z
  .looseObject({ ...fields, versions: z.array(z.string()).nullish().meta({ description: 'Oldest first' }) })
  .meta({ id: 'AccountVersions', examples: [{ ...example, versions: ['2025-05-27', '2025-06-09'] }] });
