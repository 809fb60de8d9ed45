import { ApplicationFailure } from '@temporalio/common';
import { AuthenticationError, InvalidRequestError, PaymentsError } from '@tillflow/payments-client';
import { UnreadablePayloadError } from '@tillflow/temporal';
import type { CommandOutcome, Outcome } from '@tillflow/workflows';

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

/** As {@link toOutcome}, for those who tell a person why: with the provider's HTTP status, null when nothing was sent. */
export function toCommandOutcome(error: unknown): Exclude<CommandOutcome, { kind: 'done' }> {
  if (error instanceof UnreadablePayloadError) {
    const message = 'The command does not open: API and worker must have the same PROVIDER_SECRET_KEY';
    return { kind: 'rejected', code: UNREADABLE_COMMAND, message, retryable: false, status: null };
  }
  const outcome = toOutcome(error);
  if (outcome.kind === 'unknown') return outcome;
  return { ...outcome, status: statusOf(error) };
}

/** Of the last reply, also when the time ran out while another try was waited for. */
function statusOf(error: unknown): number | null {
  return error instanceof PaymentsError ? (error.status ?? statusOf(error.cause)) : null;
}

/** Sealed under another secret than the worker's. */
const UNREADABLE_COMMAND = 'unreadable_command';

function isOurMistake(error: PaymentsError): boolean {
  return error instanceof InvalidRequestError || error instanceof AuthenticationError;
}

/**
 * Why a read failed. One that the provider refused for good is not tried again by Temporal; the workflow looks again
 * in its own time.
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
