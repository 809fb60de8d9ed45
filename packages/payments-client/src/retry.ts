import { type Head, header } from './exchange.js';

const BASE_DELAY_MS = 200;
const MAX_DELAY_MS = 8_000;

/** Spread added to a wait that the provider asked for, so that many callers do not come back at once. */
const RETRY_AFTER_SPREAD = 0.1;

/**
 * How long to wait before the next try, in milliseconds: what the provider asked for, else exponential, with jitter.
 * @param retry 0 before the first retry
 * @param random uniform in [0, 1)
 */
export function retryDelay(retry: number, retryAfterMs: number | undefined, random: () => number): number {
  if (retryAfterMs !== undefined) return retryAfterMs * (1 + RETRY_AFTER_SPREAD * random());
  const ceiling = Math.min(BASE_DELAY_MS * 2 ** retry, MAX_DELAY_MS);
  return ceiling * (0.5 + random() / 2);
}

/** `Retry-After` of a 429 or 503 in milliseconds from `now`, from seconds or from a date; undefined when absent or unreadable. */
export function retryAfter(head: Head, now: number): number | undefined {
  if (head.status !== 429 && head.status !== 503) return undefined;
  const value = header(head, 'retry-after')?.trim();
  if (value === undefined || value === '') return undefined;
  if (/^\d+$/.test(value)) return Number(value) * 1000;
  // Date.parse would also read "1.5" as a date.
  const instant = /^[A-Za-z]/.test(value) ? Date.parse(value) : Number.NaN;
  return Number.isNaN(instant) ? undefined : Math.max(0, instant - now);
}
