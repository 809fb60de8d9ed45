import { idsOf, isOpen } from '@tillflow/domain';
import { covers, type Reconciliations, type StoredReconciliation } from '@tillflow/temporal';
import { numbered, type NumberedBreak } from './breaks.js';

/** The newest runs of all that Temporal keeps. A daily run for each day of the retention is among them. */
const RECENT_RUNS = 100;

/** A run with breaks that are open. `from` and `to` are ISO 8601 UTC. */
export type OpenRun = {
  readonly id: string;
  readonly from: string;
  readonly to: string;
  readonly breaks: readonly NumberedBreak[];
};

/**
 * The open breaks of the recent completed runs, the newest run first. The newest run decides whether a break is open.
 * A run that a newer one covers shows none: the newer one no longer has them, or shows them itself.
 * Reads one result of up to 2 MB at a time.
 */
export async function openBreaks(reconciliations: Pick<Reconciliations, 'page' | 'get'>): Promise<readonly OpenRun[]> {
  const { data } = await reconciliations.page(RECENT_RUNS, null);
  const seen = new Set<string>();
  const open: OpenRun[] = [];
  for (const { id, isReplaced } of toRead(data)) {
    const { summary, result } = await reconciliations.get(id);
    const left = numbered(result?.found ?? []).filter((one) => !seen.has(idsOf(one)));
    for (const one of left) seen.add(idsOf(one));
    const breaks = isReplaced ? [] : left.filter(isOpen);
    if (breaks.length > 0) open.push({ id, from: summary.from, to: summary.to, breaks });
  }
  return open;
}

/**
 * The newest first: the runs with open breaks, and those that say more of such breaks than an older run over the same
 * days.
 */
function toRead(
  data: readonly StoredReconciliation[],
): readonly { readonly id: string; readonly isReplaced: boolean }[] {
  const runs = data
    .filter(({ status }) => status === 'completed')
    // The server's order is that of their ends.
    .toSorted((a, b) => Date.parse(b.createdAt) - Date.parse(a.createdAt))
    .map((run, index, all) => ({ run, isReplaced: all.slice(0, index).some((later) => covers(later, run)) }));
  const mayShow = ({ run, isReplaced }: (typeof runs)[number]): boolean => !isReplaced && hasOpen(run);
  return runs
    .filter(
      (one, index) =>
        mayShow(one) ||
        (one.run.summary.breaks > 0 &&
          runs.slice(index + 1).some((older) => mayShow(older) && overlaps(one.run, older.run))),
    )
    .map(({ run: { id }, isReplaced }) => ({ id, isReplaced }));
}

function hasOpen({ summary: { breaks, healed } }: StoredReconciliation): boolean {
  return breaks > healed;
}

function overlaps({ summary: a }: StoredReconciliation, { summary: b }: StoredReconciliation): boolean {
  return Date.parse(a.from) < Date.parse(b.to) && Date.parse(b.from) < Date.parse(a.to);
}
