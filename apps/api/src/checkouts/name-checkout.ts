import { checkoutId, checkoutWorkflowId, type CheckoutKey } from '@tillflow/domain';
import { addCorrelation, annotate, CHECKOUT_ID } from '@tillflow/telemetry';

/** Names the checkout of the current request in its log lines and in its span. */
export function nameCheckout(key: CheckoutKey): void {
  addCorrelation({ workflow_id: checkoutWorkflowId(key) });
  annotate({ [CHECKOUT_ID]: checkoutId(key) });
}
