import { accountOf } from '@tillflow/domain';
import {
  activePollers,
  Checkouts,
  describeTaskQueue,
  isTemporalFailure,
  openTemporal,
  whyUnreachable,
  within,
  type Temporal,
  type TemporalSettings,
} from '@tillflow/temporal';
import { findEventTail, type EventTailMemo } from '@tillflow/workflows';
import { UnreachableError } from './command.js';

const REACH_WITHIN_MS = 5_000;
/** An operator can wait longer than a till. */
export const READ_WITHIN_MS = 10_000;

export type Engine = { readonly temporal: Temporal; readonly checkouts: Checkouts };

/**
 * Opens a connection to Temporal, runs `work`, and always closes the connection.
 * @throws {UnreachableError} when Temporal does not answer, has no such namespace, or refuses access. `work` did not
 * run.
 */
export async function withTemporal<T>(settings: TemporalSettings, work: (engine: Engine) => Promise<T>): Promise<T> {
  const temporal = await openTemporal(settings);
  try {
    await reach(temporal, settings);
    const account = accountOf(settings.TEMPORAL_TASK_QUEUE);
    return await work({ temporal, checkouts: new Checkouts(temporal, { account, readWithinMs: READ_WITHIN_MS }) });
  } finally {
    await temporal.close();
  }
}

async function reach({ connection, lastFailure }: Temporal, settings: TemporalSettings): Promise<void> {
  const { TEMPORAL_NAMESPACE: namespace } = settings;
  try {
    await within(connection, REACH_WITHIN_MS, () => connection.workflowService.describeNamespace({ namespace }));
  } catch (error) {
    if (!isTemporalFailure(error)) throw error;
    throw new UnreachableError(whyUnreachable(error, settings, lastFailure()));
  }
}

type RunningTail = {
  readonly run: { readonly workflowId: string; readonly runId: string };
  readonly memo: EventTailMemo;
};

/** The event tail of this task queue. @throws {UnreachableError} when none runs. */
export async function tailOf(
  { client }: Temporal,
  { TEMPORAL_TASK_QUEUE: queue }: TemporalSettings,
): Promise<RunningTail> {
  const tail = await findEventTail(client.workflow, queue);
  if (tail !== null) return tail;
  throw new UnreachableError(
    `No event tail runs on the task queue ${queue}. Its Schedule starts it within a minute. If it does not, run \`pnpm tillflow setup\`, then \`pnpm tillflow doctor\`.`,
  );
}

/** Temporal lists a poller for minutes after it has ended, so its last poll decides. */
export async function hasWorker(temporal: Temporal, taskQueue: string): Promise<boolean> {
  return activePollers(await describeTaskQueue(temporal, taskQueue, 'workflows'), Date.now()).length > 0;
}
