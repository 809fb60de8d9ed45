import type { Client } from '@temporalio/client';
import { RECONCILE_WORKFLOW, type ReconcileMemo, type ReconcileResult } from '@tillflow/workflows';

/** Only this many of the latest runs are read. */
const MAX_RUNS = 500;

type CompletedRun = { readonly memo: ReconcileMemo; readonly result: () => Promise<ReconcileResult> };

/** The completed reconciliations of a task queue, the newest first. */
async function* completedRuns({ workflow }: Client, taskQueue: string): AsyncGenerator<CompletedRun> {
  const query = `WorkflowType = '${RECONCILE_WORKFLOW}' AND ExecutionStatus = 'Completed' AND TaskQueue = '${taskQueue}'`;
  let runs = 0;
  for await (const { workflowId, runId, memo } of workflow.list({ query })) {
    runs += 1;
    if (runs > MAX_RUNS) return;
    if (!isReconcileMemo(memo)) continue;
    const handle = workflow.getHandle<() => Promise<ReconcileResult>>(workflowId, runId);
    yield { memo, result: () => handle.result() };
  }
}

/** Those of the refunds that an earlier run has reported. A dry run does not count. */
export async function reportedBefore(
  client: Client,
  taskQueue: string,
  refundIds: readonly string[],
): Promise<string[]> {
  const wanted = new Set(refundIds);
  const reported = new Set<string>();
  for await (const { memo, result } of completedRuns(client, taskQueue)) {
    if (reported.size === wanted.size) break;
    const { dry_run, outside } = memo.reconciliation;
    if (dry_run || outside === 0) continue;
    for (const { refund_id } of (await result()).found) {
      if (refund_id !== null && wanted.has(refund_id)) reported.add(refund_id);
    }
  }
  return [...reported];
}

/** The end of the window of the last daily run, if it is before `before`, in milliseconds; null for none. */
export async function lastDaily(client: Client, taskQueue: string, before: number): Promise<number | null> {
  let last: number | null = null;
  for await (const { memo } of completedRuns(client, taskQueue)) {
    const { reconciliation } = memo;
    const to = Date.parse(reconciliation.compared_until ?? reconciliation.to);
    if (memo.daily === true && to < before && (last === null || to > last)) last = to;
  }
  return last;
}

function isReconcileMemo(memo: unknown): memo is ReconcileMemo {
  return typeof memo === 'object' && memo !== null && 'reconciliation' in memo;
}
