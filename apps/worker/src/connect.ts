import { hostname } from 'node:os';
import { NativeConnection, TransportError } from '@temporalio/worker';
import {
  connectionSettings,
  isTemporalFailure,
  persist,
  whyUnreachable,
  within,
  type Patience,
  type Temporal,
} from '@tillflow/temporal';
import type { Logger } from 'pino';
import { Clocks } from './clocks/clocks.js';
import type { WorkerSettings } from './settings.js';

const REACH_WITHIN_MS = 3_000;
/** A checkout is kept in its memo: bounded by the book's limits, and larger than what the engine expects of a memo. */
const MEMO_WARN_BYTES = 65_536;

/** What tries again to reach Temporal, and until when. */
export type StartPatience = Pick<Patience, 'signal'> & {
  /** @param why for a person: what is wrong, and what to set. */
  readonly failed: (why: string, pauseMs: number) => void;
};

/** What a worker has of Temporal before it takes work. */
export type Connected = {
  readonly connection: NativeConnection;
  readonly clocks: Clocks;
  /** By which this worker is known to Temporal, and to `tillflow doctor`. */
  readonly identity: string;
};

/** Tries until Temporal does what it is asked; once, where there is no patience. */
export function patiently<T>(
  patience: StartPatience | undefined,
  { lastFailure }: Pick<Temporal, 'lastFailure'>,
  settings: WorkerSettings,
  work: () => Promise<T>,
): Promise<T> {
  if (patience === undefined) return work();
  const failed = (error: unknown, pauseMs: number): void =>
    patience.failed(whyUnreachable(error, settings, lastFailure()), pauseMs);
  return persist(work, { signal: patience.signal, isRetryable, failed });
}

/** @throws Temporal's own errors, and SettingsError where certificates cannot be read. */
export async function connect(temporal: Temporal, settings: WorkerSettings, logger: Logger): Promise<Connected> {
  const { TEMPORAL_NAMESPACE: namespace } = settings;
  const identity = `${process.pid}@${hostname()}`;
  // It says what is wrong, and soon; the library that workers connect by does neither.
  await within(temporal.connection, REACH_WITHIN_MS, () =>
    temporal.connection.workflowService.describeNamespace({ namespace }),
  );
  const clocks = await Clocks.begin(temporal, identity, settings, logger);
  try {
    const connection = await NativeConnection.connect({
      ...(await connectionSettings(settings)),
      payloadLimits: { memoWarnSize: MEMO_WARN_BYTES },
    });
    return { connection, clocks, identity };
  } catch (error) {
    await clocks.end();
    throw error;
  }
}

/** It is Temporal's, or the way's there: wrong settings and defects stay what they are. */
function isRetryable(error: unknown): boolean {
  return isTemporalFailure(error) || error instanceof TransportError;
}
