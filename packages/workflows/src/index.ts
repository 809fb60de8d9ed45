export type {
  ChargeFacts,
  CreateChargeCall,
  CreateSourceCall,
  ExpireChargeCall,
  FindChargeCall,
  PaymentActivities,
  SendWindow,
} from './activities.js';
export { DEFAULT_POLICY, type CheckoutPolicy } from './checkout/policy.js';
export type { CheckoutInput } from './checkout/workflow.js';
export { begin, BEGIN_UPDATE_ID, cancel, cancelRequest, CHECKOUT_WORKFLOW, hint, view, type Hint } from './messages.js';
export type { Outcome } from './outcome.js';
export { searchAttributes } from './search-attributes.js';
export {
  initialState,
  toCheckout,
  type Attention,
  type AttentionCode,
  type AttemptView,
  type Checkout,
  type CheckoutIntent,
  type CheckoutMemo,
  type CheckoutState,
  type TimelineEntry,
} from './view.js';
