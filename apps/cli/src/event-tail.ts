import type { Temporal, TemporalSettings } from '@tillflow/temporal';
import { findEventTail } from '@tillflow/workflows';
import { UnreachableError } from './exit.js';

/** The event tail of this task queue. @throws {UnreachableError} when none runs. */
export async function tailOf({ client }: Temporal, { TEMPORAL_TASK_QUEUE: queue }: TemporalSettings) {
  const tail = await findEventTail(client.workflow, queue);
  if (tail !== null) return tail;
  throw new UnreachableError(
    `No event tail runs on the task queue ${queue}. Its Schedule starts it within a minute: pnpm tillflow setup, pnpm tillflow doctor.`,
  );
}
