import type { Break, ComparedSlice, Place, Rules, Window } from '@tillflow/domain';

/** How many more breaks and foreign charges the result takes. The totals count all of them. */
export type Room = { readonly breaks: number; readonly foreign: number };

type RunRules = Pick<Rules, 'now' | 'youngMs'>;

export type CompareCall = {
  readonly account: string;
  readonly window: Window;
  /** Where to begin. A retry of the same call continues from the place in its last heartbeat. */
  readonly place: Place;
  readonly rules: RunRules;
  readonly room: Room;
  /** The call ends after this many charges, and the next call continues. */
  readonly chargesPerCall: number;
};

export type ReceiptsCall = { readonly window: Window; readonly rules: RunRules };

/** A worker of an earlier release leaves the sums of the tills out. */
export type ComparedPage = Omit<ComparedSlice, 'days'> & Partial<Pick<ComparedSlice, 'days'>>;

type DailyCall = {
  /** When the run was due, in ms. */
  readonly due: number;
  /** As `ReconcilePolicy`: the window ends where all payments are at least this old at `due`, in ms. */
  readonly youngMs: number;
};

type HealCall = {
  /** Identifies the run in the checkouts' timelines. */
  readonly runId: string;
  readonly rules: RunRules;
  readonly account: string;
  readonly breaks: readonly Break[];
};

type RecallCall = {
  /** Refunds that were made outside. */
  readonly refundIds: readonly string[];
};

/** The worker's activities for a reconciliation. All may be retried. */
export type ReconciliationActivities = {
  /**
   * Compares the records of a span of time. Heartbeats carry the result so far. The result always fits into a history.
   */
  compareRecords(call: CompareCall): Promise<ComparedPage>;
  /** Compares the receipts issued in the window with the charges of their months. */
  compareReceipts(call: ReceiptsCall): Promise<readonly Break[]>;
  /** Hints each checkout to retrieve its charge. @returns for each break whether it is gone afterwards */
  healBreaks(call: HealCall): Promise<readonly boolean[]>;
  /**
   * The window of a daily run, in ms: the business days since the last completed daily run, at most 31, in the zone of
   * the worker's settings.
   */
  dailyWindow(call: DailyCall): Promise<{ readonly from: number; readonly to: number }>;
  /**
   * For runs started by a release without business days: the end of the window of the last completed daily run, in ms,
   * if it is before `before`; null for none.
   */
  lastDaily(call: { readonly before: number }): Promise<number | null>;
  /** Those of the refunds that an earlier run has reported. */
  recallReported(call: RecallCall): Promise<readonly string[]>;
};
