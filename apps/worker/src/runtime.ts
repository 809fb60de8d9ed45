import { DefaultLogger, Runtime } from '@temporalio/worker';
import type { Logger } from 'pino';
import type { WorkerSettings } from './settings.js';

/**
 * Temporal's own log lines in the form of ours, those of its native part too, and its metrics. Signals are handled by the
 * program, not by the runtime. The library remembers these options when it starts its runtime anew.
 */
export function installRuntime(
  logger: Logger,
  { WORKER_HOST: host, WORKER_SDK_METRICS_PORT: port }: Pick<WorkerSettings, 'WORKER_HOST' | 'WORKER_SDK_METRICS_PORT'>,
): void {
  const bindAddress = `${host.includes(':') ? `[${host}]` : host}:${port}`;
  Runtime.install({
    shutdownSignals: [],
    telemetryOptions: {
      logging: { forward: {} },
      ...(port === 0 ? {} : { metrics: { prometheus: { ...METRIC_NAMES, bindAddress } } }),
    },
    logger: new DefaultLogger('INFO', ({ level, message, meta }) => {
      const { error, ...fields } = meta ?? {};
      logger[LEVELS[level]]({ ...fields, ...(error === undefined ? {} : { err: error }) }, message);
    }),
  });
}

/** As Prometheus wants them: base units, and counters that say so. */
const METRIC_NAMES = { countersTotalSuffix: true, unitSuffix: true, useSecondsForDurations: true } as const;

const LEVELS = { TRACE: 'trace', DEBUG: 'debug', INFO: 'info', WARN: 'warn', ERROR: 'error' } as const;
