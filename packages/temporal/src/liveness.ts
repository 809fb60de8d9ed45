import { QueryNotRegisteredError } from '@temporalio/client';
import type { Temporal } from './connection.js';
import { UnreadablePayloadError } from './encryption-codec.js';

/** Every worker answers it, whatever the workflow. */
const METADATA_QUERY = '__temporal_workflow_metadata';
/** A worker that holds a workflow in memory has 3 s before another may answer for it. */
const ANSWER_WITHIN_MS = 8_000;

/** `unreadable`: a worker answered, under a key that `PAYLOAD_KEYS` does not have here. */
export type Liveness = 'answered' | 'unreadable' | 'silent';

/**
 * Whether a worker answers for any of these workflows, at the latest after 8 s. Temporal remembers a poller for minutes
 * after its end: what is asked through a workflow, only a living one answers.
 */
export async function livenessOf(
  { client, connection }: Pick<Temporal, 'client' | 'connection'>,
  workflows: readonly { readonly workflowId: string; readonly runId?: string }[],
): Promise<Liveness> {
  const ask = async ({ workflowId, runId }: (typeof workflows)[number]): Promise<Liveness> => {
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
