import { sleep, workflowInfo } from '@temporalio/workflow';
import { clock } from '../shared/clock.js';
import type { CounterLinkMemo } from './messages.js';

/**
 * A link of the counter, which is valid as long as its run is open: until it expires, or the API terminates the run to
 * revoke it. So a link begins and ends without a worker: its token also contains the time at which it expires.
 */
export async function counterLink(): Promise<void> {
  const { link } = workflowInfo().memo as CounterLinkMemo;
  await sleep(Math.max(Date.parse(link.expires_at) - clock(), 1));
}
