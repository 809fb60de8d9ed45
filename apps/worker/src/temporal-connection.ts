import { hostname } from 'node:os';
import { NativeConnection, TransportError } from '@temporalio/worker';
import {
  connectionSettings,
  isTemporalFailure,
  retryUntilDone,
  whyUnreachable,
  within,
  type RetryOptions,
  type Temporal,
} from '@tillflow/temporal';
import type { Logger } from 'pino';
import { Clocks } from './clocks/clocks.js';
import type { WorkerSettings } from './settings.js';

const REACH_WITHIN_MS = 3_000;
/**
 * A checkout is stored in its memo. Its limits bound the memo, which is larger than Temporal's default warning allows.
 */
const MEMO_WARN_BYTES = 65_536;

/** Retries the connection to Temporal until a signal ends it. */
export type StartRetries = Pick<RetryOptions, 'signal'> & {
  /** @param why for people: the problem, and the settings to check */
  readonly failed: (why: string, pauseMs: number) => void;
};

/** A worker's connection to Temporal, before it takes work. */
export type Connected = {
  readonly connection: NativeConnection;
  readonly clocks: Clocks;
  /** Identifies this worker in Temporal and in `tillflow doctor`. */
  readonly identity: string;
};

/** Repeats `work` while Temporal cannot be reached; without `retries` it tries once. */
export function withRetries<T>(
  retries: StartRetries | undefined,
  { lastFailure }: Pick<Temporal, 'lastFailure'>,
  settings: WorkerSettings,
  work: () => Promise<T>,
): Promise<T> {
  if (retries === undefined) return work();
  const failed = (error: unknown, pauseMs: number): void =>
    retries.failed(whyUnreachable(error, settings, lastFailure()), pauseMs);
  return retryUntilDone(work, { signal: retries.signal, isRetryable, failed });
}

/** @throws Temporal's own errors, and SettingsError when certificates cannot be read */
export async function connect(temporal: Temporal, settings: WorkerSettings, logger: Logger): Promise<Connected> {
  const { TEMPORAL_NAMESPACE: namespace } = settings;
  const identity = `${process.pid}@${hostname()}`;
  // This call fails soon and says why. The library that connects workers does neither.
  await within(temporal.connection, REACH_WITHIN_MS, () =>
    temporal.connection.workflowService.describeNamespace({ namespace }),
  );
  const clocks = await Clocks.begin(temporal, identity, settings, logger);
  try {
    const connection = await NativeConnection.connect({
      ...(await connectionSettings(settings)),
      payloadLimits: { memoWarnSize: MEMO_WARN_BYTES },
      // The default is gzip, which costs CPU on both sides: docs/production.md.
      grpcCompression: { codec: 'none' },
    });
    return { connection, clocks, identity };
  } catch (error) {
    await clocks.end();
    throw error;
  }
}

/** Temporal or the network failed. Wrong settings and bugs are not retryable. */
function isRetryable(error: unknown): boolean {
  return isTemporalFailure(error) || error instanceof TransportError;
}
