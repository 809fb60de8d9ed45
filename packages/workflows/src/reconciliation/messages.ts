import type { Acknowledgement, Break, CurrencyTotals, DayTotals, Foreign } from '@tillflow/domain';

/** The workflow type. */
export const RECONCILE_WORKFLOW = 'reconcile';

/** The window of a run. Wire names; times are in milliseconds since 1970-01-01T00:00:00Z. */
export type ReconcileInput = {
  readonly account: string;
  /** Payments at or after this, and before `to`. */
  readonly from: number;
  readonly to: number;
  /** True: the run only reports breaks and heals none. */
  readonly dry_run: boolean;
  /** What differs from {@link DEFAULT_RECONCILE_POLICY}. */
  readonly policy?: Partial<ReconcilePolicy>;
};

export type ReconcilePolicy = {
  /** A payment made less than this before the run is left to the next run, in milliseconds. */
  readonly youngMs: number;
  /** Charges per call, so that a call is short. */
  readonly chargesPerCall: number;
  /**
   * The result lists this many breaks and foreign charges, and counts the others. A result is one payload of at most 2
   * MB.
   */
  readonly mostBreaks: number;
  readonly mostForeign: number;
};

export const DEFAULT_RECONCILE_POLICY: ReconcilePolicy = {
  youngMs: 15 * 60_000,
  chargesPerCall: 10_000,
  mostBreaks: 2_000,
  mostForeign: 1_000,
};

/** The window and the counts so far. In the memo, so that a list of runs needs no worker. */
export type ReconcileSummary = {
  /** ISO 8601 UTC. */
  readonly from: string;
  readonly to: string;
  /** ISO 8601 UTC: payments at or after this were too young. Absent until it is known. */
  readonly compared_until?: string;
  readonly dry_run: boolean;
  readonly totals: readonly CurrencyTotals[];
  /** The number of listed breaks, of those that have healed, and of refunds that were made outside. */
  readonly breaks: number;
  readonly healed: number;
  readonly outside: number;
  /** The number of listed breaks that a person had acknowledged before the run. Absent in runs of earlier releases. */
  readonly acknowledged?: number;
  /** Absent when all records were compared, and in memos of earlier releases. */
  readonly not_compared?: readonly NotCompared[];
};

/** The memo of a reconciliation's workflow. */
export type ReconcileMemo = {
  readonly reconciliation: ReconcileSummary;
  /** Who requested it, as `Attributed` spells it. Absent when the Schedule started the run. */
  readonly by?: string;
  /** Present when the Schedule started the run. */
  readonly daily?: true;
};

/** The workflow type of an acknowledged break. */
export const ACKNOWLEDGEMENT_WORKFLOW = 'acknowledgement';

/** The memo of an acknowledged break's workflow, which the starter writes. */
export type AcknowledgementMemo = { readonly acknowledgement: Acknowledgement };

/**
 * The id of the workflow for an acknowledged break.
 * @param fingerprint is the same as long as the break is
 */
export function acknowledgementWorkflowId(account: string, fingerprint: string): string {
  return `acknowledgement/${account}/${fingerprint}`;
}

/** Records that could not be read, and so were not compared. */
export type NotCompared = { readonly what: 'receipts'; readonly code: string; readonly detail: string };

/** The workflow's result. */
export type ReconcileResult = ReconcileSummary & {
  /** ISO 8601 UTC: when the run began. The ages of its breaks count until then. Absent in runs of earlier releases. */
  readonly compared_at?: string;
  /** The same money as `totals`, by business day and till. Absent when a part was compared by an earlier release. */
  readonly days?: readonly DayTotals[];
  readonly found: readonly Break[];
  readonly foreign: readonly Foreign[];
  /** Counted but not listed. A narrower window lists them. */
  readonly omitted: { readonly breaks: number; readonly foreign: number };
};

/** The summary at the start of a run. */
export function emptySummary({ from, to, dry_run }: Pick<ReconcileInput, 'from' | 'to' | 'dry_run'>): ReconcileSummary {
  return {
    from: new Date(from).toISOString(),
    to: new Date(to).toISOString(),
    dry_run,
    totals: [],
    breaks: 0,
    healed: 0,
    outside: 0,
    acknowledged: 0,
  };
}

/** The id of the workflow for a window. A request for the same window joins the running workflow. */
export function reconcileWorkflowId({ account, from, to, dry_run }: ReconcileInput): string {
  return `reconcile/${account}/${from}-${to}${dry_run ? '-dry' : ''}`;
}
