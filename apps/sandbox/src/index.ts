export { ApiError, type ApiErrorCode } from './api-error.js';
export { DEFAULT_ASSUMPTIONS, type Assumptions, type RateLimit } from './assumptions.js';
export type { Mark } from './control.js';
export type { Fault, FaultAction, FaultPlan, FaultState } from './faults.js';
export type { DisputeStatus, FailureCode } from './records.js';
export type { AccountJson, ChargeJson, EventJson, RefundJson, SourceJson, TransactionJson } from './render.js';
export type {
  CardJson,
  CustomerJson,
  DisputeJson,
  DocumentJson,
  OccurrenceJson,
  ReceiptJson,
  ScheduleJson,
  TransferJson,
} from './render-records.js';
export {
  createSandbox,
  type Observer,
  type Rotation,
  type Sandbox,
  type SandboxOptions,
  type WebhookSecrets,
  type WebhookSettings,
} from './sandbox.js';
export type { Seed, Seeded } from './seed.js';
export type { DeliveryJson, FaultLogEntry, SandboxState, Section } from './state.js';
export type { KeyUsed, Moment, RequestRecord } from './server.js';
export type { WebhookConfiguration } from './webhooks.js';
