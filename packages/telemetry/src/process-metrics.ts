import { collectDefaultMetrics, Registry } from 'prom-client';

/** A program's own registry, with what Node says of the process: memory, CPU, how far its event loop lags. */
export function processMetrics(): Registry {
  const registry = new Registry();
  // Every 10 ms by default, which is felt by a process that has little to do.
  collectDefaultMetrics({ register: registry, eventLoopMonitoringPrecision: 100 });
  return registry;
}
