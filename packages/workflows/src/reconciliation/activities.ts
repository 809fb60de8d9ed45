import type { Break, CurrencyTotals, Foreign, Place, Rules, Window } from '@tillflow/domain';

/** How much is still told of what is found; everything is counted. */
export type Room = { readonly breaks: number; readonly foreign: number };

export type CompareCall = {
  readonly account: string;
  readonly window: Window;
  /** Where to begin: a later try of the same call goes on from where its heartbeats tell. */
  readonly place: Place;
  readonly rules: Pick<Rules, 'now' | 'youngMs'>;
  readonly room: Room;
  /** After this many charges the call ends, and another goes on. */
  readonly chargesPerCall: number;
};

/** What one call found. Small enough for a history, whatever there was to find. */
export type Compared = {
  readonly totals: readonly CurrencyTotals[];
  readonly breaks: readonly Break[];
  readonly foreign: readonly Foreign[];
  /** Where the next call begins; null at the end. */
  readonly next: Place | null;
};

export type ReceiptsCall = { readonly account: string; readonly window: Window; readonly rules: CompareCall['rules'] };

export type HealCall = {
  /** Names the run in the checkouts' timelines. */
  readonly runId: string;
  readonly rules: CompareCall['rules'];
  readonly account: string;
  readonly breaks: readonly Break[];
};

export type RecallCall = {
  /** Refunds that were made outside. */
  readonly refundIds: readonly string[];
};

/** What a reconciliation asks of the worker. All of it may be tried again. */
export type ReconciliationActivities = {
  /** Compares a stretch of the three books. Heartbeats carry what was found so far, and where. */
  compareBooks(call: CompareCall): Promise<Compared>;
  /** Compares the receipts issued in the window with the charges of their months. */
  compareReceipts(call: ReceiptsCall): Promise<readonly Break[]>;
  /** Lets each checkout look at its charge, and tells which breaks were then seen to be gone, in the order given. */
  healBreaks(call: HealCall): Promise<readonly boolean[]>;
  /** The end of what the last daily run compared that completed and ended before `before`, in ms; null for none. */
  lastDaily(call: { readonly before: number }): Promise<number | null>;
  /** Which of the refunds an earlier run has reported. */
  recallReported(call: RecallCall): Promise<readonly string[]>;
};
