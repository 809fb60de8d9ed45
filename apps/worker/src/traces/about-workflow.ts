import { checkoutId, parseCheckoutWorkflowId } from '@tillflow/domain';
import { CHECKOUT_ID } from '@tillflow/telemetry';

/** The attributes of a span about a run of a workflow. Temporal's own packages use the first two names. */
export function aboutWorkflow({ workflowId, runId }: { readonly workflowId: string; readonly runId: string }) {
  const checkout = parseCheckoutWorkflowId(workflowId);
  return {
    temporalWorkflowId: workflowId,
    run_id: runId,
    [CHECKOUT_ID]: checkout === null ? undefined : checkoutId(checkout),
  };
}
