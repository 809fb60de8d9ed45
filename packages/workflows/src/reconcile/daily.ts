import { DEFAULT_ACCOUNT } from '@tillflow/domain';
import { defineSearchAttributeKey } from '@temporalio/common';
import { workflowInfo } from '@temporalio/workflow';
import type { ReconcileInput } from './messages.js';

const DAY_MS = 86_400_000;
/** The longest window that a run compares. */
const LONGEST_MS = 31 * DAY_MS;

/** Written by the engine into what a Schedule starts: when it was due, however late it comes. */
const DUE_AT = defineSearchAttributeKey('TemporalScheduledStartTime', 'DATETIME');

/** The end of the day, in UTC, that a run compares which the Schedule starts: the one before the day it was due on. */
export function endOfDay(): number {
  const { typedSearchAttributes, startTime } = workflowInfo();
  const due = typedSearchAttributes.get(DUE_AT) ?? startTime;
  return Math.floor(due.getTime() / DAY_MS) * DAY_MS;
}

/**
 * That day; and what has passed since the last daily run that completed, if days were skipped or failed.
 * @param comparedUntil the end of what that run compared, in milliseconds; null when there is none.
 */
export function dailyInput(to: number, comparedUntil: number | null): ReconcileInput {
  const isToGoOn = comparedUntil !== null && comparedUntil < to && comparedUntil >= to - LONGEST_MS;
  return { account: DEFAULT_ACCOUNT, from: isToGoOn ? comparedUntil : to - DAY_MS, to, dry_run: false };
}
