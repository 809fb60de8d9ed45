import type { Break, CurrencyTotals, Foreign } from '@tillflow/domain';

/** The workflow's type, as `start` names it. */
export const RECONCILE_WORKFLOW = 'reconcile';

/** What is to be compared. Wire names; times are in milliseconds since 1970-01-01T00:00:00Z. */
export type ReconcileInput = {
  readonly account: string;
  /** Payments made from here on, and before `to`. */
  readonly from: number;
  readonly to: number;
  /** True: nothing is healed, it is only told what was found. */
  readonly dry_run: boolean;
  /** What differs from {@link DEFAULT_RECONCILE_POLICY}. */
  readonly policy?: Partial<ReconcilePolicy>;
};

export type ReconcilePolicy = {
  /** A payment made less than this before the run is left to the next one, in milliseconds. */
  readonly youngMs: number;
  /** Charges compared by one call, so that a worker that is replaced holds up little. */
  readonly chargesPerCall: number;
  /** So many breaks and foreign charges are told; the rest is counted. A result is one payload, of 2 MB at most. */
  readonly mostBreaks: number;
  readonly mostForeign: number;
};

export const DEFAULT_RECONCILE_POLICY: ReconcilePolicy = {
  youngMs: 15 * 60_000,
  chargesPerCall: 10_000,
  mostBreaks: 2_000,
  mostForeign: 1_000,
};

/** What was compared, and how much was found so far. In the memo, so that a list of runs needs no worker. */
export type ReconcileSummary = {
  /** ISO 8601 UTC. */
  readonly from: string;
  readonly to: string;
  /** ISO 8601 UTC: what was paid from here on was too young. Absent until it is known. */
  readonly compared_until?: string;
  readonly dry_run: boolean;
  readonly totals: readonly CurrencyTotals[];
  /** How many breaks are told, how many of them have healed, and how many were made by refunds outside. */
  readonly breaks: number;
  readonly healed: number;
  readonly outside: number;
};

/** The memo of a reconciliation's workflow. */
export type ReconcileMemo = {
  readonly reconciliation: ReconcileSummary;
  /** Who asked for it, as `Attributed` spells it. Absent in what the Schedule started, or an older release. */
  readonly by?: string;
  /** Present in what the Schedule started. */
  readonly daily?: true;
};

/** A part of the books that could not be read: nothing is said of it. */
export type NotCompared = { readonly what: 'receipts'; readonly code: string; readonly detail: string };

/** What a reconciliation found: the workflow's result. */
export type ReconcileResult = ReconcileSummary & {
  readonly found: readonly Break[];
  readonly foreign: readonly Foreign[];
  /** Found and counted, but not told: narrow the window to see them. */
  readonly omitted: { readonly breaks: number; readonly foreign: number };
  /** Absent when everything was. */
  readonly not_compared?: readonly NotCompared[];
};

/** A summary before anything was compared. */
export function emptySummary({ from, to, dry_run }: Pick<ReconcileInput, 'from' | 'to' | 'dry_run'>): ReconcileSummary {
  return {
    from: new Date(from).toISOString(),
    to: new Date(to).toISOString(),
    dry_run,
    totals: [],
    breaks: 0,
    healed: 0,
    outside: 0,
  };
}
