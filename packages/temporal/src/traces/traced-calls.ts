import type { Headers } from '@temporalio/common';
import type { WorkflowClientInterceptor } from '@temporalio/client';
import { withTraceparent } from '@tillflow/workflows';

/**
 * Makes a call in a span of the program's traces.
 * @param name as Temporal's own packages name it: `StartWorkflow:checkout`, `SignalWorkflow:hint`, `StartWorkflowUpdate:refund`
 * @param call gets the `traceparent` that the message carries; undefined when the call belongs to no trace
 */
export type TraceCall = <T>(
  name: string,
  attributes: Readonly<Record<string, string>>,
  call: (traceparent: string | undefined) => Promise<T>,
) => Promise<T>;

/** Temporal's own name for the id of a workflow in a span. */
export const WORKFLOW_ID = 'temporalWorkflowId';

/** Makes the call only. */
export const untraced: TraceCall = (_name, _attributes, call) => call(undefined);

/** Gives each message to a workflow a span, and the trace to the workflow. Reads have neither. */
export function tracedCalls(trace: TraceCall): WorkflowClientInterceptor {
  const send = <T>(name: string, workflowId: string, headers: Headers, call: (headers: Headers) => Promise<T>) =>
    trace(name, { [WORKFLOW_ID]: workflowId }, (traceparent) =>
      call(traceparent === undefined ? headers : withTraceparent(headers, traceparent)),
    );
  return {
    startWithDetails: (input, next) =>
      send(`StartWorkflow:${input.workflowType}`, input.options.workflowId, input.headers, (headers) =>
        next({ ...input, headers }),
      ),
    signal: (input, next) =>
      send(`SignalWorkflow:${input.signalName}`, input.workflowExecution.workflowId, input.headers, (headers) =>
        next({ ...input, headers }),
      ),
    signalWithStart: (input, next) =>
      send(`SignalWithStartWorkflow:${input.workflowType}`, input.options.workflowId, input.headers, (headers) =>
        next({ ...input, headers }),
      ),
    startUpdate: (input, next) =>
      send(`StartWorkflowUpdate:${input.updateName}`, input.workflowExecution.workflowId, input.headers, (headers) =>
        next({ ...input, headers }),
      ),
  };
}
