import type { Context } from '@temporalio/activity';
import type { ActivityInboundCallsInterceptor, ActivityInterceptors } from '@temporalio/worker';
import { correlate } from '@tillflow/telemetry';
import type { Clocks } from '../clocks/clocks.js';

/** Adds the workflow to every log line of an activity, and to those of the client that it calls. */
export function correlated({ info }: Context): ActivityInterceptors {
  const { workflowExecution, activityType, activityId, attempt } = info;
  const fields = {
    ...(workflowExecution === undefined
      ? {}
      : { workflow_id: workflowExecution.workflowId, run_id: workflowExecution.runId }),
    activity: activityType,
    activity_id: activityId,
    attempt,
  };
  const inbound: ActivityInboundCallsInterceptor = {
    execute: (input, next) => correlate(fields, () => next(input)),
  };
  return { inbound };
}

/**
 * Passes the scheduled time of the task to the worker's estimate of Temporal's clock: the clock has reached that time.
 * A local activity is left out, because the worker schedules it itself, by the machine's clock.
 */
export function scheduledAt({ temporal }: Pick<Clocks, 'temporal'>): (context: Context) => ActivityInterceptors {
  return ({ info }) => {
    const inbound: ActivityInboundCallsInterceptor = {
      execute(input, next) {
        if (!info.isLocal) temporal.hasReached(info.currentAttemptScheduledTimestampMs);
        return next(input);
      },
    };
    return { inbound };
  };
}
