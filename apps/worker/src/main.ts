import { countProviderCalls, logReady, processMetrics, programLogger, showFileMistakes } from '@tillflow/telemetry';
import { Accounts, SettingsError } from '@tillflow/temporal';
import type { Logger } from 'pino';
import { countCheckouts } from './checkout/metrics.js';
import { measureClocks } from './clocks/clocks.js';
import { serveHealth, type State } from './health.js';
import { countDeliveries } from './outgoing-events/metrics.js';
import { installRuntime } from './runtime.js';
import { workerSettings, type WorkerSettings } from './settings.js';
import type { StartRetries } from './temporal-connection.js';
import type { RunningWorker } from './worker.js';
import { Workers } from './workers.js';

async function main(accounts: Accounts<WorkerSettings>, logger: Logger): Promise<void> {
  const { settings } = accounts.default;
  installRuntime(logger, settings);
  const stopping = stopOnSignal(logger);
  const registry = processMetrics();
  countProviderCalls(registry);
  countDeliveries(registry);
  countCheckouts(registry);
  let worker: RunningWorker | undefined;
  measureClocks(registry, () => worker?.clocks);
  const { WORKER_HOST: host, WORKER_HEALTH_PORT: port } = settings;
  const health = port === 0 ? undefined : await serveHealth(host, port, { state: () => stateOf(worker), registry });
  if (health !== undefined) logger.info({ url: health.url }, 'health and metrics are served');
  try {
    const workers = new Workers(accounts, logger, { retries: startRetries(logger, stopping) });
    showFileMistakes(registry, () => workers.fileMistakes);
    const opening = workers.begin();
    await Promise.race([opening, untilAborted(stopping)]);
    if (stopping.aborted) {
      opening.catch(() => undefined);
      // The worker of one account may take work already. Opening a connection cannot be aborted.
      await workers.stop();
      process.exit(0);
    }
    worker = workers;
    await run(worker, settings, logger, stopping);
  } finally {
    health?.close();
  }
}

async function run(worker: RunningWorker, settings: WorkerSettings, logger: Logger, stopping: AbortSignal) {
  // Ignores the error of the stop, because the waits below throw it.
  const end = (): Promise<void> => worker.stop().catch(() => undefined);
  void untilAborted(stopping).then(end);
  try {
    await worker.ready;
  } catch (error) {
    await end();
    // A signal came while the build was becoming current, which goes on for a while.
    if (stopping.aborted) process.exit(0);
    throw error;
  }
  if (!stopping.aborted) {
    const { TEMPORAL_ADDRESS: address, TEMPORAL_NAMESPACE: namespace } = settings;
    logReady(logger, { address, namespace });
  }
  await worker.stopped;
}

function stopOnSignal(logger: Logger): AbortSignal {
  const stopping = new AbortController();
  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    process.once(signal, () => {
      logger.info({ signal }, 'stopping');
      stopping.abort();
    });
  }
  return stopping.signal;
}

async function untilAborted(signal: AbortSignal): Promise<undefined> {
  if (!signal.aborted) await new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }));
}

/** Retries without limit: Temporal may start after its workers, and the namespace may be created after both. */
function startRetries(logger: Logger, signal: AbortSignal): StartRetries {
  return { signal, failed: (why, pauseMs) => logger.warn({ pause_ms: pauseMs }, `${why} The worker tries again.`) };
}

async function stateOf(worker: RunningWorker | undefined): Promise<State> {
  if (worker === undefined) return { status: 'temporal_unreachable', clock: null };
  const { isRight, maxOffsetMs, offsets } = worker.clocks;
  const round = (offset: number | null): number | null => (offset === null ? null : Math.round(offset));
  const clock = {
    temporal_offset_ms: Math.round(offsets.temporal),
    provider_offset_ms: round(offsets.provider),
    max_offset_ms: maxOffsetMs,
  };
  if (!isRight) return { status: 'clock_wrong', clock };
  if (!worker.isTakingWork) return { status: 'starting_or_stopping', clock };
  return { status: (await worker.isReady()) ? 'ok' : 'temporal_unreachable', clock };
}

let logger: Logger | undefined;
try {
  const accounts = new Accounts(process.env, workerSettings);
  logger = programLogger('worker', accounts.default.settings.LOG_LEVEL);
  await main(accounts, logger);
  // An export of spans that gets no answer must not keep the program running.
  process.exit();
} catch (error) {
  if (logger === undefined || error instanceof SettingsError) process.stderr.write(`${messageOf(error)}\n`);
  else logger.fatal({ err: error }, messageOf(error));
  // Temporal's native threads keep the process running even if the worker never started.
  process.exit(error instanceof SettingsError ? 2 : 1);
}

function messageOf(error: unknown): string {
  return error instanceof SettingsError ? error.message : String(error);
}
