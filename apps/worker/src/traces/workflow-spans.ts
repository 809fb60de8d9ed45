import type { InjectedSinks } from '@temporalio/worker';
import { CHARGE_ID, type Tracer } from '@tillflow/telemetry';
import type { CheckoutMemo, TraceSinks } from '@tillflow/workflows';
import { aboutWorkflow } from './about-workflow.js';

/**
 * Takes the spans that workflows have finished. A worker without traces takes them too and does nothing: the API may
 * have traces before its workers have.
 */
export function workflowSpans(tracer: Tracer | undefined): InjectedSinks<TraceSinks> {
  return {
    traces: {
      ended: {
        fn({ workflowId, runId, memo }, { name, parent, spanId, startedAt, link }) {
          // Other workflows have other memos, without these fields.
          const { state } = (memo ?? {}) as Partial<CheckoutMemo>;
          tracer
            ?.begin({
              name,
              kind: 'internal',
              parent,
              spanId,
              startedAt,
              link,
              attributes: {
                ...aboutWorkflow({ workflowId, runId }),
                'tillflow.checkout.status': state?.status,
                [CHARGE_ID]: state?.attempts?.at(-1)?.charge_id ?? undefined,
              },
            })
            // By this machine's clock. The start is by Temporal's, which may be ahead.
            .end(Math.max(Date.now(), startedAt));
        },
      },
    },
  };
}
