import { condition, setCurrentDetails, workflowInfo } from '@temporalio/workflow';
import type { PauseMemo } from './messages.js';

/**
 * Marks an account as paused for as long as its run is open. It does nothing else, so a pause begins and ends without a
 * worker: the command line terminates the run to resume. A cancel in Temporal's UI ends it, too, once a worker runs.
 */
export async function pause(): Promise<void> {
  const { reason, by, since } = workflowInfo().memo as PauseMemo;
  setCurrentDetails(
    [
      `- New checkouts and new attempts are **refused** since ${since}, by ${by}: ${reason}`,
      '- Open checkouts, refunds and reads continue',
      '- Next: `tillflow resume` ends this workflow',
    ].join('\n'),
  );
  await condition(() => false);
}
