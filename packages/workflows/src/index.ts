export type {
  ChargeFacts,
  CreateChargeCall,
  CreateSourceCall,
  ExpireChargeCall,
  CreateRefundCall,
  FindChargesCall,
  PaymentActivities,
  RefundFacts,
  SendWindow,
} from './activities.js';
export { DEFAULT_POLICY, type CheckoutPolicy } from './book/policy.js';
export type { AftercareInput } from './aftercare/workflow.js';
export type { CheckoutInput } from './checkout/workflow.js';
export {
  AFTERCARE_WORKFLOW,
  begin,
  BEGIN_UPDATE_ID,
  cancel,
  cancelRequest,
  CHECKOUT_WORKFLOW,
  hint,
  newAttempt,
  newAttemptRequest,
  refund,
  refundRequest,
  resolve,
  view,
  type Begun,
  type Hint,
  type NewAttemptRequest,
  type RefundRequest,
  type Refusal,
  type Resolution,
} from './messages.js';
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
  type CheckoutResult,
  type CheckoutState,
  type Refund,
  type TimelineEntry,
} from './view.js';
