import { PaymentsError, RateLimitError, TimeoutError } from '@tillflow/payments-client';
import type { Rejection } from '@tillflow/workflows';
import { Problem } from '../problems/problem.js';

/** Seconds to wait when the provider does not name a time. */
const RETRY_AFTER_S = 5;

/** Codes of the provider that have a problem of their own. */
const OWN = { documents_locked: 'documents_locked' } as const;

/** The problem for a refusal by the provider, or by the client before it sent anything. Nothing was changed. */
export function problemOfRejection({ code, message, status, retryable }: Omit<Rejection, 'kind'>): Problem {
  if (code === 'unreadable_command') return new Problem('command_unreadable', message);
  if (code === 'not_created') return new Problem('provider_unavailable', message);
  switch (status) {
    case null:
      return retryable
        ? new Problem('provider_unavailable', 'The API could not reach the provider. Nothing was sent')
        : new Problem('provider_refused', message, { providerCode: code });
    case 401:
    case 403:
      return new Problem('provider_key_refused', `The provider refused the key: ${code}`);
    case 404:
      return new Problem('not_found', message, { providerCode: code });
    case 429:
      return busy();
    default: {
      const own = code in OWN ? OWN[code as keyof typeof OWN] : 'provider_refused';
      return new Problem(own, message, { providerCode: code });
    }
  }
}

/** @returns the problem for a failed read. Any other error is returned unchanged. */
export function problemOfRead(error: unknown): unknown {
  if (!(error instanceof PaymentsError)) return error;
  if (error instanceof RateLimitError) return busy(error.retryAfterMs);
  // The deadline passed while the client waited for its next try.
  if (error instanceof TimeoutError && error.cause instanceof PaymentsError) return problemOfRead(error.cause);
  const { code, message, status, retryable } = error;
  if (status !== undefined && status >= 400 && status < 500) {
    return problemOfRejection({ code, message, status, retryable });
  }
  const cause = { cause: error };
  if (error instanceof TimeoutError)
    return new Problem('provider_timeout', 'The provider did not answer in time', cause);
  return new Problem('provider_unavailable', `The provider did not answer: ${code}`, cause);
}

function busy(retryAfterMs?: number): Problem {
  const retryAfterSeconds = retryAfterMs === undefined ? RETRY_AFTER_S : Math.ceil(retryAfterMs / 1_000);
  return new Problem('provider_busy', 'The provider is limiting requests', { retryAfterSeconds });
}
