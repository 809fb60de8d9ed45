import { NativeConnection, Worker, type WorkerDeploymentOptions } from '@temporalio/worker';
import { PaymentsClient } from '@tillflow/payments-client';
import {
  connectionSettings,
  dataConverter,
  isEncrypting,
  openTemporal,
  Seal,
  warnIfUnencrypted,
} from '@tillflow/temporal';
import type { Logger } from 'pino';
import { commandActivities } from './activities/commands.js';
import { correlated } from './activities/correlated.js';
import { paymentActivities } from './activities/payments.js';
import { reconciliationActivities } from './activities/reconciliation.js';
import { BUNDLE_PATH, ENCRYPTING_BUNDLE_PATH } from './bundle.js';
import { makeBuildCurrent } from './deployment.js';
import { eventTailActivities } from './event-tail/activities.js';
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

export type StartOptions = {
  /** Other workflow code than the product's, as `bundleWorkflows` makes it. */
  readonly bundlePath?: string;
};

/**
 * Starts a worker for all workflows and activities of the product. With a build id it is there only when it is known
 * which build gets the tasks.
 * @throws when Temporal cannot be reached, or the build cannot be made current.
 */
export async function startWorker(
  settings: WorkerSettings,
  logger: Logger,
  { bundlePath }: StartOptions = {},
): Promise<RunningWorker> {
  warnIfUnencrypted(settings, logger);
  const client = new PaymentsClient({
    baseUrl: settings.PROVIDER_BASE_URL,
    secretKey: settings.PROVIDER_SECRET_KEY,
    logger,
    apiVersion: settings.PROVIDER_API_VERSION,
  });
  const connection = await NativeConnection.connect({
    ...(await connectionSettings(settings)),
    payloadLimits: { memoWarnSize: MEMO_WARN_BYTES },
  });
  const temporal = await openTemporal(settings);
  const close = async (): Promise<void> => {
    await connection.close();
    await temporal.close();
    await client.close();
  };
  const livemode = !settings.PROVIDER_SECRET_KEY.startsWith(TEST_KEY);
  const worker = await closingOnFailure(close, () =>
    Worker.create({
      connection,
      namespace: settings.TEMPORAL_NAMESPACE,
      taskQueue: settings.TEMPORAL_TASK_QUEUE,
      workflowBundle: { codePath: bundlePath ?? (isEncrypting(settings) ? ENCRYPTING_BUNDLE_PATH : BUNDLE_PATH) },
      dataConverter: dataConverter(settings),
      activities: {
        ...paymentActivities(client, livemode),
        ...reconciliationActivities(client, temporal, settings, livemode),
        ...commandActivities(client, new Seal(settings.PROVIDER_SECRET_KEY)),
        ...eventTailActivities({ client: temporal.client, provider: client, livemode, settings }),
      },
      interceptors: { activity: [correlated] },
      shutdownGraceTime: settings.SHUTDOWN_GRACE_MS,
      stickyQueueScheduleToStartTimeout: STICKY_TIMEOUT_MS,
      maxCachedWorkflows: settings.MAX_CACHED_WORKFLOWS,
      ...(settings.PROVIDER_REQUESTS_PER_SECOND === 0
        ? {}
        : { maxTaskQueueActivitiesPerSecond: settings.PROVIDER_REQUESTS_PER_SECOND }),
      ...versioning(settings),
    }),
  );
  const stopped = runThenClose(worker, close);
  const stop = async (): Promise<void> => {
    if (worker.getState() === 'RUNNING') worker.shutdown();
    await stopped;
  };
  const { WORKER_BUILD_ID } = settings;
  if (WORKER_BUILD_ID !== undefined && settings.WORKER_MAKE_CURRENT) {
    const current = makeBuildCurrent(connection, { ...settings, WORKER_BUILD_ID }, logger);
    await closingOnFailure(stop, () => Promise.race([current, endedEarly(stopped)]));
  }
  return {
    stopped,
    isReady: async () => worker.getState() === 'RUNNING' && (await answers(connection, settings.TEMPORAL_NAMESPACE)),
    stop,
  };
}

/** A running checkout moves to the current build with its next task; what changed in its code is behind `patched`. */
function versioning(settings: WorkerSettings): { workerDeploymentOptions?: WorkerDeploymentOptions } {
  const { WORKER_BUILD_ID: buildId, WORKER_DEPLOYMENT: deploymentName } = settings;
  if (buildId === undefined) return {};
  return {
    workerDeploymentOptions: {
      version: { buildId, deploymentName },
      useWorkerVersioning: true,
      defaultVersioningBehavior: 'AUTO_UPGRADE',
    },
  };
}

async function closingOnFailure<T>(close: () => Promise<void>, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    await close();
    throw error;
  }
}

async function endedEarly(stopped: Promise<void>): Promise<never> {
  await stopped;
  throw new Error('The worker stopped before its build was current');
}

async function runThenClose(worker: Worker, close: () => Promise<void>): Promise<void> {
  try {
    await worker.run();
  } finally {
    await close();
  }
}

/** A checkout is kept in its memo: bounded by the book's limits, and larger than what the engine expects of a memo. */
const MEMO_WARN_BYTES = 65_536;

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
