export { Tillflow, type TillflowOptions } from './tillflow.js';
export type { Checkouts } from './checkouts.js';
export {
  type ErrorCode,
  type ErrorDetails,
  type Money,
  NotPaidError,
  NotRefundedError,
  type RepeatWith,
  type SdkCode,
  TillflowError,
} from './errors.js';
export type * from './types.js';
export {
  type WebhookEvent,
  type WebhookEventType,
  type WebhookHeaders,
  type WebhookRefusal,
  webhooks,
  type WebhookSignOptions,
  WebhookVerificationError,
  type WebhookVerifyOptions,
} from './webhooks.js';
