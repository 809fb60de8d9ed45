export { accountSettings } from './accounts/account-settings.js';
export { Accounts } from './accounts/accounts.js';
export { isSame, type Account, type Environment } from './accounts/accounts-file.js';
export { acknowledgementId, Acknowledgements } from './acknowledgements.js';
export type { Payload } from '@temporalio/common';
export {
  checkoutStart,
  newestAttempt,
  readCheckout,
  sendHint,
  type StoredCheckout,
} from './checkouts/checkout-workflow.js';
export { CheckoutNotFoundError, Checkouts, NotAcceptedError, type RequestResult } from './checkouts/checkouts.js';
export { signature, signedLinks, signedParts, signingKey, type LinkTo, type RouteParams } from './checkouts/links.js';
export { openUntil, presentCheckout } from './checkouts/present.js';
export { CheckoutList, type ListPage } from './checkouts/list.js';
export { countOpenWhere, isOpenWhere, openCheckoutsWhere } from './checkouts/open-checkouts.js';
export { readPlace, writePlace, type ListPlace } from './checkouts/list-position.js';
export {
  openCheckoutsOfCharges,
  paidCheckouts,
  runningCheckouts,
  stuckWorkflows,
  type CheckoutFilters,
} from './checkouts/queries.js';
export { PaidCheckouts } from './checkouts/paid-checkouts.js';
export { toTillflowCheckout } from './checkouts/tillflow-checkout.js';
export { declareWithoutEffect, hadNoEffect, within, type Bounded, type CallKind } from './connection/bounded-call.js';
export { connectionSettings, openTemporal, usesTls, type Temporal } from './connection/connection.js';
export { isClosed, isTemporalDown, isTemporalFailure, isTooSlow, whyUnreachable } from './connection/failures.js';
export { retryUntilDone, type RetryOptions } from './connection/retries.js';
export { dataConverter, FAILURE_CONVERTER_PATH, isEncrypting, warnIfUnencrypted } from './encryption/data-converter.js';
export { EncryptionCodec, UnreadablePayloadError, type PayloadKey } from './encryption/encryption-codec.js';
export { Seal } from './encryption/seal.js';
export { decodeRunWithoutMemo, listPage, listRuns } from './listed-runs.js';
export type { DeliveryPage } from './event-endpoints/deliveries.js';
export { EventEndpoints, SecretsReplacedError, type RunningEndpoint } from './event-endpoints/endpoints.js';
export { eventNetworks, MAX_ENDPOINT_URL, refuseEndpoint, type EventNetworks } from './event-endpoints/networks.js';
export { EndpointSealer, eventLinks, type EventLinks } from './event-endpoints/secrets.js';
export { checkoutsChanged, checkoutsChangedAgain, checkoutsWithEvents } from './checkouts/event-queries.js';
export { addNetwork, isIn } from './settings/networks.js';
export { counterAddress, CounterLinks, newCounterLink } from './counter-links.js';
export { DayReports, type DayReport } from './day-reports.js';
export { AuditTrail, type AuditQuery, type AuditRecord } from './audit.js';
export { Pauses, type Pause } from './pauses.js';
export { PendingPlans, type PlanResolved, type PendingPlan } from './plans.js';
export {
  covers,
  isComplete,
  ReconciliationNotFoundError,
  Reconciliations,
  type FullReconciliation,
  type StoredReconciliation,
} from './reconciliations.js';
export { apiKeys } from './keys/api-keys.js';
export { ConfiguredKeys, keySettings } from './keys/configured-keys.js';
export { refundRightsOf } from './keys/refund-rights.js';
export { hasExpired, KeyRing, SCOPES, type Key, type Scope } from './keys/keys.js';
export { openKeysFile } from './keys/keys-file.js';
export { describeMistake, FileMistakesError, type Mistake } from './settings/lined-file.js';
export type { WatchedFile } from './settings/watched-file.js';
export { isLiveKey, isProviderPlain, isPublished, publishedSecrets, unsafeWithLiveKey } from './settings/live-key.js';
export {
  businessDayRule,
  businessDaySettings,
  flag,
  integer,
  list,
  readSettings,
  SettingsError,
  temporalSettings,
  type BusinessDaySettings,
  type TemporalSettings,
} from './settings/settings.js';
export { traceSettings } from './settings/trace-settings.js';
export type { TraceCall } from './traces/traced-calls.js';
export { nameOnQueue, pausedSchedules, scheduleIdOf, setUpSchedules } from './setup/schedules.js';
export { SetupConflictError, setUpNamespace, type SetupStep } from './setup/setup.js';
export {
  accountInTillToken,
  COUNTER_LINK,
  isWithin,
  readTillToken,
  writeTillToken,
  type Place,
  type Till,
  type TillSession,
} from './tills.js';
export {
  clockName,
  readTemporalClock,
  workerClocks,
  type Offsets,
  type Reading,
  type WorkerClock,
} from './workers/clock-queue.js';
export {
  describeTaskQueue,
  probeWorkers,
  activePollers,
  currentPollers,
  type TaskQueue,
} from './workers/task-queues.js';
