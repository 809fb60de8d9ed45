import { ApiError } from '../http/api-error.js';
import type { RateLimit } from '../assumptions.js';
import type { Clock } from '../clock.js';

/** A token bucket on the sandbox's clock. Without a limit it never refuses. Source: assumption, "Rate limit". */
export class RateLimiter {
  #limit: RateLimit | null = null;
  #tokens = 0;
  #filledAt = 0;

  constructor(private readonly clock: Clock) {}

  get limit(): RateLimit | null {
    return this.#limit;
  }

  /** Starts with a full bucket. */
  set(limit: RateLimit | null): void {
    this.#limit = limit;
    this.#tokens = limit?.burst ?? 0;
    this.#filledAt = this.clock.now();
  }

  /** Takes one request out of the bucket. @throws {ApiError} `too_many_requests` when it is empty. */
  take(): void {
    const limit = this.#limit;
    if (limit === null) return;
    const now = this.clock.now();
    const filled = this.#tokens + ((now - this.#filledAt) / 1_000) * limit.per_second;
    this.#tokens = Math.min(limit.burst, filled);
    this.#filledAt = now;
    if (this.#tokens >= 1) {
      this.#tokens -= 1;
      return;
    }
    const wait = Math.max(1, Math.ceil((1 - this.#tokens) / limit.per_second));
    throw new ApiError('too_many_requests', 'Too many requests.', limit.retry_after ? wait : undefined);
  }
}
