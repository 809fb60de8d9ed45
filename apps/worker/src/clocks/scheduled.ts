import type { Context } from '@temporalio/activity';
import type { ActivityInboundCallsInterceptor, ActivityInterceptors } from '@temporalio/worker';
import type { Clocks } from './clocks.js';

/** Takes from each task that it was scheduled at a time of Temporal's clock. */
export function scheduledAt({ temporal }: Clocks): (context: Context) => ActivityInterceptors {
  return ({ info }) => {
    const inbound: ActivityInboundCallsInterceptor = {
      execute(input, next) {
        temporal.hasReached(info.currentAttemptScheduledTimestampMs);
        return next(input);
      },
    };
    return { inbound };
  };
}
