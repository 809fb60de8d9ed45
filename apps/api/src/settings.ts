import { tmpdir } from 'node:os';
import {
  accountSettings,
  keySettings,
  eventNetworks,
  flag,
  integer,
  list,
  readSettings,
  temporalSettings,
  traceSettings,
  unsafeWithLiveKey,
} from '@tillflow/temporal';
import { DEFAULT_POLICY, type CheckoutPolicy } from '@tillflow/workflows';
import { z } from 'zod';
import { trustProxy } from './edge/client-address.js';
import { isImageHost } from './checkouts/image-hosts.js';
import type { Places } from './temporal/temporal.provider.js';

const DAY_MS = 86_400_000;
const HTTP_URL = z.url({ protocol: /^https?$/ });

const schema = z.object({
  ...temporalSettings,
  ...accountSettings,
  ...traceSettings,
  PORT: integer(3000, 0, 65_535),
  HOST: z.string().default('127.0.0.1'),
  /** The address at which tills and browsers reach the API. The API writes it into links. */
  PUBLIC_URL: z
    .url({ protocol: /^https?$/, error: 'must be an http(s) address' })
    .transform((url) => url.replace(/\/+$/, ''))
    .optional(),
  ...keySettings,
  /** Signs links, cursors and codec addresses. Several, comma-separated: the first signs, all verify. */
  URL_SIGNING_KEY: list().refine(
    (secrets) => secrets.every(({ length }) => length >= 32),
    'each must have at least 32 characters',
  ),
  /** Hosts from which the API may fetch QR images. Unset: the provider's own hosts (`ImageHosts`). */
  QR_IMAGE_HOSTS: list()
    .refine((hosts) => hosts.every(isImageHost), 'each must be host or host:port')
    .optional(),
  /** How many processes share `PROVIDER_REQUESTS_PER_SECOND`. Each gets an equal part. */
  PROVIDER_PROCESSES: integer(1, 1, 1_000),
  /** The addresses of the Temporal UI, whose pages may call the codec. Comma-separated. */
  TEMPORAL_UI_URL: list()
    .refine((urls) => urls.every((url) => HTTP_URL.safeParse(url).success), 'must be http(s) addresses')
    .transform((urls) => urls.map((url) => new URL(url).origin))
    .default([]),
  /** As the worker's: the networks that events may go to, besides public addresses. */
  EVENT_ENDPOINT_NETWORKS: eventNetworks,
  BODY_LIMIT_BYTES: integer(131_072, 1_024, 10_485_760),
  /** Where evidence is stored on its way to the provider: up to 100 MB for each of four requests at a time. */
  SPOOL_DIR: z.string().default(tmpdir()),
  /** The proxies whose `X-Forwarded-For` the API trusts. Unset: none. */
  TRUST_PROXY: trustProxy.optional(),
  /** Requests per second for each key; with signed links, for each address. */
  RATE_LIMIT: integer(500, 1, 100_000),
  /**
   * Requests without a known key, webhooks with a wrong signature, and requests with the links of one checkout: each
   * per second and address.
   */
  OPEN_RATE_LIMIT: integer(50, 1, 100_000),
  /**
   * How long the headers and the body of a request may take to arrive (evidence has the time of an upload), and how
   * long an answer may stay unread.
   */
  REQUEST_TIMEOUT_MS: integer(30_000, 100, 3_600_000),
  /** Whether `/docs` and `/openapi.json` are served. */
  DOCS_OPEN: flag(true),
  /** Whether `/metrics` is open to everyone who reaches the port. */
  METRICS_OPEN: flag(false),
  /** The API reads business metrics from Temporal at most this often. */
  METRICS_REFRESH_MS: integer(15_000, 100, 3_600_000),
  /**
   * How long a request may take. Less than the limit of a proxy: when the provider is slow, the API answers 202 before.
   */
  ANSWER_WITHIN_MS: integer(3_500, 100, 60_000),
  /**
   * Checkouts that this process starts at the same time, and as many that it changes. Other requests wait for a place,
   * or get 503. One that starts keeps its place until its QR code is there, or until it only waits for a slow provider.
   * So 32 places serve 240 a second where a QR code takes 130 ms, and 12 a second where Temporal is so slow that it takes
   * 2.6 s, which is still within `ANSWER_WITHIN_MS`.
   */
  TEMPORAL_MAX_WRITES: integer(32, 1, 10_000),
  /** The same for reads of one checkout. */
  TEMPORAL_MAX_READS: integer(32, 1, 10_000),
  /** The same for pages of the list of checkouts. */
  TEMPORAL_MAX_LISTS: integer(4, 1, 10_000),
  /** The same for webhooks. The provider sends a webhook again that gets 503. */
  TEMPORAL_MAX_HINTS: integer(64, 1, 10_000),
  /**
   * The longest time between two polls of a checkout that a stream or a waiting request follows. The first are 1 s
   * apart.
   */
  STREAM_POLL_MS: integer(5_000, 10, 60_000),
  STREAM_HEARTBEAT_MS: integer(15_000, 10, 300_000),
  /** The limit of open event streams in this process. `Places` divides it. */
  STREAM_LIMIT: integer(1_000, 1, 100_000),
  /** The limit of requests that wait for a change in this process. Each key may have half of them. */
  WAIT_LIMIT: integer(2_000, 1, 100_000),
  /** Origins whose pages may read event streams and QR images with a signed link. */
  CORS_ORIGINS: list()
    .refine(
      (origins) => origins.every(isOrigin),
      'each must be scheme, host and port only, such as https://till.example',
    )
    .default([]),
  SEND_WITHIN_MS: integer(DEFAULT_POLICY.sendWithinMs, 100, DAY_MS),
  CALL_DEADLINE_MS: integer(DEFAULT_POLICY.callDeadlineMs, 100, DAY_MS),
  /** A worker that sends no heartbeat for this long during a mutating request counts as dead. */
  HEARTBEAT_TIMEOUT_MS: integer(DEFAULT_POLICY.heartbeatMs, 500, 600_000),
  SETTLE_DELAY_MS: integer(DEFAULT_POLICY.settleMs, 0, DAY_MS),
  LOOK_DELAYS_MS: list()
    .refine((parts) => parts.every((part) => /^\d{1,9}$/.test(part)), 'must be whole numbers, comma-separated')
    .transform((parts) => parts.map(Number))
    .default([...DEFAULT_POLICY.lookupDelaysMs]),
  ATTENTION_AFTER_MS: integer(DEFAULT_POLICY.attentionAfterMs, 10, DAY_MS),
  SECOND_LOOK_MS: integer(DEFAULT_POLICY.lateEffectCheckMs, 0, DAY_MS),
  /** Paid checkouts continue as aftercare within this time after the void cut-off, each at its own time. */
  AFTERCARE_SPREAD_MS: integer(DEFAULT_POLICY.aftercareSpreadMs, 0, DAY_MS),
  LOG_LEVEL: z.enum(['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent']).default('info'),
});

export type ApiSettings = z.output<typeof schema>;

/** The names of all settings that the API reads. */
export const API_SETTINGS: readonly string[] = Object.keys(schema.shape);

/** @throws {SettingsError} with every mistake, and with every setting that is unsafe with a live key. */
export function apiSettings(environment: Readonly<Record<string, string | undefined>>): ApiSettings {
  return readSettings(schema, environment, (given) => [
    ...(given['API_KEYS'] === undefined && given['KEYS_FILE'] === undefined
      ? ['API_KEYS: is needed, or KEYS_FILE']
      : []),
    ...unsafeWithLiveKey(given),
  ]);
}

/**
 * The calls for streams and metrics. Starts of checkouts add as many as there are writes, because each reads until its
 * QR code is there.
 */
const BACKGROUND_PLACES = 8;

export function placesIn(settings: ApiSettings): Places {
  return {
    write: settings.TEMPORAL_MAX_WRITES,
    // Apart from the starts: a cancel waits for the provider, and while it is slow, tills must still be able to sell.
    change: settings.TEMPORAL_MAX_WRITES,
    read: settings.TEMPORAL_MAX_READS,
    list: settings.TEMPORAL_MAX_LISTS,
    hint: settings.TEMPORAL_MAX_HINTS,
    background: BACKGROUND_PLACES + settings.TEMPORAL_MAX_WRITES,
  };
}

function isOrigin(text: string): boolean {
  return URL.canParse(text) && /^https?:/.test(text) && new URL(text).origin === text;
}

/**
 * The policy of new checkouts: only the values that differ from the workflow's defaults.
 * @param hasTail whether the event tail is reliable, so that checkouts can poll less often.
 */
export function checkoutPolicy(
  settings: ApiSettings,
  { hasTail }: { readonly hasTail: boolean } = { hasTail: false },
): Partial<CheckoutPolicy> {
  const { POLL_INTERVAL_MS: own, RELAXED_POLL_INTERVAL_MS: relaxed } = settings;
  const chosen = {
    sendWithinMs: settings.SEND_WITHIN_MS,
    callDeadlineMs: settings.CALL_DEADLINE_MS,
    heartbeatMs: settings.HEARTBEAT_TIMEOUT_MS,
    settleMs: settings.SETTLE_DELAY_MS,
    lookupDelaysMs: settings.LOOK_DELAYS_MS,
    pollIntervalMs: hasTail ? Math.max(own, relaxed) : own,
    attentionAfterMs: settings.ATTENTION_AFTER_MS,
    unpaidGraceMs: settings.UNPAID_GRACE_MS,
    latePayment: settings.LATE_PAYMENT,
    lateEffectCheckMs: settings.SECOND_LOOK_MS,
    voidDateOffsetMinutes: settings.VOID_DATE_OFFSET_MINUTES,
    aftercareSpreadMs: settings.AFTERCARE_SPREAD_MS,
  };
  const defaults: Readonly<Record<string, unknown>> = DEFAULT_POLICY;
  return Object.fromEntries(
    Object.entries(chosen).filter(([name, value]) => JSON.stringify(value) !== JSON.stringify(defaults[name])),
  );
}
