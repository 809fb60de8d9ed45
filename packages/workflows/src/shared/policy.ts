import { plus, type Instant } from '@tillflow/domain';

/** The times of calls to the provider, in milliseconds. Part of a workflow's input, so that a replay uses the same. */
export type CallPolicy = {
  /** The worker sends a mutating request within this time after the workflow decided it, or never. */
  readonly sendWithinMs: number;
  /** The total time that a mutating request may take. */
  readonly callDeadlineMs: number;
  /** Extra time after a call's deadline. Until it is over, the call may still take effect at the provider. */
  readonly settleMs: number;
  /** A worker that sends no heartbeat for this long during a mutating call is lost; the outcome is unknown. */
  readonly heartbeatMs: number;
  /** Delays between lookups of an unknown outcome; the last one repeats. */
  readonly lookupDelaysMs: readonly number[];
  /** How long after a call was given up the provider is asked once more whether it took effect. */
  readonly lateEffectCheckMs: number;
};

export const DEFAULT_CALL_POLICY: CallPolicy = {
  sendWithinMs: 5_000,
  callDeadlineMs: 10_000,
  settleMs: 5_000,
  heartbeatMs: 6_000,
  lookupDelaysMs: [1_000, 5_000, 30_000, 300_000, 3_600_000, 86_400_000],
  lateEffectCheckMs: 300_000,
};

/** A local activity ends within this time. Milliseconds. */
export const LOCAL_CALL_MS = 5_000;

/** When a mutating call may leave, and how long it may take. A call that is late is not sent. */
export type SendWindow = {
  /** The request's first byte leaves before this instant (ms since 1970, UTC), or never. */
  readonly sendBy: number;
  /** The total time that the call may take, in milliseconds. */
  readonly deadlineMs: number;
  /** A worker that sends no heartbeat for this long is lost, in milliseconds. */
  readonly heartbeatMs: number;
};

/** The delay before the lookup number `index` (from 0), in milliseconds. */
export function lookupDelay({ lookupDelaysMs, lateEffectCheckMs }: CallPolicy, index: number): number {
  return lookupDelaysMs[index] ?? lookupDelaysMs.at(-1) ?? lateEffectCheckMs;
}

/** The send window of a call that is decided now; `inFlightUntil`: the call can take no effect after this. */
export function sendWindow(policy: CallPolicy, now: Instant): SendWindow & { readonly inFlightUntil: Instant } {
  const sendBy = plus(now, policy.sendWithinMs);
  const inFlightUntil = plus(sendBy, policy.callDeadlineMs + policy.settleMs);
  const { callDeadlineMs: deadlineMs, heartbeatMs } = policy;
  return { sendBy, deadlineMs, heartbeatMs, inFlightUntil };
}
