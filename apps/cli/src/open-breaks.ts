import { idsOf, isOpen } from '@tillflow/domain';
import { covers, isComplete, type Reconciliations, type StoredReconciliation } from '@tillflow/temporal';
import { numbered, type NumberedBreak } from './breaks.js';

/** Enough for a run each hour for the retention of 30 days. */
const MOST_RUNS = 1_000;

/** A run with breaks that are open. `from` and `to` are ISO 8601 UTC. */
export type OpenRun = {
  readonly id: string;
  readonly from: string;
  readonly to: string;
  readonly breaks: readonly NumberedBreak[];
};

/**
 * The open breaks of the newest 1,000 runs, of the newest run first. The newest run decides whether a break is open.
 * A run that a newer one covers shows none: the newer one no longer has them, or shows them itself. When the newer one
 * could not read receipts, breaks of receipts remain.
 * Reads one result of up to 2 MB at a time.
 */
export async function openBreaks(reconciliations: Pick<Reconciliations, 'runs' | 'get'>): Promise<readonly OpenRun[]> {
  const data: StoredReconciliation[] = [];
  for await (const run of reconciliations.runs(MOST_RUNS)) data.push(run);
  const seen = new Set<string>();
  const open: OpenRun[] = [];
  for (const { run, isReplaced, hasReceipts } of toRead(data)) {
    const { id } = run;
    const { summary, result } = await reconciliations.get(id);
    const left = numbered(result?.found ?? []).filter((one) => !seen.has(idsOf(one)));
    for (const one of left) seen.add(idsOf(one));
    const breaks = left.filter((one) => isOpen(one) && (!isReplaced || (hasReceipts && one.type === 'receipt_total')));
    if (breaks.length > 0) open.push({ id, from: summary.from, to: summary.to, breaks });
  }
  return open;
}

type RunToRead = {
  readonly run: StoredReconciliation;
  /** A newer run has compared the same payments. */
  readonly isReplaced: boolean;
  /** No newer run has compared the same receipts. */
  readonly hasReceipts: boolean;
};

/**
 * The newest first: the runs with open breaks, and those that say more of such breaks than an older run over the same
 * days.
 */
function toRead(data: readonly StoredReconciliation[]): readonly RunToRead[] {
  const runs = data
    .filter(({ status }) => status === 'completed')
    // The server's order is that of their ends.
    .toSorted((a, b) => Date.parse(b.createdAt) - Date.parse(a.createdAt))
    .map((run, index, all): RunToRead => {
      const later = all.slice(0, index).filter((one) => covers(one, run));
      return { run, isReplaced: later.length > 0, hasReceipts: !later.some(isComplete) };
    });
  const mayShow = ({ run, hasReceipts }: RunToRead): boolean => hasReceipts && hasOpen(run);
  return runs.filter(
    (one, index) =>
      mayShow(one) ||
      (one.run.summary.breaks > 0 &&
        runs.slice(index + 1).some((older) => mayShow(older) && overlaps(one.run, older.run))),
  );
}

function hasOpen({ summary: { breaks, healed } }: StoredReconciliation): boolean {
  return breaks > healed;
}

function overlaps({ summary: a }: StoredReconciliation, { summary: b }: StoredReconciliation): boolean {
  return Date.parse(a.from) < Date.parse(b.to) && Date.parse(b.from) < Date.parse(a.to);
}
