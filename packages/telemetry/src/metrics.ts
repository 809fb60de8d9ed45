import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { REQUEST_CHANNEL, type RequestReport } from '@tillflow/payments-client';
import { collectDefaultMetrics, Counter, Gauge, Histogram, Registry } from 'prom-client';

/** A new registry with the metrics of this process: memory, CPU and the lag of its event loop. */
export function processMetrics(): Registry {
  const registry = new Registry();
  // The default of 10 ms costs an idle process noticeable CPU.
  collectDefaultMetrics({ register: registry, eventLoopMonitoringPrecision: 100 });
  return registry;
}

/** @param read the number of mistakes in each settings file that is read again when it changes, by the name of its setting */
export function showFileMistakes(registry: Registry, read: () => Readonly<Record<string, number>>): void {
  const gauge = new Gauge({
    name: 'tillflow_settings_file_mistakes',
    help: 'Mistakes in a settings file that has changed. Above 0, its last good content stays in force.',
    labelNames: ['file'],
    registers: [],
    collect() {
      for (const [file, count] of Object.entries(read())) this.set({ file }, count);
    },
  });
  registry.registerMetric(gauge);
}

/** Seconds. A call may take as long as its deadline, 30 s. */
const DURATIONS = [0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30];

/**
 * Counts this process's calls to the provider. Labels are the account, the route's template and the outcome, never an id.
 * @param only the account whose calls count; absent: all of them, each with its account
 * @returns a function that stops the counting
 */
export function countProviderCalls(registry: Registry, only?: string): () => void {
  const calls = new Counter({
    name: 'tillflow_provider_calls_total',
    help: 'Calls to the provider by outcome: done, rejected, not_sent or unknown.',
    labelNames: ['account', 'method', 'route', 'outcome'],
    registers: [registry],
  });
  const requests = new Counter({
    name: 'tillflow_provider_requests_total',
    help: 'Requests sent for these calls, retries included.',
    labelNames: ['account', 'method', 'route'],
    registers: [registry],
  });
  const durations = new Histogram({
    name: 'tillflow_provider_call_duration_seconds',
    help: 'From call to answer, waits between attempts included.',
    labelNames: ['account', 'method', 'route'],
    buckets: DURATIONS,
    registers: [registry],
  });
  const listener = (message: unknown): void => {
    // Only the client publishes on this channel.
    const { client: account = 'default', method, route, outcome, attempts, durationMs } = message as RequestReport;
    if (only !== undefined && only !== account) return;
    calls.inc({ account, method, route, outcome });
    requests.inc({ account, method, route }, attempts);
    durations.observe({ account, method, route }, durationMs / 1_000);
  };
  subscribe(REQUEST_CHANNEL, listener);
  return () => unsubscribe(REQUEST_CHANNEL, listener);
}
