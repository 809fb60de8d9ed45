export { PaymentsClient } from './client.js';
export { systemClock, type Clock } from './http/deadline.js';
export { REQUEST_CHANNEL, type RequestReport } from './http/reporting.js';
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
export type { Listing } from './pagination/listing.js';
export type { List, ListOrder, ListParams } from './pagination/list.js';
export type { Search, SearchParams } from './pagination/search.js';
export { UnreadableRecord } from './reply/records.js';
export {
  type WebhookConstructOptions,
  type WebhookHeaders,
  type WebhookRefusal,
  webhooks,
  type WebhookSignOptions,
  WebhookVerificationError,
} from './webhooks.js';

export { MAX_DOCUMENT_BYTES } from './assumptions.js';
export { mediaTypeOfDocument } from './resources/documents/upload.js';
export { scheduleContradictions } from './resources/schedules/comparison.js';
export type { AccountSettings, AccountUpdateParams } from './resources/account/account.js';
export type { Account, AccountVersions } from './resources/account/schema.js';
export type {
  ChargeScheduleFilters,
  ChargeSchedules,
  ChargeScheduleSearchParams,
} from './resources/schedules/charge-schedules.js';
export type { ChargeCreateParams, Charges, RefundCreateParams } from './resources/charges/charges.js';
export type {
  Charge,
  ChargeFailureCode,
  ChargeId,
  ChargeStatus,
  PlatformFee,
  Refund,
  RefundId,
  TransactionFees,
} from './resources/charges/schema.js';
export type { Customers, CardUpdateParams } from './resources/customers/customers.js';
export type { Card, CardId, Customer, CustomerId } from './resources/customers/schema.js';
export type { Disputes } from './resources/disputes/disputes.js';
export type { Dispute, DisputeId, DisputeStatus } from './resources/disputes/schema.js';
export type { Document, DocumentId } from './resources/documents/schema.js';
export type { DocumentCreateParams } from './resources/documents/upload.js';
export type { Events } from './resources/events/events.js';
export type { Event, EventData, EventId, EventKey, WebhookDelivery } from './resources/events/schema.js';
export type { ReceiptFilters, Receipts, ReceiptSearchParams } from './resources/receipts/receipts.js';
export type { Receipt, ReceiptId } from './resources/receipts/schema.js';
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
} from './resources/schedules/schema.js';
export type {
  ScheduleCreateParams,
  ScheduledChargeParams,
  ScheduledTransferParams,
  Schedules,
} from './resources/schedules/schedules.js';
export type {
  Address,
  ChargeStatusOfSource,
  ProviderReferences,
  QrSettings,
  ScannableCode,
  Source,
  SourceId,
  SourceReferences,
} from './resources/sources/schema.js';
export type { SourceCreateParams, SourceParams, Sources } from './resources/sources/sources.js';
export type { Transaction, TransactionId } from './resources/transactions/schema.js';
export type { Transactions } from './resources/transactions/transactions.js';
export type { TransferSchedules } from './resources/schedules/transfer-schedules.js';
