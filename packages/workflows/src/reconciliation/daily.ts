import { DEFAULT_ACCOUNT } from '@tillflow/domain';
import { defineSearchAttributeKey } from '@temporalio/common';
import { workflowInfo } from '@temporalio/workflow';
import { DEFAULT_RECONCILE_POLICY, type ReconcileInput } from './messages.js';

const DAY_MS = 86_400_000;
/** The longest window of a run. */
const LONGEST_MS = 31 * DAY_MS;

/** Temporal sets this attribute of a run that a Schedule starts: the scheduled time, even if the run starts late. */
const DUE_AT = defineSearchAttributeKey('TemporalScheduledStartTime', 'DATETIME');

/** The scheduled time of this run in milliseconds, or its start time when no Schedule started it. */
export function dueAt(): number {
  const { typedSearchAttributes, startTime } = workflowInfo();
  return (typedSearchAttributes.get(DUE_AT) ?? startTime).getTime();
}

/**
 * For runs started by a release without business days: the end of the last day, in UTC, whose payments are all old
 * enough at `due`. The next run continues from there, so a younger payment would never be compared.
 */
export function endOfDay(due: number): number {
  return Math.floor((due - DEFAULT_RECONCILE_POLICY.youngMs) / DAY_MS) * DAY_MS;
}

/**
 * For runs started by a release without business days: the window that ends at `to`, one day, or everything since
 * the last completed daily run if days were skipped or failed.
 * @param comparedUntil the end of the window of that run, in milliseconds; null when there is none
 */
export function dailyInput(to: number, comparedUntil: number | null): ReconcileInput {
  const isGap = comparedUntil !== null && comparedUntil < to;
  const from = isGap ? Math.max(comparedUntil, to - LONGEST_MS) : to - DAY_MS;
  return { account: DEFAULT_ACCOUNT, from, to, dry_run: false };
}
