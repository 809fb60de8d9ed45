import { WorkflowNotFoundError, type Client } from '@temporalio/client';
import { listPage, UnreadablePayloadError } from '@tillflow/temporal';
import { eventTails, type EventTailMemo } from '@tillflow/workflows';

/** How many earlier runs are read at most. */
const MAX_RUNS = 20;

/**
 * The memo of earlier tails of the queue, each part from the newest run that has it: a run may have ended before its
 * first complete pass, or may be encrypted with a key that is gone. Null when there is none.
 * @param own the run that asks, which is left out
 */
export async function recallTail(client: Client, taskQueue: string, own: string | null): Promise<EventTailMemo | null> {
  let recalled: EventTailMemo = {};
  const { runs } = await listPage(client, eventTails(taskQueue).join(' AND '), MAX_RUNS + 1);
  const earlier = runs.filter(({ execution }) => execution?.runId !== own).slice(0, MAX_RUNS);
  for (const { execution } of earlier) {
    try {
      // A list may lag behind the run itself.
      const handle = client.workflow.getHandle(execution?.workflowId ?? '', execution?.runId ?? '');
      // Only Tillflow writes the memo.
      const memo: EventTailMemo = (await handle.describe()).memo ?? {};
      recalled = Object.assign({}, memo, recalled);
    } catch (error) {
      if (!(error instanceof WorkflowNotFoundError || error instanceof UnreadablePayloadError)) throw error;
    }
    if (recalled.pass !== undefined) break;
  }
  return Object.keys(recalled).length === 0 ? null : recalled;
}
