import { NativeConnection, Worker } from '@temporalio/worker';
import { PaymentsClient } from '@tillflow/payments-client';
import { connectionSettings } from '@tillflow/temporal';
import type { Logger } from 'pino';
import { paymentActivities } from './activities/payments.js';
import { BUNDLE_PATH } from './bundle.js';
import type { WorkerSettings } from './settings.js';

/** Keys of test mode begin so. Source: assumption. */
const TEST_KEY = 'skey_test_';

/** How long a task waits for the worker that knows its workflow before any worker may take it, when that one died. */
const STICKY_TIMEOUT_MS = 3_000;

export type RunningWorker = {
  /** Settles when the worker has stopped; rejects when it broke. */
  readonly stopped: Promise<void>;
  /** Whether it takes tasks, from a Temporal that answers. */
  isReady(): Promise<boolean>;
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
  const close = async (): Promise<void> => {
    await connection.close();
    await client.close();
  };
  try {
    const worker = await Worker.create({
      connection,
      namespace: settings.TEMPORAL_NAMESPACE,
      taskQueue: settings.TEMPORAL_TASK_QUEUE,
      workflowBundle: { codePath: BUNDLE_PATH },
      activities: paymentActivities(client, !settings.PROVIDER_SECRET_KEY.startsWith(TEST_KEY)),
      shutdownGraceTime: settings.SHUTDOWN_GRACE_MS,
      stickyQueueScheduleToStartTimeout: STICKY_TIMEOUT_MS,
      maxCachedWorkflows: settings.MAX_CACHED_WORKFLOWS,
      ...(settings.PROVIDER_REQUESTS_PER_SECOND === 0
        ? {}
        : { maxTaskQueueActivitiesPerSecond: settings.PROVIDER_REQUESTS_PER_SECOND }),
    });
    const stopped = runThenClose(worker, close);
    return {
      stopped,
      isReady: async () => worker.getState() === 'RUNNING' && (await answers(connection, settings.TEMPORAL_NAMESPACE)),
      async stop() {
        if (worker.getState() === 'RUNNING') worker.shutdown();
        await stopped;
      },
    };
  } catch (error) {
    await close();
    throw error;
  }
}

async function runThenClose(worker: Worker, close: () => Promise<void>): Promise<void> {
  try {
    await worker.run();
  } finally {
    await close();
  }
}

const READY_WITHIN_MS = 1_000;

async function answers(connection: NativeConnection, namespace: string): Promise<boolean> {
  try {
    await connection.withDeadline(Date.now() + READY_WITHIN_MS, () =>
      connection.workflowService.describeNamespace({ namespace }),
    );
    return true;
  } catch {
    return false;
  }
}
