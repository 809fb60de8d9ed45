import type { WorkflowExecutionInfo } from '@temporalio/client';
import type { Temporal } from './connection.js';

/** A run as a list of the engine's has it. */
export type ListedRun = WorkflowExecutionInfo['raw'];

/** The number of Temporal's `WORKFLOW_EXECUTION_STATUS_RUNNING`. */
const RUNNING = 1;
/** Above all runs of the checkouts of one search, but for those that were opened again many times. */
const MAX_RUNS = 1_000;
/** Workflows that one search is for: it names each. */
const MAX_WORKFLOWS = 200;

/**
 * The runs of a list after which their checkout was opened again: what they told last is not true any more. A page
 * without closed runs costs nothing, any other one more search.
 */
export async function replacedRuns(
  { client, connection }: Pick<Temporal, 'client' | 'connection'>,
  listed: readonly ListedRun[],
): Promise<ReadonlySet<string>> {
  const closed = listed.filter(({ status }) => Number(status) !== RUNNING);
  if (closed.length === 0) return new Set();
  const ids = [...new Set(closed.map(({ execution }) => execution?.workflowId ?? ''))];
  const all: ListedRun[] = [];
  for (let at = 0; at < ids.length; at += MAX_WORKFLOWS) {
    const named = ids.slice(at, at + MAX_WORKFLOWS).map((id) => `'${id}'`);
    const { executions } = await connection.workflowService.listWorkflowExecutions({
      namespace: client.options.namespace,
      query: `WorkflowId IN (${named.join(', ')}) AND ExecutionStatus != 'ContinuedAsNew'`,
      pageSize: MAX_RUNS,
    });
    all.push(...executions);
  }
  return olderRuns(closed, all);
}

/** Those of `listed` that began before another run of `all` with the same workflow. */
export function olderRuns(listed: readonly ListedRun[], all: readonly ListedRun[]): ReadonlySet<string> {
  const newest = new Map<string, { readonly runId: string; readonly at: number }>();
  for (const { execution, startTime } of all) {
    const { workflowId, runId } = execution ?? {};
    const at = Number(startTime?.seconds ?? 0) + (startTime?.nanos ?? 0) / 1e9;
    if (typeof workflowId !== 'string' || typeof runId !== 'string') continue;
    if (at >= (newest.get(workflowId)?.at ?? 0)) newest.set(workflowId, { runId, at });
  }
  const isReplaced = ({ execution }: ListedRun): boolean => {
    const known = newest.get(execution?.workflowId ?? '');
    return known !== undefined && known.runId !== execution?.runId;
  };
  return new Set(listed.filter(isReplaced).map(({ execution }) => execution?.runId ?? ''));
}
