import { checkoutId, checkoutWorkflowId, type CheckoutKey } from '@tillflow/domain';
import { addCorrelation, annotate, CHECKOUT_ID } from '@tillflow/telemetry';

/** The request is about this checkout: its log lines and its span say so. */
export function isAbout(key: CheckoutKey): void {
  addCorrelation({ workflow_id: checkoutWorkflowId(key) });
  annotate({ [CHECKOUT_ID]: checkoutId(key) });
}
