import { type Outcome, type PaymentsError, RateLimitError, ServerError } from '../errors.js';
import type { Method } from '../request/request.js';
import { header, type ResponseHead } from './attempt.js';

const BASE_DELAY_MS = 200;
const MAX_DELAY_MS = 8_000;

/** Added at random to a wait that the provider asked for, so that many callers do not come back at once. */
const RETRY_AFTER_JITTER = 0.1;

/** Repeating a POST of unknown outcome could charge twice. A repeated GET, PATCH or DELETE ends in the same state. */
export function isSafeToRepeat(method: Method, outcome: Outcome): boolean {
  return method !== 'POST' || outcome !== 'unknown';
}

/**
 * The wait before the next attempt, in milliseconds: the provider's Retry-After, or else an exponential wait, with
 * jitter.
 * @param retry 0 before the first retry
 * @param random uniform in [0, 1)
 */
export function retryDelay(retry: number, failure: PaymentsError, random: () => number): number {
  const retryAfterMs =
    failure instanceof RateLimitError || failure instanceof ServerError ? failure.retryAfterMs : undefined;
  if (retryAfterMs !== undefined) return retryAfterMs * (1 + RETRY_AFTER_JITTER * random());
  const ceiling = Math.min(BASE_DELAY_MS * 2 ** retry, MAX_DELAY_MS);
  return ceiling * (0.5 + random() / 2);
}

/**
 * `Retry-After` of a 429 or 503 in milliseconds from `now`, from seconds or from a date; undefined when absent or
 * unreadable.
 */
export function retryAfter(head: ResponseHead, now: number): number | undefined {
  if (head.status !== 429 && head.status !== 503) return undefined;
  const value = header(head, 'retry-after')?.trim();
  if (value === undefined || value === '') return undefined;
  if (/^\d+$/.test(value)) return Number(value) * 1000;
  // Date.parse would also read "1.5" as a date.
  const instant = /^[A-Za-z]/.test(value) ? Date.parse(value) : Number.NaN;
  return Number.isNaN(instant) ? undefined : Math.max(0, instant - now);
}
