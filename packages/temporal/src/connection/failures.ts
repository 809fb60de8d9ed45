import {
  ApplicationFailure,
  isGrpcCancelledError,
  isGrpcDeadlineError,
  isGrpcServiceError,
  ServiceError,
  WorkflowExecutionAlreadyStartedError,
  WorkflowNotFoundError,
  WorkflowUpdateFailedError,
  WorkflowUpdateRPCTimeoutOrCancelledError,
} from '@temporalio/client';
import type { Refusal } from '@tillflow/workflows';
import type { TemporalSettings } from '../settings/settings.js';
import { TooSlowError } from './bounded-call.js';

/** gRPC's status codes. */
const GRPC = { deadlineExceeded: 4, notFound: 5, permissionDenied: 7, unauthenticated: 16 } as const;

/** gRPC's status codes for a problem of one request, or of the workflow that it addresses. */
const OF_ONE_REQUEST: ReadonlySet<number> = new Set([
  3, // invalid argument, such as one signal too many for a workflow
  5, // not found
  6, // already exists
  9, // failed precondition
  11, // out of range
]);

const UPDATE_LIMIT = /^limit on .*updates/;

const REFUSALS: Readonly<Record<Refusal, true>> = {
  already_paid: true,
  checkout_closed: true,
  attempt_unknown: true,
  too_many_attempts: true,
  not_paid: true,
  refund_window_closed: true,
  refund_exceeds_paid: true,
  idempotency_conflict: true,
  too_many_refunds: true,
  refund_unknown: true,
  refund_decided: true,
  second_person_required: true,
  may_not_approve: true,
  invalid_refund: true,
  invalid_resolution: true,
};

/** The refusal behind a failed update. Null: the update failed for another reason, and its outcome is not known. */
export function refusalOf(error: unknown): { readonly code: Refusal; readonly reason: string } | null {
  if (!(error instanceof WorkflowUpdateFailedError) || !(error.cause instanceof ApplicationFailure)) return null;
  const { type, message } = error.cause;
  return isRefusal(type) ? { code: type, reason: message } : null;
}

function isRefusal(type: string | undefined | null): type is Refusal {
  return typeof type === 'string' && Object.hasOwn(REFUSALS, type);
}

/** No run of the workflow accepts messages any more. */
export function isClosed(error: unknown): boolean {
  return (
    error instanceof WorkflowExecutionAlreadyStartedError ||
    error instanceof WorkflowNotFoundError ||
    grpcCode(error) === GRPC.notFound
  );
}

/** The time was over. The request may still be carried out. */
export function isTooSlow(error: unknown): boolean {
  return (
    error instanceof TooSlowError ||
    error instanceof WorkflowUpdateRPCTimeoutOrCancelledError ||
    isGrpcDeadlineError(error) ||
    isGrpcCancelledError(error) ||
    grpcCode(error) === GRPC.deadlineExceeded
  );
}

/**
 * The server accepts no more updates of this workflow; it still accepts signals.
 * Source: limits of Temporal's server, 10 updates at a time and 2,000 for a run.
 */
export function isFullOfUpdates(error: unknown): boolean {
  const cause = error instanceof ServiceError ? error.cause : error;
  return isGrpcServiceError(cause) && UPDATE_LIMIT.test(cause.details);
}

/**
 * Whether Temporal failed to carry out a request, because it is down, slow, or refuses access. Any other error is a bug
 * in Tillflow.
 */
export function isTemporalFailure(error: unknown): boolean {
  return grpcCode(error) !== null || error instanceof ServiceError || isTooSlow(error);
}

/** Whether Temporal serves no request: it is down, slow, or refuses access. False when only this request is wrong. */
export function isTemporalDown(error: unknown): boolean {
  const code = grpcCode(error);
  return code === null ? error instanceof ServiceError : !OF_ONE_REQUEST.has(code);
}

function grpcCode(error: unknown): number | null {
  const cause = error instanceof ServiceError ? error.cause : error;
  return isGrpcServiceError(cause) ? cause.code : null;
}

/**
 * Why Temporal cannot be used, and which settings to check. For people; contains no secret.
 * @param lastFailure why the last try of the call failed, where that is known.
 */
export function whyUnreachable(error: unknown, settings: TemporalSettings, lastFailure: string | null): string {
  const { TEMPORAL_ADDRESS: address, TEMPORAL_NAMESPACE: namespace } = settings;
  const message = error instanceof Error ? error.message : String(error);
  // When the time ran out during retries, the last failure says more than the timeout.
  const reason = isTooSlow(error) && lastFailure !== null ? lastFailure : message;
  const where = `Temporal at ${address}, namespace ${namespace}`;
  switch (grpcCode(error)) {
    case GRPC.notFound:
      return `${where}: there is no such namespace (${reason}). Create it, or set TEMPORAL_NAMESPACE.`;
    case GRPC.permissionDenied:
    case GRPC.unauthenticated:
      return `${where}: access is refused (${reason}). Check TEMPORAL_API_KEY, or TEMPORAL_TLS_CERT_PATH and TEMPORAL_TLS_KEY_PATH, and TEMPORAL_NAMESPACE.`;
    default:
      return `Cannot reach ${where} (${reason}). Check that it runs, and check TEMPORAL_ADDRESS and the TEMPORAL_TLS settings.`;
  }
}
