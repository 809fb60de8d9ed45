export { RECONCILIATION } from './checkout/model/timeline.js';
export type {
  ChargeFacts,
  RefundRights,
  RefundRightsCall,
  CreateChargeCall,
  CreateSourceCall,
  ExpireChargeCall,
  CreateRefundCall,
  FindChargesCall,
  Followed,
  PaymentActivities,
  PaymentWanted,
  RefundFacts,
} from './checkout/activities.js';
export { isReturnUnfinished, reopen, showsPayment } from './checkout/model/reopen.js';
export { DEFAULT_POLICY, type CheckoutPolicy } from './checkout/policy.js';
export { LOCAL_CALL_MS, type SendWindow } from './shared/policy.js';
export type { Attributed } from './shared/requester.js';
export type { EventsRead, EventTailActivities, ReadEventsCall } from './event-tail/activities.js';
export {
  eventTails,
  findEventTail,
  isUnroutable,
  latestNotices,
  latestUnplaced,
  MAX_NOTICES,
  MAX_UNPLACED,
  type EventTailMemo,
  type TailNotice,
  type TailNoticeCode,
  type UnplacedEvent,
} from './event-tail/memo.js';
export { retryAt } from './event-tail/tail.js';
export type { EventTailInput } from './event-tail/workflow.js';
export { addNotice, backfill, dismissNotice, type EventCounts } from './event-tail/messages.js';
export type { CommandActivities, CommandOutcome, FindPlansCall, FoundPlan } from './commands/activities.js';
export {
  COMMAND_WORKFLOW,
  type Change,
  type Command,
  type CommandAudit,
  type CommandFailure,
  type CommandInput,
  type CommandMemo,
  type CommandResult,
  type Done,
  type PendingDecision,
  type PlanDecision,
  type Rejection,
  resolvePlan,
} from './commands/messages.js';
export {
  AFTERCARE_WORKFLOW,
  begin,
  BEGIN_UPDATE_ID,
  cancel,
  cancelRequest,
  CHECKOUT_WORKFLOW,
  hint,
  hintNow,
  newAttempt,
  newAttemptRequest,
  decideRefund,
  refund,
  refundRequest,
  resolve,
  view,
  type AftercareInput,
  type Begun,
  type CheckoutInput,
  type Hint,
  type NewAttemptRequest,
  type RefundDecision,
  type RefundRequest,
  type Refusal,
} from './checkout/messages.js';
export { openedMemo, type Opening } from './checkout/memo.js';
export type { Outcome } from './shared/outcome.js';
export { ADOPTABLE_ID, type Resolution } from './shared/resolution.js';
export type { CheckoutSinks, Happened } from './checkout/counting.js';
export {
  CHECKOUT_EVENTS,
  FIRST_QR_WITHIN_MS,
  type CheckoutEvent,
  type PublishedEvents,
} from './checkout/published-events.js';
export { slipReferencesOf, type Payment, type PaymentDetails } from './checkout/payment.js';
export { changingAttributes, searchable, searchAttributes } from './checkout/search-attributes.js';
export {
  ABANDONED,
  acceptedChargeOf,
  ATTENTION_CODES,
  expectedKind,
  initialState,
  refundablePayment,
  toCheckout,
  isDecidedAs,
  toRefund,
  type Attention,
  type AttentionCode,
  type AttemptView,
  type Checkout,
  type CheckoutIntent,
  type CheckoutMemo,
  type CheckoutResult,
  type CheckoutState,
  type Refund,
  type Store,
  type StoredRefund,
  type TimelineEntry,
} from './checkout/types.js';
export type {
  DeliverCall,
  Delivery,
  DeliveryRecord,
  EventsListed,
  FeedCall,
  FeedResult,
  ListEventsCall,
  OutgoingEventActivities,
} from './outgoing-events/activities.js';
export {
  change as changeEndpoint,
  DEFAULT_ENDPOINT_POLICY,
  due,
  EVENT_ENDPOINT_WORKFLOW,
  EVENT_FEED_WORKFLOW,
  eventEndpointWorkflowId,
  eventFeedWorkflowId,
  eventQueue,
  FOUND_WITHIN_MS,
  GONE,
  MAX_ENDPOINTS,
  originOf,
  OTHER_ENDPOINT,
  SEALED_MEANWHILE,
  SHOWN_WITHIN_MS,
  replay as replayEvents,
  test as testEndpoint,
  wake,
  type DisabledBecause,
  type DueEvent,
  type EndpointChange,
  type EndpointHealth,
  type EndpointPolicy,
  type EndpointSecrets,
  type EndpointSettings,
  type EventEndpointInput,
  type EventEndpointMemo,
  type EventFeedMemo,
  type EventRange,
  type TimeRange,
} from './outgoing-events/messages.js';
export {
  COUNTER_LINK_WORKFLOW,
  counterLinkWorkflowId,
  type CounterLink,
  type CounterLinkMemo,
} from './counter-links/messages.js';
export { PAUSE_WORKFLOW, pauseWorkflowId, type PauseMemo } from './pause/messages.js';
export type { CompareCall, ReconciliationActivities } from './reconciliation/activities.js';
export {
  ACKNOWLEDGEMENT_WORKFLOW,
  acknowledgementWorkflowId,
  DEFAULT_RECONCILE_POLICY,
  emptySummary,
  RECONCILE_WORKFLOW,
  reconcileWorkflowId,
  type ReconcileInput,
  type ReconcileMemo,
  type ReconcileResult,
  type ReconcileSummary,
  type AcknowledgementMemo,
} from './reconciliation/messages.js';
export { traceparentIn, withTraceparent } from './traces/trace-header.js';
export type { TraceSinks, WorkflowSpan } from './traces/workflow-span.js';
