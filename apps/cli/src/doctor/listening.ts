import type { ProviderSettings } from '../settings.js';
import type { Check } from './finding.js';

const ALL_INTERFACES: ReadonlySet<string> = new Set(['0.0.0.0', '::', '[::]', '*']);

type WorkerPorts = Pick<ProviderSettings, 'WORKER_HOST' | 'WORKER_HEALTH_PORT' | 'WORKER_SDK_METRICS_PORT'>;

/** Whether workers with these settings answer on addresses that nobody chose. */
export function checkListening({ WORKER_HOST: host, WORKER_HEALTH_PORT, WORKER_SDK_METRICS_PORT }: WorkerPorts): Check {
  const ports = Object.entries({ WORKER_HEALTH_PORT, WORKER_SDK_METRICS_PORT }).filter(([, port]) => port > 0);
  const seen = ports.length === 0 ? 'no port of a worker' : ports.map(([, port]) => `${host}:${port}`).join(', ');
  if (ports.length === 0 || !ALL_INTERFACES.has(host)) return { area: 'ports', findings: [], seen };
  const finding = {
    code: 'worker_ports_open',
    what: `workers answer on all interfaces (WORKER_HOST=${host}): ${ports.map(([name, port]) => `${name} ${port}`).join(', ')}`,
    means: 'Whoever reaches the machine reads the health and the metrics of its worker. They hold no id and no secret.',
    remedy:
      'Set WORKER_HOST to the one address that Prometheus comes to, or unset it: 127.0.0.1. In a container, publish no such port.',
  };
  return { area: 'ports', findings: [finding], seen };
}
