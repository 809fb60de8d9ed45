import type { Client, WorkflowExecutionInfo } from '@temporalio/client';
import { executionInfoFromRaw } from '@temporalio/client/lib/helpers.js';

const PAGE_SIZE = 50;

type Run = Pick<WorkflowExecutionInfo, 'workflowId' | 'runId' | 'typedSearchAttributes'>;

/** The runs that a search finds, without their memos: one that cannot be read does not hide the others. */
export async function* listRuns(client: Client, query: string): AsyncGenerator<Run, void, undefined> {
  const { namespace, loadedDataConverter } = client.options;
  let nextPageToken: Uint8Array | null = new Uint8Array();
  while (nextPageToken !== null) {
    const page: Page = await client.workflowService.listWorkflowExecutions({
      namespace,
      query,
      pageSize: PAGE_SIZE,
      nextPageToken,
    });
    for (const raw of page.executions) {
      // In place: what the engine left out is on the prototype.
      raw.memo = null;
      yield await executionInfoFromRaw(raw, loadedDataConverter, undefined, namespace);
    }
    nextPageToken = page.nextPageToken.length > 0 ? page.nextPageToken : null;
  }
}

type Page = Awaited<ReturnType<Client['workflowService']['listWorkflowExecutions']>>;
