import { ApplicationFailure } from '@temporalio/common';
import { AuthenticationError, InvalidRequestError, PaymentsError } from '@tillflow/payments-client';
import type { Outcome } from '@tillflow/workflows';

/**
 * The one place where the client's failures become the workflows' outcomes.
 * @throws whatever is not the client's failure: a bug, which Temporal reports as such and the workflow takes as unknown.
 */
export function toOutcome(error: unknown): Exclude<Outcome<never>, { kind: 'done' }> {
  if (!(error instanceof PaymentsError)) throw error;
  const { code, message } = error;
  switch (error.outcome) {
    case 'not_sent':
      // Aborted by a worker that stops, too late, no connection: another try may succeed. A call that we made wrongly not.
      return { kind: 'rejected', code, message, retryable: !isOurMistake(error) };
    case 'rejected':
      return { kind: 'rejected', code, message, retryable: error.retryable };
    case 'unknown':
      return { kind: 'unknown', code, message };
  }
}

function isOurMistake(error: PaymentsError): boolean {
  return error instanceof InvalidRequestError || error instanceof AuthenticationError;
}

/**
 * Why a read failed. One that the provider refused for good is not tried again by Temporal; the workflow looks again
 * in its own time.
 */
export function toReadFailure(error: unknown): unknown {
  if (!(error instanceof PaymentsError)) return error;
  return ApplicationFailure.create({
    type: error.code,
    message: error.message,
    nonRetryable: !error.retryable,
    details: [{ status: error.status ?? null, request_id: error.requestId ?? null }],
  });
}
