import { DEFAULT_CALL_POLICY, type CallPolicy } from '../shared/policy.js';

/**
 * The times and choices of a checkout; times are in milliseconds. Part of its input, so that a replay uses the same.
 */
export type CheckoutPolicy = CallPolicy & {
  /** The longest time between two retrieves of a pending charge. */
  readonly pollIntervalMs: number;
  /** After this time without an outcome, operators see an attention. */
  readonly attentionAfterMs: number;
  /** How long a checkout stays open after an unpaid end, so that it notices a late payment. */
  readonly unpaidGraceMs: number;
  /** Whether Tillflow returns money that arrives after the end was published, or keeps it and shows it to a person. */
  readonly latePayment: 'return' | 'keep';
  /** Minutes east of UTC of the calendar that gives a payment's transaction date. */
  readonly voidDateOffsetMinutes: number;
  /** A paid checkout continues as aftercare within this time after the next void cut-off; each one at its own time. */
  readonly aftercareSpreadMs: number;
  /** The workflow continues as new after this many events. */
  readonly maxHistoryEvents: number;
};

export const DEFAULT_POLICY: CheckoutPolicy = {
  ...DEFAULT_CALL_POLICY,
  pollIntervalMs: 25_000,
  attentionAfterMs: 60_000,
  unpaidGraceMs: 48 * 3_600_000,
  latePayment: 'return',
  voidDateOffsetMinutes: 0,
  aftercareSpreadMs: 6 * 3_600_000,
  maxHistoryEvents: 4_000,
};
