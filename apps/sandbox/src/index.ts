export type { Moment } from './api/handler.js';
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
export type { KeyUsed, RequestRecord } from './api/request-log.js';
export { DEFAULT_ASSUMPTIONS, type Assumptions, type RateLimit } from './assumptions.js';
export type { Rotation, WebhookSecrets, WebhookSettings } from './control/control.js';
export type { Mark, WebhookConfiguration } from './control/inputs.js';
export type { Seed, Seeded } from './control/seed-schema.js';
export type { DeliveryJson, SandboxState, Section } from './control/state.js';
export type { FaultLogEntry } from './control/fault-log.js';
export type { FaultState } from './faults/faults.js';
export type { Fault, FaultAction, FaultPlan } from './faults/plan.js';
export { ApiError, type ApiErrorCode } from './http/api-error.js';
export type { DisputeStatus, FailureCode } from './records/records.js';
export { createSandbox, type Observer, type Sandbox, type SandboxOptions } from './sandbox.js';
