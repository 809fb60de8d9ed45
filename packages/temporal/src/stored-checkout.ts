import type { WorkflowExecutionInfo } from '@temporalio/client';
import {
  initialState,
  type CheckoutIntent,
  type CheckoutMemo,
  type CheckoutState,
  type StoredRefund,
  type TimelineEntry,
} from '@tillflow/workflows';

/** One checkout as the engine keeps it. */
export type StoredCheckout = {
  readonly intent: CheckoutIntent;
  readonly state: CheckoutState;
  readonly requestNonce: string;
  readonly timeline: readonly TimelineEntry[];
  readonly refunds: readonly StoredRefund[];
  /** Grows with each change; 0 until the first report. */
  readonly version: number;
  /** Its workflow takes no message any more: nothing will change. */
  readonly closed: boolean;
};

/** The memo is written by this product alone; a workflow without it is none of our checkouts, and null. */
export function toStored({ memo, status }: Pick<WorkflowExecutionInfo, 'memo' | 'status'>): StoredCheckout | null {
  const { intent, state, requestNonce, timeline, refunds, version } = (memo ?? {}) as Partial<CheckoutMemo>;
  if (intent === undefined) return null;
  return {
    intent,
    state: state ?? initialState(intent),
    requestNonce: requestNonce ?? '',
    timeline: timeline ?? [],
    refunds: refunds ?? [],
    version: version ?? 0,
    closed: status.name !== 'RUNNING',
  };
}

/** The newest attempt that the checkout shows; 1 while its first is not written down. */
export function newestAttempt({ state }: Pick<StoredCheckout, 'state'>): number {
  return Math.max(1, ...state.attempts.map(({ number }) => number));
}
