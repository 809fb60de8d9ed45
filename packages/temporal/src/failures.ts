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
import { TooSlowError } from './within.js';

const DEADLINE_EXCEEDED = 4;
const NOT_FOUND = 5;
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
  invalid_refund: true,
  invalid_resolution: true,
};

/** The refusal behind a failed update, or null: then it failed for a reason that decides nothing. */
export function refusalOf(error: unknown): { readonly code: Refusal; readonly reason: string } | null {
  if (!(error instanceof WorkflowUpdateFailedError) || !(error.cause instanceof ApplicationFailure)) return null;
  const { type, message } = error.cause;
  return isRefusal(type) ? { code: type, reason: message } : null;
}

function isRefusal(type: string | undefined | null): type is Refusal {
  return typeof type === 'string' && Object.hasOwn(REFUSALS, type);
}

/** No run of this workflow takes messages any more. */
export function isClosed(error: unknown): boolean {
  return (
    error instanceof WorkflowExecutionAlreadyStartedError ||
    error instanceof WorkflowNotFoundError ||
    grpcCode(error) === NOT_FOUND
  );
}

/** The time was over; what was asked may still happen. */
export function isTooSlow(error: unknown): boolean {
  return (
    error instanceof TooSlowError ||
    error instanceof WorkflowUpdateRPCTimeoutOrCancelledError ||
    isGrpcDeadlineError(error) ||
    isGrpcCancelledError(error) ||
    grpcCode(error) === DEADLINE_EXCEEDED
  );
}

/**
 * So many updates of this workflow wait, or were made, that the server takes no more of them. It takes signals.
 * Source: the limits of Temporal's server, 10 at a time and 2,000 for a run.
 */
export function isFullOfUpdates(error: unknown): boolean {
  const cause = error instanceof ServiceError ? error.cause : error;
  return isGrpcServiceError(cause) && UPDATE_LIMIT.test(cause.details);
}

/** Temporal did not do what it was asked: it is down, slow, or does not let us. Anything else is a bug of ours. */
export function isTemporalFailure(error: unknown): boolean {
  return grpcCode(error) !== null || error instanceof ServiceError || isTooSlow(error);
}

/** gRPC's number for what went wrong; null where it is no failure of a call. */
export function grpcCode(error: unknown): number | null {
  const cause = error instanceof ServiceError ? error.cause : error;
  return isGrpcServiceError(cause) ? cause.code : null;
}
