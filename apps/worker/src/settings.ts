import {
  accountSettings,
  eventNetworks,
  flag,
  integer,
  keySettings,
  readSettings,
  temporalSettings,
  traceSettings,
  unsafeWithLiveKey,
} from '@tillflow/temporal';
import { z } from 'zod';

const schema = z.object({
  ...temporalSettings,
  ...accountSettings,
  ...keySettings,
  ...traceSettings,
  /** Only the API needs them. */
  PROVIDER_WEBHOOK_SECRET: accountSettings.PROVIDER_WEBHOOK_SECRET.optional(),
  /** How many processes share `PROVIDER_REQUESTS_PER_SECOND`. Each gets an equal part. */
  PROVIDER_PROCESSES: integer(1, 1, 1_000),
  /** The pause between two passes of the event tail. */
  EVENT_TAIL_INTERVAL_MS: integer(15_000, 100, 3_600_000),
  /** A pass of the event tail begins this long before the watermark, for events that the provider lists late. */
  EVENT_TAIL_OVERLAP_MS: integer(60_000, 0, 86_400_000),
  /** How far back the first event tail begins. */
  EVENT_TAIL_LOOKBACK_MS: integer(86_400_000, 0, 31 * 86_400_000),
  /** The networks that events may go to, besides public addresses. */
  EVENT_ENDPOINT_NETWORKS: eventNetworks,
  /** How long a stopping worker waits for calls in flight; above the longest activity. */
  SHUTDOWN_GRACE_MS: integer(30_000, 0, 600_000),
  /** A worker whose clock is further than this from Temporal's takes no work. */
  MAX_CLOCK_OFFSET_MS: integer(30_000, 1_000, 86_400_000),
  /**
   * The address of the health and metrics ports; 0.0.0.0: all addresses of this machine. They expose no id and no
   * secret.
   */
  WORKER_HOST: z.string().default('127.0.0.1'),
  /** The port of `/health/live`, `/health/ready` and `/metrics`; unset: none. */
  WORKER_HEALTH_PORT: integer(0, 0, 65_535),
  /** The port of the metrics of Temporal's own library, at `/metrics`; unset: none. */
  WORKER_SDK_METRICS_PORT: integer(0, 0, 65_535),
  /** Identifies the version of the code for Temporal's worker versioning; unset: unversioned. */
  WORKER_BUILD_ID: z
    .string()
    .regex(/^[A-Za-z0-9._+-]{1,128}$/, 'must be 1 to 128 of A-Z a-z 0-9 . _ + -')
    .optional(),
  /** The deployment of the builds. Unique in a namespace: two stages in one namespace need two names. */
  WORKER_DEPLOYMENT: z
    .string()
    .regex(/^[A-Za-z0-9_-]{1,128}$/, 'must be 1 to 128 of A-Z a-z 0-9 _ -')
    .default('tillflow'),
  /** Whether a new build takes over automatically when its worker starts. */
  WORKER_MAKE_CURRENT: flag(true),
  LOG_LEVEL: z.enum(['trace', 'debug', 'info', 'warn', 'error', 'fatal']).default('info'),
});

export type WorkerSettings = z.output<typeof schema>;

/** The names of all settings that the worker reads. */
export const WORKER_SETTINGS: readonly string[] = Object.keys(schema.shape);

/** @throws {SettingsError} with every mistake, and with every setting that is unsafe with a live key */
export function workerSettings(environment: NodeJS.ProcessEnv): WorkerSettings {
  return readSettings(schema, environment, unsafeWithLiveKey);
}
