import type { Temporal, TemporalSettings } from '@tillflow/temporal';
import { findEventTail, type EventTailMemo } from '@tillflow/workflows';
import { UnreachableError } from './exit.js';

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
    `No event tail runs on the task queue ${queue}. Its Schedule starts it within a minute: pnpm tillflow setup, pnpm tillflow doctor.`,
  );
}
