import { Injectable } from '@nestjs/common';
import { ThrottlerGuard } from '@nestjs/throttler';
import type { Caller } from './auth.guard.js';

/** Counts by key, because many tills share one address; by address where no key is asked for. */
@Injectable()
export class RateLimitGuard extends ThrottlerGuard {
  protected override getTracker(request: Record<string, unknown>): Promise<string> {
    const { caller, ip } = request as unknown as Caller;
    return Promise.resolve(caller ?? ip);
  }

  /** One count for all routes of a key. */
  protected override generateKey(_context: unknown, tracker: string): string {
    return tracker;
  }
}
