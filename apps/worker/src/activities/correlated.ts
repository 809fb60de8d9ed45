import type { Context } from '@temporalio/activity';
import type { ActivityInboundCallsInterceptor, ActivityInterceptors } from '@temporalio/worker';
import { correlate } from '@tillflow/telemetry';

/** Ties what an activity logs, and what the client logs for it, to the workflow that asked for it. */
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
