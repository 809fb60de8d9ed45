export { CheckoutList, type ListPage } from './checkout-list.js';
export type { Payload } from '@temporalio/common';
export { paidCheckouts, runningCheckouts, stuckWorkflows, type CheckoutFilters } from './checkout-queries.js';
export { CheckoutNotFoundError, Checkouts, UnheardError, type Asked, type StoredPage } from './checkouts.js';
export {
  clockName,
  readTemporalClock,
  workerClocks,
  type Offsets,
  type Reading,
  type WorkerClock,
} from './clock-queue.js';
export { connectionSettings, openTemporal, usesTls, type ConnectionSettings, type Temporal } from './connection.js';
export { dataConverter, FAILURE_CONVERTER_PATH, isEncrypting, warnIfUnencrypted } from './data-converter.js';
export { EncryptionCodec, UnreadablePayloadError } from './encryption-codec.js';
export { isClosed, isTemporalFailure, isTooSlow } from './failures.js';
export { isLiveKey, isProviderPlain, isPublished, publishedSecrets, unsafeWithLiveKey } from './live-key.js';
export { readPlace, writePlace, type ListPlace } from './list-place.js';
export { livenessOf } from './liveness.js';
export { pauseAfter, persist, type Patience } from './patience.js';
export type { PayloadKey } from './payload-keys.js';
export { PlansUnderWay, type PlanResolved, type PlanUnderWay } from './plans.js';
export {
  ReconciliationNotFoundError,
  Reconciliations,
  type FullReconciliation,
  type StoredReconciliation,
} from './reconciliations.js';
export { Seal } from './seal.js';
export { nameOnQueue, pausedSchedules, setUpSchedules } from './schedules.js';
export {
  flag,
  integer,
  list,
  readSettings,
  SettingsError,
  temporalSettings,
  type TemporalSettings,
} from './settings.js';
export { SetupConflictError, setUpNamespace, type SetupStep } from './setup.js';
export { declareWithoutEffect, hadNoEffect } from './sendings.js';
export { newestAttempt, type StoredCheckout } from './stored-checkout.js';
export { describeTaskQueue, livingPollers, type TaskQueue } from './task-queues.js';
export { whyUnreachable } from './unreachable.js';
export { TooSlowError, within, type Bounded, type Lane } from './within.js';
