import type { Temporal } from './connection.js';

/** The numbers of Temporal's `TaskQueueType`. */
const TASK_QUEUE_TYPE = { workflows: 1, activities: 2 } as const;

/** A living worker asks again after a minute without work, in milliseconds; one that has not for so long is gone. */
const SEEN_WITHIN_MS = 90_000;

/** Who asked a task queue for work. */
type Poller = {
  readonly identity: string;
  /** Of a versioned worker: its build. Of another: a fingerprint of its workflow code. */
  readonly build: string;
  readonly isVersioned: boolean;
  /** When it last came, by Temporal's clock, in milliseconds. It is remembered for minutes after its end. */
  readonly seenAt: number;
};

export type TaskQueue = {
  readonly pollers: readonly Poller[];
  /** The build that gets the tasks; null where workers are not versioned, or none is current. */
  readonly currentBuild: string | null;
  /** What the builds are versions of (`WORKER_DEPLOYMENT`); null where workers are not versioned. */
  readonly deployment: string | null;
};

/** Those who are still there. @param now milliseconds, by Temporal's clock as far as it is known. */
export function livingPollers({ pollers }: TaskQueue, now: number): readonly Poller[] {
  return pollers.filter(({ seenAt }) => seenAt > now - SEEN_WITHIN_MS);
}

/** What Temporal knows of a task queue. */
export async function describeTaskQueue(
  { client, connection }: Pick<Temporal, 'client' | 'connection'>,
  name: string,
  kind: keyof typeof TASK_QUEUE_TYPE,
): Promise<TaskQueue> {
  const { pollers, versioningInfo } = await connection.workflowService.describeTaskQueue({
    namespace: client.options.namespace,
    taskQueue: { name },
    // oxlint-disable-next-line typescript/no-unsafe-enum-assignment -- the generated enum exists as a type only
    taskQueueType: TASK_QUEUE_TYPE[kind],
  });
  return {
    pollers: pollers.map(({ identity, deploymentOptions, workerVersionCapabilities, lastAccessTime }) => ({
      identity: identity ?? '?',
      build: deploymentOptions?.buildId ?? workerVersionCapabilities?.buildId ?? '?',
      isVersioned: (deploymentOptions?.buildId ?? '') !== '',
      seenAt: Number(lastAccessTime?.seconds ?? 0) * 1_000 + (lastAccessTime?.nanos ?? 0) / 1e6,
    })),
    currentBuild: versioningInfo?.currentDeploymentVersion?.buildId ?? null,
    deployment:
      versioningInfo?.currentDeploymentVersion?.deploymentName ??
      pollers.map(({ deploymentOptions }) => deploymentOptions?.deploymentName ?? '').find((name) => name !== '') ??
      null,
  };
}
