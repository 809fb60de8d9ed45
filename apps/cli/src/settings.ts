import { accountOf, DEFAULT_ACCOUNT } from '@tillflow/domain';
import {
  accountSettings,
  businessDaySettings,
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

/** The settings of a command that uses only Temporal. @throws {SettingsError} with every mistake. */
export function cliSettings(environment: Environment): TemporalSettings {
  return readSettings(z.object(temporalSettings), environment);
}

const daySchema = z.object({ ...temporalSettings, ...businessDaySettings });

/** The settings of a command that reports business days. @throws {SettingsError} with every mistake. */
export function daySettings(environment: Environment): z.output<typeof daySchema> {
  return readSettings(daySchema, environment);
}

/**
 * The settings of `setup` and `doctor`. The provider's settings are optional. A key of the wrong kind is accepted here,
 * so that `doctor` can report it.
 */
const providerSchema = z.object({
  ...temporalSettings,
  ...businessDaySettings,
  PROVIDER_BASE_URL: accountSettings.PROVIDER_BASE_URL.optional(),
  PROVIDER_SECRET_KEY: z.string().optional(),
  PROVIDER_PUBLIC_KEY: z.string().optional(),
  PROVIDER_WEBHOOK_SECRET: list().optional(),
  PROVIDER_API_VERSION: z.string().optional(),
  /** Whether live mode is expected. Unset: the mode of the key. */
  PROVIDER_LIVEMODE: z
    .enum(['true', 'false'], 'must be true or false')
    .transform((text) => text === 'true')
    .optional(),
  /** The address at which the provider reaches the API. */
  PUBLIC_URL: z
    .url({ protocol: /^https?$/, error: 'must be an http(s) address' })
    .transform((url) => url.replace(/\/+$/, ''))
    .optional(),
  CURRENCIES: accountSettings.CURRENCIES,
  WORKER_BUILD_ID: z.string().optional(),
  WORKER_HOST: z.string().default('127.0.0.1'),
  WORKER_HEALTH_PORT: integer(0, 0, 65_535),
  WORKER_SDK_METRICS_PORT: integer(0, 0, 65_535),
  /** `doctor` warns when these are open. The programs that use them check their values. */
  DOCS_OPEN: flag(true),
  METRICS_OPEN: flag(false),
  TEMPORAL_BIND_ADDRESS: z.string().optional(),
  UI_BIND_ADDRESS: z.string().optional(),
  SANDBOX_BIND_ADDRESS: z.string().optional(),
});

export type ProviderSettings = z.output<typeof providerSchema>;

/** For `doctor`, which reports unsafe settings itself. @throws {SettingsError} with every mistake. */
export function providerSettings(environment: Environment): ProviderSettings {
  return readSettings(providerSchema, environment);
}

/** For a command that calls the provider. @throws {SettingsError} also for settings that are unsafe with a live key. */
export function safeProviderSettings(environment: Environment): ProviderSettings {
  return readSettings(providerSchema, environment, unsafeWithLiveKey);
}

/** As the API's, where a command writes links to the API. */
const linkSchema = z.object({
  TEMPORAL_TASK_QUEUE: temporalSettings.TEMPORAL_TASK_QUEUE,
  PUBLIC_URL: z.url({ protocol: /^https?$/, error: 'must be an http(s) address' }),
  URL_SIGNING_KEY: list(),
});

/** How the API's links begin (without a slash at the end), and the secret that signs them. @throws {SettingsError} */
export function linkSettings(environment: Environment): {
  readonly base: string;
  readonly secret: string;
  readonly account: string;
} {
  const { PUBLIC_URL, URL_SIGNING_KEY, TEMPORAL_TASK_QUEUE } = readSettings(linkSchema, environment);
  const [secret = ''] = URL_SIGNING_KEY;
  return { base: PUBLIC_URL.replace(/\/+$/, ''), secret, account: accountOf(TEMPORAL_TASK_QUEUE) };
}

/** The address for the provider's webhooks. Undefined when the API's address is unknown. */
export function webhookAddress({
  PUBLIC_URL,
  TEMPORAL_TASK_QUEUE,
}: Pick<ProviderSettings, 'PUBLIC_URL' | 'TEMPORAL_TASK_QUEUE'>): string | undefined {
  const account = accountOf(TEMPORAL_TASK_QUEUE);
  const path = account === DEFAULT_ACCOUNT ? '/webhooks/provider' : `/webhooks/provider/${account}`;
  return PUBLIC_URL === undefined ? undefined : `${PUBLIC_URL}${path}`;
}
