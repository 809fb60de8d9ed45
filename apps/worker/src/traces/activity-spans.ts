import type { Context } from '@temporalio/activity';
import type { ActivityInboundCallsInterceptor, ActivityInterceptors } from '@temporalio/worker';
import { ending, enterSpan, type Tracer } from '@tillflow/telemetry';
import { traceparentIn } from '@tillflow/workflows';
import { aboutWorkflow } from './about-workflow.js';

/** A span for each activity, within that of the message which caused it. What no message caused begins a trace. */
export function traced(tracer: Tracer): (context: Context) => ActivityInterceptors {
  return ({ info }) => {
    const { workflowExecution, activityType, activityId, attempt, isLocal } = info;
    const inbound: ActivityInboundCallsInterceptor = {
      execute(input, next) {
        const span = tracer.begin({
          name: `RunActivity:${activityType}`,
          kind: 'internal',
          parent: traceparentIn(input.headers),
        });
        if (span.isSampled)
          span.set({
            ...(workflowExecution === undefined ? {} : aboutWorkflow(workflowExecution)),
            temporalActivityId: activityId,
            'tillflow.activity.attempt': attempt,
            'tillflow.activity.is_local': isLocal,
          });
        return ending(span, () => enterSpan(span, () => next(input)));
      },
    };
    return { inbound };
  };
}
