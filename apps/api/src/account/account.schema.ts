import { z } from 'zod';
import { providerId, text, withAnyField } from '../shared/fields.schema.js';

const BYTE = '(?:25[0-5]|2[0-4][0-9]|1[0-9]{2}|[1-9]?[0-9])';
const LABEL = '[A-Za-z0-9](?:[A-Za-z0-9-]*[A-Za-z0-9])?';
const HOST = `(?:${BYTE}(?:\\.${BYTE}){3}|(?:${LABEL}\\.)*[A-Za-z](?:[A-Za-z0-9-]*[A-Za-z0-9])?)`;
const PORT = '(?:6553[0-5]|655[0-2][0-9]|65[0-4][0-9]{2}|6[0-4][0-9]{3}|[1-5][0-9]{4}|[1-9][0-9]{0,3})';
const REST = "[/?#](?:[A-Za-z0-9._~:/?#[\\]@!$&'()*+,;=-]|%[0-9A-Fa-f]{2})*";
/**
 * In the characters of RFC 3986, so that the description says exactly what is accepted. Another alphabet has an ASCII
 * form.
 */
const URI = new RegExp(`^https?://${HOST}(?::${PORT})?(?:${REST})?$`);

const address = z
  .url({ error: 'must be an http(s) address' })
  .regex(URI, 'must be an http(s) address')
  .max(2_048)
  .nullable();

const exportKey = text(64, 1);

const MAX_EXPORT_NAMES = 20;
/** Begins with a letter: in the provider's forms, names of digits alone are the places of a list. */
const EXPORT_NAME = /^[A-Za-z][A-Za-z0-9_]{0,63}$/;

export const updateAccount = withAnyField(
  z.strictObject({
    chain_enabled: z.boolean().optional(),
    zero_interest_installments: z.boolean().optional(),
    chain_return_uri: address.optional().meta({ description: 'Null clears it' }),
    webhook_uri: address
      .optional()
      .meta({ description: 'The address to which the provider sends webhooks. Null: the provider sends none' }),
    metadata_export_keys: z
      .record(z.string().regex(EXPORT_NAME), z.union([exportKey, z.array(exportKey).min(1).max(50)]))
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
