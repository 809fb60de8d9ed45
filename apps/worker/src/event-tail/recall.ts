import { WorkflowNotFoundError, type Client } from '@temporalio/client';
import { UnreadablePayloadError } from '@tillflow/temporal';
import { eventTails, type EventTailMemo } from '@tillflow/workflows';
import { listRuns } from './runs.js';

/** Runs of earlier tails that are looked through. */
const RECALLED = 20;

/**
 * What earlier tails of the queue said, each part as the newest run that says it: one may have ended before its first
 * whole pass, and of another the key to read it may be gone.
 * @param own the run that asks.
 */
export async function recallTail(client: Client, taskQueue: string, own: string | null): Promise<EventTailMemo | null> {
  let said: EventTailMemo = {};
  let left = RECALLED;
  for await (const { workflowId, runId } of listRuns(client, eventTails(taskQueue).join(' AND '))) {
    if (runId === own) continue;
    try {
      // The list may be older than what the engine itself has.
      const { memo } = await client.workflow.getHandle(workflowId, runId).describe();
      // Written by this product alone.
      said = withOlder(said, memo ?? {});
    } catch (error) {
      if (!(error instanceof WorkflowNotFoundError || error instanceof UnreadablePayloadError)) throw error;
    }
    left -= 1;
    if (said.pass !== undefined || left === 0) break;
  }
  return Object.keys(said).length === 0 ? null : said;
}

function withOlder(said: EventTailMemo, older: EventTailMemo): EventTailMemo {
  return { ...older, ...said };
}
