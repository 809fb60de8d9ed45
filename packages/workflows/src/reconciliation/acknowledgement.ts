import { sleep } from '@temporalio/workflow';

/** Temporal keeps the checkout of the break for a year and its retention, so this is longer. */
const KEPT_FOR = '731 days';

/**
 * One acknowledged break, for two years. Its memo is the record, which the starter writes; while the workflow runs, no
 * retention removes it. An operator who terminates the workflow takes the acknowledgement back.
 */
export async function acknowledgement(): Promise<void> {
  await sleep(KEPT_FOR, { summary: 'Keep the acknowledgement' });
}
