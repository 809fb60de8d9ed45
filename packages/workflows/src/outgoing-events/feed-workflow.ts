import { makeContinueAsNewFunc, proxyActivities, setHandler, upsertMemo, workflowInfo } from '@temporalio/workflow';
import type { FeedCall, OutgoingEventActivities } from './activities.js';
import { eventQueue, wake, type EventFeedMemo } from './messages.js';

/** Each activity's input and result name the events of some minutes: tens of kilobytes. */
const MAX_HISTORY_EVENTS = 60;

/** Finds the events of all checkouts, and hands them over to the endpoints. It ends with the last endpoint. */
export async function eventFeed(input: FeedCall): Promise<void> {
  const { feedEndpoints } = proxyActivities<OutgoingEventActivities>({
    taskQueue: eventQueue(workflowInfo().taskQueue),
    // A retry goes on from the last heartbeat.
    startToCloseTimeout: '15 minutes',
    heartbeatTimeout: '10 seconds',
    retry: { initialInterval: '1 second', maximumInterval: '5 seconds' },
  });
  let isWoken = false;
  setHandler(wake, () => {
    isWoken = true;
  });
  let call = input;
  for (;;) {
    const options = { summary: 'Find events' } as const;
    const { hasEndpoints, completeUntil, ...next } = await feedEndpoints.executeWithOptions(options, [call]);
    call = next;
    upsertMemo({ since: completeUntil } satisfies EventFeedMemo);
    if (!hasEndpoints && !isWoken) return;
    isWoken = false;
    if (workflowInfo().historyLength >= MAX_HISTORY_EVENTS) {
      await makeContinueAsNewFunc<typeof eventFeed>({ memo: workflowInfo().memo ?? {} })(call);
    }
  }
}
