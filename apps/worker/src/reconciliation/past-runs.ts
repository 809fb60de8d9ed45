import type { Client } from '@temporalio/client';
import { RECONCILE_WORKFLOW, type ReconcileMemo, type ReconcileResult } from '@tillflow/workflows';

/** Only this many of the latest runs are read. */
const MAX_RUNS = 500;

const COMPLETED = `ExecutionStatus = 'Completed'`;
const FAILED = `ExecutionStatus IN ('Failed', 'TimedOut', 'Canceled', 'Terminated')`;

type EndedRun = { readonly memo: ReconcileMemo; readonly result: () => Promise<ReconcileResult> };

/** The reconciliations of a task queue that have ended so, the newest first. */
async function* endedRuns({ workflow }: Client, taskQueue: string, how: string): AsyncGenerator<EndedRun> {
  const query = `WorkflowType = '${RECONCILE_WORKFLOW}' AND ${how} AND TaskQueue = '${taskQueue}'`;
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
  for await (const { memo, result } of endedRuns(client, taskQueue, COMPLETED)) {
    if (reported.size === wanted.size) break;
    const { dry_run, outside } = memo.reconciliation;
    if (dry_run || outside === 0) continue;
    for (const { refund_id } of (await result()).found) {
      if (refund_id !== null && wanted.has(refund_id)) reported.add(refund_id);
    }
  }
  return [...reported];
}

/**
 * Until when daily runs have compared all payments, if that is before `before`, in milliseconds: the end of the last
 * window that a run completed. When none did, the beginning of the first window that one tried; null for none.
 */
export async function lastDaily(client: Client, taskQueue: string, before: number): Promise<number | null> {
  const ends: number[] = [];
  for await (const { memo } of endedRuns(client, taskQueue, COMPLETED)) {
    const { compared_until, to } = memo.reconciliation;
    if (memo.daily === true) ends.push(Date.parse(compared_until ?? to));
  }
  if (ends.length > 0) {
    const compared = ends.filter((end) => end < before);
    return compared.length === 0 ? null : Math.max(...compared);
  }
  const begins: number[] = [];
  for await (const { memo } of endedRuns(client, taskQueue, FAILED))
    if (memo.daily === true) begins.push(Date.parse(memo.reconciliation.from));
  const tried = begins.filter((begin) => begin < before);
  return tried.length === 0 ? null : Math.min(...tried);
}

function isReconcileMemo(memo: unknown): memo is ReconcileMemo {
  return typeof memo === 'object' && memo !== null && 'reconciliation' in memo;
}
