import { NativeConnection, Worker } from '@temporalio/worker';
import { PaymentsClient } from '@tillflow/payments-client';
import { connectionSettings } from '@tillflow/temporal';
import type { Logger } from 'pino';
import { paymentActivities } from './activities/payments.js';
import { BUNDLE_PATH } from './bundle.js';
import type { WorkerSettings } from './settings.js';

/** How long a task waits for the worker that knows its workflow before any worker may take it, when that one died. */
const STICKY_TIMEOUT_MS = 3_000;

export type RunningWorker = {
  /** Settles when the worker has stopped; rejects when it broke. */
  readonly stopped: Promise<void>;
  /** Whether it takes tasks. */
  isRunning(): boolean;
  /** Takes no more tasks, finishes what is in flight, closes its connections. */
  stop(): Promise<void>;
};

/** Starts a worker for all workflows and activities of the product. @throws when Temporal cannot be reached. */
export async function startWorker(settings: WorkerSettings, logger: Logger): Promise<RunningWorker> {
  const client = new PaymentsClient({
    baseUrl: settings.PROVIDER_BASE_URL,
    secretKey: settings.PROVIDER_SECRET_KEY,
    logger,
    ...(settings.PROVIDER_API_VERSION === undefined ? {} : { apiVersion: settings.PROVIDER_API_VERSION }),
  });
  const connection = await NativeConnection.connect(await connectionSettings(settings));
  const worker = await Worker.create({
    connection,
    namespace: settings.TEMPORAL_NAMESPACE,
    taskQueue: settings.TEMPORAL_TASK_QUEUE,
    workflowBundle: { codePath: BUNDLE_PATH },
    activities: paymentActivities(client),
    shutdownGraceTime: settings.SHUTDOWN_GRACE_MS,
    stickyQueueScheduleToStartTimeout: STICKY_TIMEOUT_MS,
    maxCachedWorkflows: settings.MAX_CACHED_WORKFLOWS,
    ...(settings.PROVIDER_REQUESTS_PER_SECOND === 0
      ? {}
      : { maxTaskQueueActivitiesPerSecond: settings.PROVIDER_REQUESTS_PER_SECOND }),
  });
  const stopped = run(worker, connection, client);
  return {
    stopped,
    isRunning: () => worker.getState() === 'RUNNING',
    async stop() {
      if (worker.getState() === 'RUNNING') worker.shutdown();
      await stopped;
    },
  };
}

async function run(worker: Worker, connection: NativeConnection, client: PaymentsClient): Promise<void> {
  try {
    await worker.run();
  } finally {
    await connection.close();
    await client.close();
  }
}
