import { collectDefaultMetrics, Registry } from 'prom-client';

/** A program's own registry, with what Node says of the process: memory, CPU, how far its event loop lags. */
export function processMetrics(): Registry {
  const registry = new Registry();
  collectDefaultMetrics({ register: registry });
  return registry;
}
