import { QueryNotRegisteredError } from '@temporalio/client';
import type { Temporal } from '../connection/connection.js';
import { millisecondsOf } from '../connection/time.js';
import { UnreadablePayloadError } from '../encryption/encryption-codec.js';

/** The numbers of Temporal's `TaskQueueType`. */
const TASK_QUEUE_TYPE = { workflows: 1, activities: 2 } as const;

/**
 * A running worker polls again after a minute without work. One that has not polled for this long, in milliseconds, has
 * stopped.
 */
const SEEN_WITHIN_MS = 90_000;

/** A process that polled a task queue. */
type Poller = {
  readonly identity: string;
  /** The build of a versioned worker, or else a fingerprint of its workflow code. */
  readonly build: string;
  readonly isVersioned: boolean;
  /** Its last poll, by Temporal's clock, in milliseconds. Temporal lists it for minutes after it has stopped. */
  readonly seenAt: number;
};

export type TaskQueue = {
  /** Tasks that wait for a worker. Temporal counts them approximately. */
  readonly backlog: number;
  /** For how long the oldest of them waits, in milliseconds. */
  readonly backlogAgeMs: number;
  readonly pollers: readonly Poller[];
  /** The build that gets the tasks; null when workers are not versioned, or no build is current. */
  readonly currentBuild: string | null;
  /** The deployment that the builds belong to (`WORKER_DEPLOYMENT`); null when workers are not versioned. */
  readonly deployment: string | null;
};

/** The pollers that still run. @param now milliseconds, by Temporal's clock as far as it is known */
export function activePollers({ pollers }: TaskQueue, now: number): readonly Poller[] {
  return pollers.filter(({ seenAt }) => seenAt > now - SEEN_WITHIN_MS);
}

/**
 * The pollers that still run and get the tasks of new checkouts: where a build is current, those of that build. An older
 * build polls until its own checkouts have ended.
 */
export function currentPollers(queue: TaskQueue, now: number): readonly Poller[] {
  const { currentBuild } = queue;
  return activePollers(queue, now).filter(({ build, isVersioned }) => (isVersioned ? build : null) === currentBuild);
}

/** A task queue as Temporal describes it. */
export async function describeTaskQueue(
  { client, connection }: Pick<Temporal, 'client' | 'connection'>,
  name: string,
  kind: keyof typeof TASK_QUEUE_TYPE,
): Promise<TaskQueue> {
  const { pollers, versioningInfo, stats } = await connection.workflowService.describeTaskQueue({
    namespace: client.options.namespace,
    taskQueue: { name },
    // oxlint-disable-next-line typescript/no-unsafe-enum-assignment -- the generated enum exists as a type only
    taskQueueType: TASK_QUEUE_TYPE[kind],
    reportStats: true,
  });
  return {
    backlog: Number(stats?.approximateBacklogCount ?? 0),
    backlogAgeMs: millisecondsOf(stats?.approximateBacklogAge),
    pollers: pollers.map(({ identity, deploymentOptions, workerVersionCapabilities, lastAccessTime }) => ({
      identity: identity ?? '?',
      build: deploymentOptions?.buildId ?? workerVersionCapabilities?.buildId ?? '?',
      isVersioned: (deploymentOptions?.buildId ?? '') !== '',
      seenAt: millisecondsOf(lastAccessTime),
    })),
    currentBuild: versioningInfo?.currentDeploymentVersion?.buildId ?? null,
    deployment:
      versioningInfo?.currentDeploymentVersion?.deploymentName ??
      pollers.map(({ deploymentOptions }) => deploymentOptions?.deploymentName ?? '').find((name) => name !== '') ??
      null,
  };
}

/** Every worker answers this query, for every workflow. */
const METADATA_QUERY = '__temporal_workflow_metadata';
/** Temporal waits 3 s for the worker that has the workflow in memory before another worker may answer. */
const ANSWER_WITHIN_MS = 8_000;

/** `unreadable`: a worker answered, encrypted with a key that `PAYLOAD_KEYS` does not contain here. */
type ProbeResult = 'answered' | 'unreadable' | 'silent';

/**
 * Whether a worker answers a query of any of these workflows within 8 s. Temporal lists a poller for minutes after it
 * has stopped, but only a running worker answers a query.
 */
export async function probeWorkers(
  { client, connection }: Pick<Temporal, 'client' | 'connection'>,
  workflows: readonly { readonly workflowId: string; readonly runId?: string }[],
): Promise<ProbeResult> {
  const ask = async ({ workflowId, runId }: (typeof workflows)[number]): Promise<ProbeResult> => {
    try {
      await client.workflow.getHandle(workflowId, runId).query(METADATA_QUERY);
      return 'answered';
    } catch (error) {
      if (error instanceof QueryNotRegisteredError) return 'answered';
      if (error instanceof UnreadablePayloadError) return 'unreadable';
      throw error;
    }
  };
  try {
    return await connection.withDeadline(Date.now() + ANSWER_WITHIN_MS, () => Promise.any(workflows.map(ask)));
  } catch {
    return 'silent';
  }
}
