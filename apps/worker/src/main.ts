import { DefaultLogger, Runtime } from '@temporalio/worker';
import { countProviderCalls, processMetrics, programLogger } from '@tillflow/telemetry';
import { SettingsError } from '@tillflow/temporal';
import type { Logger } from 'pino';
import { serveHealth } from './health.js';
import { workerSettings, type WorkerSettings } from './settings.js';
import { startWorker } from './worker.js';

async function main(): Promise<void> {
  const settings = workerSettings(process.env);
  const logger = programLogger('worker', settings.LOG_LEVEL);
  installRuntime(logger, settings);
  const registry = processMetrics();
  countProviderCalls(registry);
  const worker = await startWorker(settings, logger);
  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    process.once(signal, () => {
      logger.info({ signal }, 'stopping');
      void worker.stop();
    });
  }
  const health =
    settings.WORKER_HEALTH_PORT === 0
      ? undefined
      : await serveHealth(settings.WORKER_HEALTH_PORT, { isReady: () => worker.isReady(), registry });
  process.stdout.write(`worker ready ${settings.TEMPORAL_ADDRESS} ${settings.TEMPORAL_NAMESPACE}\n`);
  try {
    await worker.stopped;
  } finally {
    health?.close();
  }
}

/** Temporal's own log lines in the form of ours, and its metrics. Signals are handled here, not by the runtime. */
function installRuntime(logger: Logger, { WORKER_SDK_METRICS_PORT: port }: WorkerSettings): void {
  Runtime.install({
    shutdownSignals: [],
    ...(port === 0
      ? {}
      : { telemetryOptions: { metrics: { prometheus: { ...METRIC_NAMES, bindAddress: `0.0.0.0:${port}` } } } }),
    logger: new DefaultLogger('INFO', ({ level, message, meta }) => {
      const { error, ...fields } = meta ?? {};
      logger[LEVELS[level]]({ ...fields, ...(error === undefined ? {} : { err: error }) }, message);
    }),
  });
}

/** As Prometheus wants them: base units, and counters that say so. */
const METRIC_NAMES = { countersTotalSuffix: true, unitSuffix: true, useSecondsForDurations: true } as const;

const LEVELS = { TRACE: 'trace', DEBUG: 'debug', INFO: 'info', WARN: 'warn', ERROR: 'error' } as const;

try {
  await main();
} catch (error) {
  process.stderr.write(`${error instanceof SettingsError ? error.message : String(error)}\n`);
  // The engine's own threads would keep a worker that never started alive.
  process.exit(error instanceof SettingsError ? 2 : 1);
}
