export { ApiError, type ApiErrorCode } from './http/api-error.js';
export { DEFAULT_ASSUMPTIONS, type Assumptions, type RateLimit } from './assumptions.js';
export type { Mark } from './control/routes.js';
export type { Fault, FaultAction, FaultPlan, FaultState } from './faults/faults.js';
export type { DisputeStatus, FailureCode } from './records/records.js';
export type { AccountJson, ChargeJson, EventJson, RefundJson, SourceJson, TransactionJson } from './api/render.js';
export type {
  CardJson,
  CustomerJson,
  DisputeJson,
  DocumentJson,
  OccurrenceJson,
  ReceiptJson,
  ScheduleJson,
  TransferJson,
} from './api/render-records.js';
export {
  createSandbox,
  type Observer,
  type Rotation,
  type Sandbox,
  type SandboxOptions,
  type WebhookSecrets,
  type WebhookSettings,
} from './sandbox.js';
export type { Seed, Seeded } from './control/seed.js';
export type { DeliveryJson, FaultLogEntry, SandboxState, Section } from './control/state.js';
export type { KeyUsed, Moment, RequestRecord } from './http/server.js';
export type { WebhookConfiguration } from './provider/webhooks.js';
