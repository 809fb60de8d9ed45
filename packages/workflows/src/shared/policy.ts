import { plus, type Instant } from '@tillflow/domain';
import type { SendWindow } from '../checkout/activities.js';

/** The times a checkout keeps, all in milliseconds unless named otherwise. Given at the start, so that a replay sees the same. */
export type CheckoutPolicy = {
  /** A mutating request leaves within this time after it was decided, or never. */
  readonly sendWithinMs: number;
  /** Total time a mutating request may take. */
  readonly callDeadlineMs: number;
  /** Extra time before an absent charge is believed to stay absent. */
  readonly settleMs: number;
  /** Pauses between looks for an unknown outcome; the last one repeats. */
  readonly lookupDelaysMs: readonly number[];
  /** The longest time between two looks at a pending charge. */
  readonly pollIntervalMs: number;
  /** How long something may stay unresolved before it is shown to operators. */
  readonly attentionAfterMs: number;
  /** How long an unpaid end stays open for late news. */
  readonly unpaidGraceMs: number;
  /** How long after a repeated call the provider is asked once more, for a first one that came through late. */
  readonly lateEffectCheckMs: number;
  /** Whether money that arrives after the end was reported goes back by itself, or is kept and shown to a person. */
  readonly latePayment: 'return' | 'keep';
  /** Minutes east of UTC of the calendar that gives a payment's transaction date. */
  readonly voidDateOffsetMinutes: number;
  /** Events after which the workflow continues as new. */
  readonly maxHistoryEvents: number;
};

export const DEFAULT_POLICY: CheckoutPolicy = {
  sendWithinMs: 5_000,
  callDeadlineMs: 10_000,
  settleMs: 5_000,
  lookupDelaysMs: [1_000, 5_000, 30_000, 300_000, 3_600_000, 86_400_000],
  pollIntervalMs: 25_000,
  attentionAfterMs: 60_000,
  unpaidGraceMs: 48 * 3_600_000,
  lateEffectCheckMs: 300_000,
  latePayment: 'return',
  voidDateOffsetMinutes: 0,
  maxHistoryEvents: 4_000,
};

/** The pause before look number `index` (from 0). */
export function lookupDelay(policy: CheckoutPolicy, index: number): number {
  const { lookupDelaysMs } = policy;
  return lookupDelaysMs[Math.min(index, lookupDelaysMs.length - 1)] ?? policy.pollIntervalMs;
}

/** When a mutating call decided now may still leave, and when nothing of it can be under way any more. */
export function sendWindow(policy: CheckoutPolicy, now: Instant): SendWindow & { readonly inFlightUntil: Instant } {
  const sendBy = plus(now, policy.sendWithinMs);
  return {
    sendBy,
    deadlineMs: policy.callDeadlineMs,
    inFlightUntil: plus(sendBy, policy.callDeadlineMs + policy.settleMs),
  };
}
