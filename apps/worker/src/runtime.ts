import { DefaultLogger, Runtime } from '@temporalio/worker';
import type { Logger } from 'pino';
import type { WorkerSettings } from './settings.js';

/**
 * Writes Temporal's log lines, including those of its native part, in Tillflow's form, and exports its metrics. The
 * program handles signals itself. The library keeps these options when it restarts its runtime.
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

/** Prometheus conventions: base units, and the suffix of counters. */
const METRIC_NAMES = { countersTotalSuffix: true, unitSuffix: true, useSecondsForDurations: true } as const;

const LEVELS = { TRACE: 'trace', DEBUG: 'debug', INFO: 'info', WARN: 'warn', ERROR: 'error' } as const;
