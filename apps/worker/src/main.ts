import { DefaultLogger, Runtime } from '@temporalio/worker';
import { SettingsError } from '@tillflow/temporal';
import { pino, type Logger } from 'pino';
import { serveHealth } from './health.js';
import { workerSettings } from './settings.js';
import { startWorker } from './worker.js';

async function main(): Promise<void> {
  const settings = workerSettings(process.env);
  const logger = pino({ name: 'worker', level: settings.LOG_LEVEL });
  installRuntime(logger);
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
      : await serveHealth(settings.WORKER_HEALTH_PORT, () => worker.isReady());
  process.stdout.write(`worker ready ${settings.TEMPORAL_ADDRESS} ${settings.TEMPORAL_NAMESPACE}\n`);
  try {
    await worker.stopped;
  } finally {
    health?.close();
  }
}

/** Temporal's own log lines in the form of ours. Signals are handled here, not by the runtime. */
function installRuntime(logger: Logger): void {
  Runtime.install({
    shutdownSignals: [],
    logger: new DefaultLogger('INFO', ({ level, message, meta }) => {
      const { error, ...fields } = meta ?? {};
      logger[LEVELS[level]]({ ...fields, ...(error === undefined ? {} : { err: error }) }, message);
    }),
  });
}

const LEVELS = { TRACE: 'trace', DEBUG: 'debug', INFO: 'info', WARN: 'warn', ERROR: 'error' } as const;

try {
  await main();
} catch (error) {
  process.stderr.write(`${error instanceof SettingsError ? error.message : String(error)}\n`);
  // The engine's own threads would keep a worker that never started alive.
  process.exit(error instanceof SettingsError ? 2 : 1);
}
