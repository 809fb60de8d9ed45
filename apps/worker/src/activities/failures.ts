import { ApplicationFailure } from '@temporalio/common';
import { AuthenticationError, InvalidRequestError, PaymentsError } from '@tillflow/payments-client';
import { UnreadablePayloadError } from '@tillflow/temporal';
import type { CommandOutcome, Outcome } from '@tillflow/workflows';

/**
 * Turns the client's failures into the workflows' outcomes. No other code does this.
 * @throws any other error: it is a bug. Temporal reports it, and the workflow treats the outcome as unknown.
 */
export function toOutcome(error: unknown): Exclude<Outcome<never>, { kind: 'done' }> {
  if (!(error instanceof PaymentsError)) throw error;
  const { code, message } = error;
  switch (error.outcome) {
    case 'not_sent':
      // After an abort by a stopping worker, a passed send window or a failed connection, another try may succeed.
      return { kind: 'rejected', code, message, retryable: !isInvalidCall(error) };
    case 'rejected':
      return { kind: 'rejected', code, message, retryable: error.retryable };
    case 'unknown':
      return { kind: 'unknown', code, message };
  }
}

/** As {@link toOutcome}, with the provider's HTTP status for the API's answer; null when nothing was sent. */
export function toCommandOutcome(error: unknown): Exclude<CommandOutcome, { kind: 'done' }> {
  if (error instanceof UnreadablePayloadError) {
    const message = 'The worker cannot decrypt the command: API and worker must have the same PROVIDER_SECRET_KEY';
    return { kind: 'rejected', code: UNREADABLE_COMMAND, message, retryable: false, status: null };
  }
  const outcome = toOutcome(error);
  if (outcome.kind === 'unknown') return outcome;
  return { ...outcome, status: statusOf(error) };
}

/** The status of the last reply, also when the time ran out in the pause before another try. */
function statusOf(error: unknown): number | null {
  return error instanceof PaymentsError ? (error.status ?? statusOf(error.cause)) : null;
}

/** The API sealed the command with another secret than the worker's. */
const UNREADABLE_COMMAND = 'unreadable_command';

function isInvalidCall(error: PaymentsError): boolean {
  return error instanceof InvalidRequestError || error instanceof AuthenticationError;
}

/**
 * Turns the client's failure of a read into Temporal's. Temporal does not retry a read that the provider refused
 * definitely; the workflow repeats it later.
 */
export function toReadFailure(error: unknown): unknown {
  if (error instanceof UnreadablePayloadError)
    return ApplicationFailure.nonRetryable(error.message, UNREADABLE_COMMAND);
  if (!(error instanceof PaymentsError)) return error;
  return ApplicationFailure.create({
    type: error.code,
    message: error.message,
    nonRetryable: !error.retryable,
    details: [{ status: error.status ?? null, request_id: error.requestId ?? null }],
  });
}
