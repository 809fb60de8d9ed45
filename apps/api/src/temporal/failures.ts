import { randomInt } from 'node:crypto';
import {
  CheckoutNotFoundError,
  isTemporalFailure,
  UnreadablePayloadError,
  type RequestResult,
} from '@tillflow/temporal';
import { CallerGoneError, OverloadedError } from './gate.js';
import { Problem } from '../problems/problem.js';

/**
 * @returns the problem for an unreadable checkout or a failure of Temporal. Any other error is a bug, and is returned
 * unchanged.
 */
export function unavailable(error: unknown): unknown {
  if (error instanceof CheckoutNotFoundError) return new Problem('not_found', 'No checkout has this id');
  if (error instanceof UnreadablePayloadError) {
    return new Problem('checkout_unreadable', 'PAYLOAD_KEYS has no key for this checkout', { cause: error });
  }
  if (error instanceof OverloadedError || error instanceof CallerGoneError) {
    const detail = 'The payment engine is too busy to answer in time';
    const seconds = error instanceof OverloadedError ? error.retryAfterSeconds : retryAfterSeconds();
    return new Problem('overloaded', detail, { retryAfterSeconds: seconds, cause: error });
  }
  if (!isTemporalFailure(error)) return error;
  const detail = 'The payment engine does not answer';
  return new Problem('temporal_unavailable', detail, { retryAfterSeconds: retryAfterSeconds(), cause: error });
}

/**
 * A read that follows a write. When the read is refused, the caller must not conclude that the write was.
 * @throws {Problem} `temporal_unavailable` in place of `overloaded`.
 */
export async function afterWrite<T>(read: Promise<T>): Promise<T> {
  try {
    return await read;
  } catch (error) {
    if (!(error instanceof Problem && error.code === 'overloaded')) throw error;
    const detail = 'The request was passed on, and the payment engine is too busy to show its result';
    throw new Problem('temporal_unavailable', detail, { retryAfterSeconds: retryAfterSeconds(), cause: error });
  }
}

/** Random, 1 to 4 seconds, so that callers who were refused together do not come back together. */
export function retryAfterSeconds(): number {
  return randomInt(1, 5);
}

/** The problem for an update that the workflow refused. */
export function refusal({ code, reason }: Extract<RequestResult<unknown>, { kind: 'refused' }>): Problem {
  // The schema refuses both before the workflow can.
  if (code === 'invalid_refund' || code === 'invalid_resolution') return new Problem('invalid_request', reason);
  if (code === 'refund_unknown') return new Problem('not_found', reason);
  if (code === 'may_not_approve') return new Problem('forbidden', reason);
  return new Problem(code, reason);
}
