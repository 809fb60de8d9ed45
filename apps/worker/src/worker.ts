import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { Worker, type NativeConnection, type WorkerOptions } from '@temporalio/worker';
import { accountOf, DEFAULT_ACCOUNT } from '@tillflow/domain';
import { PaymentsClient, systemClock } from '@tillflow/payments-client';
import {
  businessDayRule,
  ConfiguredKeys,
  dataConverter,
  EventEndpoints,
  isEncrypting,
  openTemporal,
  Seal,
  setUpSchedules,
  warnIfUnencrypted,
  type Temporal,
} from '@tillflow/temporal';
import { openTracer, traceCall, type Tracer } from '@tillflow/telemetry';
import { eventQueue, type OutgoingEventActivities } from '@tillflow/workflows';
import type { Logger } from 'pino';
import { commandActivities } from './commands/activities.js';
import { correlated, scheduledAt } from './activities/interceptors.js';
import { SEARCHED_METADATA } from './activities/charge-facts.js';
import { paymentActivities } from './checkout/activities.js';
import { checkoutSinks } from './checkout/metrics.js';
import { reconciliationActivities } from './reconciliation/activities.js';
import { BUNDLE_PATH, ENCRYPTING_BUNDLE_PATH } from './bundle.js';
import type { Clocks } from './clocks/clocks.js';
import { connect, withRetries, type Connected, type StartRetries } from './temporal-connection.js';
import { makeBuildCurrent } from './deployment.js';
import { eventTailActivities } from './event-tail/activities.js';
import { outgoingEventActivities } from './outgoing-events/activities.js';
import { EndpointPresence } from './outgoing-events/endpoint-presence.js';
import type { WorkerSettings } from './settings.js';
import { traced } from './traces/activity-spans.js';
import { workflowSpans } from './traces/workflow-spans.js';
import { endedTogether, Work } from './work.js';

/** Keys of test mode begin so. Source: assumption. */
const TEST_KEY = 'skey_test_';

/** How long a read of the event endpoints may take. Milliseconds. */
const READ_WITHIN_MS = 5_000;

/** A workflow task waits this long for the worker that has the workflow in memory; then any worker may take it. */
const STICKY_TIMEOUT_MS = 3_000;

/** Batches of events in progress: eight of each of the 100 endpoints at most. */
const EVENT_ACTIVITIES = 800;

/** Of the checksum of the workflow code, where `WORKER_BUILD_ID` is not set. */
const BUILD_CHARS = 12;

/**
 * Workflow tasks at one time. A slow local activity holds its task for 5 s, so a slow provider would soon use up the
 * usual 40.
 */
const WORKFLOW_TASKS = 200;

export type RunningWorker = {
  /** The offsets of the machine's clock. While they are too large, the worker takes no tasks. */
  readonly clocks: Clocks;
  /** Settles when the worker takes tasks and Temporal has a current build; rejects when that fails. */
  readonly ready: Promise<void>;
  /** Settles when the worker has stopped; rejects when it failed. */
  readonly stopped: Promise<void>;
  /**
   * Whether it polls Temporal for tasks with a correct clock. With a build id, only after the worker has decided whether its
   * build takes over.
   */
  readonly isTakingWork: boolean;
  /** Whether it takes tasks, and Temporal answers. */
  isReady(): Promise<boolean>;
  /** Takes no more tasks, finishes those in flight, and closes its connections. */
  stop(): Promise<void>;
};

export type StartOptions = {
  /** Another workflow bundle than the product's, made by `bundleWorkflows`. */
  readonly bundlePath?: string;
  /** Retries while Temporal cannot be reached; absent: the failure is thrown. */
  readonly retries?: StartRetries;
  /** The keys that all workers of this process share. Absent: the worker reads them itself. */
  readonly keys?: ConfiguredKeys;
  /** The traces of this process; null: none. Absent: the worker opens its own. */
  readonly tracer?: Tracer | null;
};

/**
 * Starts a worker for all workflows and activities, and resolves when it takes tasks. With a build id, it resolves when
 * Temporal has a current build.
 * @throws when Temporal cannot be reached, or the build cannot become current
 */
export async function startWorker(
  settings: WorkerSettings,
  logger: Logger,
  options: StartOptions = {},
): Promise<RunningWorker> {
  const worker = await openWorker(settings, logger, options);
  await closingOnFailure(
    () => worker.stop(),
    () => worker.ready,
  );
  return worker;
}

/** As {@link startWorker}, but resolves as soon as Temporal is reached: the worker takes tasks once it is `ready`. */
export async function openWorker(
  settings: WorkerSettings,
  logger: Logger,
  { bundlePath, retries, keys: sharedKeys, tracer: sharedTracer }: StartOptions = {},
): Promise<RunningWorker> {
  warnIfUnencrypted(settings, logger);
  const account = accountOf(settings.TEMPORAL_TASK_QUEUE);
  const keys = sharedKeys ?? new ConfiguredKeys(settings, logger);
  const closeKeys = (): void => (sharedKeys === undefined ? keys.close() : undefined);
  const tracer =
    sharedTracer === undefined ? await openTracer(settings, 'worker', logger) : (sharedTracer ?? undefined);
  const endTracer = async (): Promise<void> => (sharedTracer === undefined ? tracer?.end() : undefined);
  const temporal = await openTemporal(settings, tracer && traceCall);
  const connected = await closingOnFailure(
    async () => {
      closeKeys();
      await temporal.close();
      await endTracer();
    },
    () =>
      withRetries(retries, temporal, settings, async () => {
        await setUpAccount(temporal, account, settings);
        return connect(temporal, settings, logger);
      }),
  );
  const { connection, clocks } = connected;
  const client = new PaymentsClient({
    name: account,
    baseUrl: settings.PROVIDER_BASE_URL,
    secretKey: settings.PROVIDER_SECRET_KEY,
    logger,
    apiVersion: settings.PROVIDER_API_VERSION,
    // The deadline for sending a call is in Temporal's time, so this machine's clock does not matter.
    clock: { ...systemClock, now: () => clocks.temporal.now() },
    searchedMetadata: SEARCHED_METADATA,
    requestsPerSecond: settings.PROVIDER_REQUESTS_PER_SECOND / settings.PROVIDER_PROCESSES,
  });
  const endpoints = new EventEndpoints(
    temporal,
    { taskQueue: settings.TEMPORAL_TASK_QUEUE, readWithinMs: READ_WITHIN_MS },
    (workflow_id, err) =>
      logger.warn({ workflow_id, err }, 'an event endpoint cannot be decrypted, and gets no events'),
  );
  const presence = new EndpointPresence(endpoints, logger);
  const options = workerOptions({ ...connected, temporal, client, presence, keys, tracer }, settings, bundlePath);
  const events = outgoingEventActivities({
    temporal,
    endpoints,
    settings,
    now: () => Math.round(clocks.temporal.now()),
  });
  const eventOptions = eventWorkerOptions({ ...connected, activities: events.activities, tracer }, settings);
  const [work, eventWork] = [options, eventOptions].map(
    (each) =>
      new Work(async () => {
        await presence.firstRead;
        return withRetries(retries, temporal, settings, () => Worker.create(each));
      }, clocks),
  ) as [Work, Work];
  const stopped = thenClose(endedTogether(work, eventWork), async () => {
    await events.end();
    closeKeys();
    await presence.end();
    await clocks.end();
    await temporal.close();
    await client.close();
    await connection.close();
    // The library leaves this to the end of the process. Until then, Node 20 would pay for it at each promise.
    connection.callContextStorage.disable();
    await endTracer();
  });
  const ready = whenReady(work, stopped, connection, settings, logger);
  let isPlaced = false;
  ready.then(
    () => (isPlaced = true),
    () => undefined,
  );
  const isTakingWork = (): boolean => isPlaced && work.isRunning;
  return {
    clocks,
    ready,
    stopped,
    get isTakingWork() {
      return isTakingWork();
    },
    isReady: async () => isTakingWork() && (await answers(connection, settings.TEMPORAL_NAMESPACE)),
    stop: async () => {
      await Promise.all([work.stop(), eventWork.stop(), stopped]);
    },
  };
}

/** An account can be added while everything runs: `tillflow setup` did not know it. */
async function setUpAccount(temporal: Temporal, account: string, settings: WorkerSettings): Promise<void> {
  if (account === DEFAULT_ACCOUNT) return;
  await setUpSchedules(temporal, settings.TEMPORAL_TASK_QUEUE, {
    dryRun: false,
    businessDays: businessDayRule(settings),
  });
}

type Parts = Connected & {
  readonly temporal: Temporal;
  readonly client: PaymentsClient;
  readonly presence: EndpointPresence;
  readonly keys: ConfiguredKeys;
  readonly tracer: Tracer | undefined;
};

/** The activities of the worker's own queue. Those of outgoing events have a queue of their own. */
export function activitiesOf(
  {
    temporal,
    client,
    presence,
    keys,
  }: Pick<Parts, 'temporal' | 'client' | 'keys'> & { readonly presence: Pick<EndpointPresence, 'hasEndpoints'> },
  settings: WorkerSettings,
): NonNullable<WorkerOptions['activities']> {
  const livemode = !settings.PROVIDER_SECRET_KEY.startsWith(TEST_KEY);
  return {
    ...paymentActivities(
      client,
      livemode,
      () => presence.hasEndpoints(),
      () => (keys.hasFile ? keys.ring : null),
      accountOf(settings.TEMPORAL_TASK_QUEUE),
    ),
    ...reconciliationActivities(client, temporal, settings, livemode),
    ...commandActivities(client, new Seal(settings.PROVIDER_SECRET_KEY)),
    ...eventTailActivities({ client: temporal.client, provider: client, livemode, settings }),
  };
}

function workerOptions(
  { connection, clocks, identity, temporal, client, presence, keys, tracer }: Parts,
  settings: WorkerSettings,
  bundlePath: string | undefined,
): WorkerOptions {
  const codePath = bundlePath ?? (isEncrypting(settings) ? ENCRYPTING_BUNDLE_PATH : BUNDLE_PATH);
  return {
    connection,
    identity,
    namespace: settings.TEMPORAL_NAMESPACE,
    taskQueue: settings.TEMPORAL_TASK_QUEUE,
    workflowBundle: { codePath },
    dataConverter: dataConverter(settings),
    activities: activitiesOf({ temporal, client, presence, keys }, settings),
    interceptors: { activity: [correlated, ...(tracer === undefined ? [] : [traced(tracer)]), scheduledAt(clocks)] },
    sinks: { ...workflowSpans(tracer), ...checkoutSinks(accountOf(settings.TEMPORAL_TASK_QUEUE)) },
    shutdownGraceTime: settings.SHUTDOWN_GRACE_MS,
    stickyQueueScheduleToStartTimeout: STICKY_TIMEOUT_MS,
    maxCachedWorkflows: settings.MAX_CACHED_WORKFLOWS,
    maxConcurrentWorkflowTaskExecutions: WORKFLOW_TASKS,
    ...versioning(settings, codePath),
  };
}

/** Takes the activities of outgoing events. Receivers that do not answer use up no place of a charge or a refund. */
function eventWorkerOptions(
  {
    connection,
    identity,
    activities,
    tracer,
  }: Connected & Pick<Parts, 'tracer'> & { readonly activities: OutgoingEventActivities },
  settings: WorkerSettings,
): WorkerOptions {
  return {
    connection,
    identity,
    namespace: settings.TEMPORAL_NAMESPACE,
    taskQueue: eventQueue(settings.TEMPORAL_TASK_QUEUE),
    dataConverter: dataConverter(settings),
    activities,
    interceptors: { activity: [correlated, ...(tracer === undefined ? [] : [traced(tracer)])] },
    maxConcurrentActivityTaskExecutions: EVENT_ACTIVITIES,
    // A delivery that is cut off is repeated with the same id.
    shutdownGraceTime: 0,
  };
}

/** Also resolves when the worker is stopped before it took tasks. */
async function whenReady(
  work: Work,
  stopped: Promise<void>,
  connection: NativeConnection,
  settings: WorkerSettings,
  logger: Logger,
): Promise<void> {
  if (!(await work.begun)) return stopped;
  const { WORKER_BUILD_ID } = settings;
  if (WORKER_BUILD_ID === undefined || !settings.WORKER_MAKE_CURRENT) return;
  const current = makeBuildCurrent(connection, { ...settings, WORKER_BUILD_ID }, logger);
  await Promise.race([current, endedEarly(stopped)]);
}

/** A running checkout moves to the current build with its next task: changes of workflow code are behind `patched`. */
function versioning(
  settings: WorkerSettings,
  codePath: string,
): Pick<WorkerOptions, 'buildId' | 'workerDeploymentOptions'> {
  const { WORKER_BUILD_ID: buildId, WORKER_DEPLOYMENT: deploymentName } = settings;
  if (buildId === undefined) return { buildId: buildOf(codePath) };
  return {
    workerDeploymentOptions: {
      version: { buildId, deploymentName },
      useWorkerVersioning: true,
      defaultVersioningBehavior: 'AUTO_UPGRADE',
    },
  };
}

/** Temporal writes it into every workflow task. The default of Temporal's library is seven times as long. */
function buildOf(codePath: string): string {
  return createHash('sha256').update(readFileSync(codePath)).digest('hex').slice(0, BUILD_CHARS);
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

/** Rejects with the failure that ended the worker, also when its connection cannot be closed after that. */
async function thenClose(ended: Promise<void>, close: () => Promise<void>): Promise<void> {
  try {
    await ended;
  } catch (error) {
    await close().catch(() => undefined);
    throw error;
  }
  await close();
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
