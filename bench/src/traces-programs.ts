import { apiSettings, startApi } from '@tillflow/api';
import { programLogger } from '@tillflow/telemetry';
import { startWorker, workerSettings } from '@tillflow/worker';
import { DefaultLogger, Runtime } from '@temporalio/worker';

// A program of `pnpm bench traces`: an API and a worker with traces, and another API and worker without, in one process.

type Environment = Readonly<Record<string, string | undefined>>;

/** FIRST: `with` or `without` traces, the side that starts first. */
const { OTEL_EXPORTER_OTLP_ENDPOINT: endpoint, FIRST: first, ...environment } = process.env;
const logger = programLogger('bench', 'info');

/** @returns the address of the API */
async function start(queue: string, traces: Environment): Promise<string> {
  const values = { ...environment, ...traces, TEMPORAL_TASK_QUEUE: queue };
  await startWorker(workerSettings(values), logger);
  return (await startApi(apiSettings(values), logger)).url;
}

Runtime.install({ shutdownSignals: [], logger: new DefaultLogger('ERROR') });
const sides = { with: { OTEL_EXPORTER_OTLP_ENDPOINT: endpoint }, without: {} } as const;
const order = first === 'with' ? (['with', 'without'] as const) : (['without', 'with'] as const);
const addresses = { with: '', without: '' };
for (const side of order) addresses[side] = await start(`${side}-traces`, sides[side]);
process.stdout.write(`programs ready ${addresses.with},${addresses.without}\n`);
