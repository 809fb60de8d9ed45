import { CURRENCIES, isCurrency } from '@tillflow/domain';
import {
  flag,
  integer,
  list,
  readSettings,
  temporalSettings,
  unsafeWithLiveKey,
  type TemporalSettings,
} from '@tillflow/temporal';
import { z } from 'zod';

type Environment = Readonly<Record<string, string | undefined>>;

/** @throws {SettingsError} with every mistake. */
export function cliSettings(environment: Environment): TemporalSettings {
  return readSettings(z.object(temporalSettings), environment);
}

/**
 * What `setup` and `doctor` know of the provider, which may be nothing. A key of the wrong kind is no mistake here: to
 * find it is the doctor's work.
 */
const providerSchema = z.object({
  ...temporalSettings,
  PROVIDER_BASE_URL: z.url({ protocol: /^https?$/, error: 'must be an http(s) address' }).optional(),
  PROVIDER_SECRET_KEY: z.string().optional(),
  PROVIDER_PUBLIC_KEY: z.string().optional(),
  PROVIDER_WEBHOOK_SECRET: list().optional(),
  PROVIDER_API_VERSION: z.string().optional(),
  /** Whether this is to be the real thing; unset: whatever the key is for. */
  PROVIDER_LIVEMODE: z
    .enum(['true', 'false'], 'must be true or false')
    .transform((text) => text === 'true')
    .optional(),
  /** The address of the API, as the provider reaches it. */
  PUBLIC_URL: z
    .url({ protocol: /^https?$/, error: 'must be an http(s) address' })
    .transform((url) => url.replace(/\/+$/, ''))
    .optional(),
  CURRENCIES: list()
    .refine((codes) => codes.every(isCurrency), `each must be one of ${CURRENCIES.join(', ')}`)
    .transform((codes) => codes.filter(isCurrency))
    .default([...CURRENCIES]),
  WORKER_BUILD_ID: z.string().optional(),
  WORKER_HOST: z.string().default('127.0.0.1'),
  WORKER_HEALTH_PORT: integer(0, 0, 65_535),
  WORKER_SDK_METRICS_PORT: integer(0, 0, 65_535),
  /** What `doctor` names when they are open; the programs that have these settings check them. */
  DOCS_OPEN: flag(true),
  METRICS_OPEN: flag(false),
  TEMPORAL_BIND_ADDRESS: z.string().optional(),
  UI_BIND_ADDRESS: z.string().optional(),
  SANDBOX_BIND_ADDRESS: z.string().optional(),
});

export type ProviderSettings = z.output<typeof providerSchema>;

/** For `doctor`, which names what is unsafe. @throws {SettingsError} with every mistake. */
export function providerSettings(environment: Environment): ProviderSettings {
  return readSettings(providerSchema, environment);
}

/** For a command that calls the provider. @throws {SettingsError} with what is unsafe with a live key, too. */
export function safeProviderSettings(environment: Environment): ProviderSettings {
  return readSettings(providerSchema, environment, unsafeWithLiveKey);
}

/** Where the provider is to send its webhooks; undefined where the API's address is not known. */
export function webhookAddress({ PUBLIC_URL }: Pick<ProviderSettings, 'PUBLIC_URL'>): string | undefined {
  return PUBLIC_URL === undefined ? undefined : `${PUBLIC_URL}/webhooks/provider`;
}
