export { PaymentsClient } from './client.js';
export type { Clock } from './clock.js';
export { REQUEST_CHANNEL, type RequestReport } from './diagnostics.js';
export {
  AuthenticationError,
  ConfigurationError,
  ConnectionError,
  IntegrityError,
  InvalidRequestError,
  NotFoundError,
  type Outcome,
  PaymentsError,
  type PaymentsErrorDetails,
  PermissionError,
  RateLimitError,
  RequestAbortedError,
  ServerError,
  TimeoutError,
  UnexpectedResponseError,
} from './errors.js';
export type { KeyKind, Logger, PaymentsClientOptions, RequestOptions } from './options.js';
export type { List, ListOrder, ListParams } from './paging.js';
export {
  type WebhookConstructOptions,
  type WebhookHeaders,
  type WebhookRefusal,
  webhooks,
  type WebhookSignOptions,
  WebhookVerificationError,
} from './webhooks.js';

export type { ChargeCreateParams, Charges, RefundCreateParams } from './charges/charges.js';
export type { Charge, ChargeFailureCode, ChargeId, ChargeStatus, TransactionFees } from './charges/schema.js';
export type { Document } from './documents/schema.js';
export type { Events } from './events/events.js';
export type { Event, EventData, EventId, EventKey } from './events/schema.js';
export type { Refund, RefundId } from './refunds/schema.js';
export type {
  Address,
  ChargeStatusOfSource,
  ProviderReferences,
  ScannableCode,
  Source,
  SourceId,
  SourceReferences,
} from './sources/schema.js';
export type { SourceCreateParams, SourceParams, Sources } from './sources/sources.js';
