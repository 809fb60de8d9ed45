import { RECONCILE_WORKFLOW, type ReconcileMemo, type ReconcileResult } from '@tillflow/workflows';
import type { Temporal } from '@tillflow/temporal';

/** Runs further back than this are not asked. */
const MOST_RUNS = 500;

/** Reconciliations that have completed, as the engine keeps them. */
export class PastRuns {
  constructor(
    private readonly temporal: Temporal,
    private readonly taskQueue: string,
  ) {}

  /** The newest first: what each has compared, and how to read what it found. */
  async *completed(): AsyncGenerator<{
    readonly memo: ReconcileMemo;
    readonly result: () => Promise<ReconcileResult>;
  }> {
    const { workflow } = this.temporal.client;
    const query = `WorkflowType = '${RECONCILE_WORKFLOW}' AND ExecutionStatus = 'Completed' AND TaskQueue = '${this.taskQueue}'`;
    let runs = 0;
    for await (const { workflowId, runId, memo } of workflow.list({ query })) {
      runs += 1;
      if (runs > MOST_RUNS) return;
      if (!isReconcileMemo(memo)) continue;
      const handle = workflow.getHandle<() => Promise<ReconcileResult>>(workflowId, runId);
      yield { memo, result: () => handle.result() };
    }
  }
}

/** Which refunds a run has reported that was meant to: a dry run tells nobody. */
export async function reportedBefore(runs: PastRuns, refundIds: readonly string[]): Promise<string[]> {
  const asked = new Set(refundIds);
  const reported = new Set<string>();
  for await (const { memo, result } of runs.completed()) {
    if (reported.size === asked.size) break;
    const { dry_run, outside } = memo.reconciliation;
    if (dry_run || outside === 0) continue;
    for (const { refund_id } of (await result()).found) {
      if (refund_id !== null && asked.has(refund_id)) reported.add(refund_id);
    }
  }
  return [...reported];
}

/** Until when the last daily run compared that ended before `before`, in milliseconds; null for none. */
export async function lastDaily(runs: PastRuns, before: number): Promise<number | null> {
  let last: number | null = null;
  for await (const { memo } of runs.completed()) {
    const { reconciliation } = memo;
    const to = Date.parse(reconciliation.compared_until ?? reconciliation.to);
    if (memo.daily === true && to < before && (last === null || to > last)) last = to;
  }
  return last;
}

function isReconcileMemo(memo: unknown): memo is ReconcileMemo {
  return typeof memo === 'object' && memo !== null && 'reconciliation' in memo;
}
