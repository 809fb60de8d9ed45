import { isTimeOfDay, isTimeZone, type BusinessDayRule } from '@tillflow/domain';
import { z } from 'zod';
import { payloadKeys } from '../encryption/encryption-codec.js';

/** Wrong settings, all of them at once. Print the message as it is. */
export class SettingsError extends Error {
  override readonly name = 'SettingsError';

  constructor(readonly problems: readonly string[]) {
    super(`Wrong settings:\n${problems.map((problem) => `  - ${problem}`).join('\n')}`);
  }
}

type Environment = Readonly<Record<string, string | undefined>>;

/**
 * Reads a program's settings once. An empty variable counts as unset.
 * @param refuse finds problems that no single setting has.
 * @throws {SettingsError} with every mistake. It never contains a value, because values may be secrets.
 */
export function readSettings<Schema extends z.ZodType>(
  schema: Schema,
  environment: Environment,
  refuse: (environment: Environment) => readonly string[] = () => [],
): z.output<Schema> {
  const set = Object.fromEntries(
    Object.entries(environment).filter(([, value]) => value !== undefined && value !== ''),
  );
  const result = schema.safeParse(set);
  const refused = refuse(set);
  if (result.success && refused.length === 0) return result.data;
  const mistakes = result.error?.issues.map(({ path, message }) => `${path.join('.')}: ${message}`) ?? [];
  throw new SettingsError([...mistakes, ...refused]);
}

/** `true` or `false`, nothing else. */
export function flag(fallback: boolean): z.ZodType<boolean> {
  return z
    .enum(['true', 'false'], 'must be true or false')
    .transform((text) => text === 'true')
    .default(fallback);
}

/** A whole number from `min` to `max`, written in digits. */
export function integer(fallback: number, min: number, max: number): z.ZodType<number> {
  return z
    .string()
    .regex(/^-?\d+$/, 'must be a whole number')
    .transform(Number)
    .refine((value) => value >= min && value <= max, `must be from ${min} to ${max}`)
    .default(fallback);
}

/** Comma-separated, blanks trimmed, at least one entry. */
export function list(): z.ZodType<string[]> {
  return z
    .string('is needed')
    .transform((text) =>
      text
        .split(',')
        .map((part) => part.trim())
        .filter((part) => part !== ''),
    )
    .refine((parts) => parts.length > 0, 'must name at least one');
}

/** The shop's days, for the API, the worker and the command line. */
export const businessDaySettings = {
  /** The zone of the shop, as the IANA names it. */
  BUSINESS_TIMEZONE: z.string().refine(isTimeZone, 'must be an IANA time zone, such as Asia/Bangkok').default('UTC'),
  /** When a business day begins, on the zone's clock. */
  BUSINESS_DAY_START: z.string().refine(isTimeOfDay, 'must be HH:MM, from 00:00 to 23:59').default('00:00'),
};

export type BusinessDaySettings = { readonly BUSINESS_TIMEZONE: string; readonly BUSINESS_DAY_START: string };

export function businessDayRule(settings: BusinessDaySettings): BusinessDayRule {
  return { timeZone: settings.BUSINESS_TIMEZONE, start: settings.BUSINESS_DAY_START };
}

/** On this queue, schedules and singleton workflows have names without the queue. */
export const DEFAULT_TASK_QUEUE = 'tillflow';

/**
 * How the API, the worker and the command line connect to Temporal (self-hosted, or Temporal Cloud with mTLS or an API
 * key) and decrypt its payloads.
 */
export const temporalSettings = {
  TEMPORAL_ADDRESS: z
    .string()
    .regex(/^[^\s/]+:\d{1,5}$/, 'must be host:port')
    .refine((address) => Number(address.slice(address.lastIndexOf(':') + 1)) <= 65_535, 'must be host:port')
    .default('127.0.0.1:7233'),
  TEMPORAL_NAMESPACE: z.string().default('default'),
  /** The queue of every workflow and activity of Tillflow. */
  TEMPORAL_TASK_QUEUE: z
    .string()
    // It becomes part of search queries.
    .regex(/^[^'"\\]{1,200}$/, 'must be 1 to 200 characters, no quotes and no backslashes')
    .default(DEFAULT_TASK_QUEUE),
  TEMPORAL_TLS: flag(false),
  TEMPORAL_TLS_CA_PATH: z.string().optional(),
  TEMPORAL_TLS_CERT_PATH: z.string().optional(),
  TEMPORAL_TLS_KEY_PATH: z.string().optional(),
  TEMPORAL_TLS_SERVER_NAME: z.string().optional(),
  TEMPORAL_API_KEY: z.string().optional(),
  /** Unset: Temporal stores payloads unencrypted. */
  PAYLOAD_KEYS: payloadKeys.optional(),
};

const temporalSchema = z.object(temporalSettings);

export type TemporalSettings = z.output<typeof temporalSchema>;
