export { PaymentsClient } from './client.js';
export { systemClock, type Clock } from './clock.js';
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
export type { Listing } from './listing.js';
export type { List, ListOrder, ListParams } from './paging.js';
export type { Search, SearchParams } from './search.js';
export { UnreadableRecord } from './unreadable.js';
export {
  type WebhookConstructOptions,
  type WebhookHeaders,
  type WebhookRefusal,
  webhooks,
  type WebhookSignOptions,
  WebhookVerificationError,
} from './webhooks.js';

export { MAX_DOCUMENT_BYTES } from './assumptions.js';
export { mediaTypeOfDocument } from './documents/upload.js';
export { scheduleContradictions } from './schedules/intent.js';
export type { AccountSettings, AccountUpdateParams } from './account/account.js';
export type { Account, AccountVersions } from './account/schema.js';
export type {
  ChargeScheduleFilters,
  ChargeSchedules,
  ChargeScheduleSearchParams,
} from './charge-schedules/charge-schedules.js';
export type { ChargeCreateParams, Charges, RefundCreateParams } from './charges/charges.js';
export type {
  Charge,
  ChargeFailureCode,
  ChargeId,
  ChargeStatus,
  PlatformFee,
  TransactionFees,
} from './charges/schema.js';
export type { Customers, CardUpdateParams } from './customers/customers.js';
export type { Card, CardId, Customer, CustomerId } from './customers/schema.js';
export type { Disputes } from './disputes/disputes.js';
export type { Dispute, DisputeId, DisputeStatus } from './disputes/schema.js';
export type { Document, DocumentId } from './documents/schema.js';
export type { DocumentCreateParams } from './documents/upload.js';
export type { Events } from './events/events.js';
export type { Event, EventData, EventId, EventKey, WebhookDelivery } from './events/schema.js';
export type { ReceiptFilters, Receipts, ReceiptSearchParams } from './receipts/receipts.js';
export type { Receipt, ReceiptId } from './receipts/schema.js';
export type { Refund, RefundId } from './refunds/schema.js';
export type {
  Occurrence,
  OccurrenceId,
  OccurrenceStatus,
  Schedule,
  ScheduledCharge,
  ScheduledTransfer,
  ScheduleId,
  ScheduleOn,
  SchedulePeriod,
  ScheduleStatus,
} from './schedules/schema.js';
export type {
  ScheduleCreateParams,
  ScheduledChargeParams,
  ScheduledTransferParams,
  Schedules,
} from './schedules/schedules.js';
export type {
  Address,
  ChargeStatusOfSource,
  ProviderReferences,
  QrSettings,
  ScannableCode,
  Source,
  SourceId,
  SourceReferences,
} from './sources/schema.js';
export type { SourceCreateParams, SourceParams, Sources } from './sources/sources.js';
export type { Transaction, TransactionId } from './transactions/schema.js';
export type { Transactions } from './transactions/transactions.js';
export type { TransferSchedules } from './transfer-schedules/transfer-schedules.js';
