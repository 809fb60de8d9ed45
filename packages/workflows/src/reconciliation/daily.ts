import { DEFAULT_ACCOUNT } from '@tillflow/domain';
import { defineSearchAttributeKey } from '@temporalio/common';
import { workflowInfo } from '@temporalio/workflow';
import { DEFAULT_RECONCILE_POLICY, type ReconcileInput } from './messages.js';

const DAY_MS = 86_400_000;
/** The longest window that a run compares. */
const LONGEST_MS = 31 * DAY_MS;

/** Written by the engine into what a Schedule starts: when it was due, however late it comes. */
const DUE_AT = defineSearchAttributeKey('TemporalScheduledStartTime', 'DATETIME');

/** When this run was due, in milliseconds; when it was started, where no Schedule did. */
export function dueAt(): number {
  const { typedSearchAttributes, startTime } = workflowInfo();
  return (typedSearchAttributes.get(DUE_AT) ?? startTime).getTime();
}

/**
 * The end of the last day, in UTC, all of whose payments are old enough to be compared at `due`. One that is not would
 * be taken for compared by the next run.
 */
export function endOfDay(due: number): number {
  return Math.floor((due - DEFAULT_RECONCILE_POLICY.youngMs) / DAY_MS) * DAY_MS;
}

/**
 * That day; and what has passed since the last daily run that completed, if days were skipped or failed.
 * @param comparedUntil the end of what that run compared, in milliseconds; null when there is none.
 */
export function dailyInput(to: number, comparedUntil: number | null): ReconcileInput {
  const isToGoOn = comparedUntil !== null && comparedUntil < to;
  const from = isToGoOn ? Math.max(comparedUntil, to - LONGEST_MS) : to - DAY_MS;
  return { account: DEFAULT_ACCOUNT, from, to, dry_run: false };
}
