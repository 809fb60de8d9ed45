import { Injectable } from '@nestjs/common';
import type { RequestOptions } from '@tillflow/payments-client';
import { problemOfRead } from './provider-problems.js';
import { Settings } from '../providers.js';

/** Reads from the provider that take at most `ANSWER_WITHIN_MS`. */
@Injectable()
export class ProviderReads {
  constructor(private readonly settings: Settings) {}

  /**
   * @throws {Problem} `not_found`, `provider_refused`, `provider_unavailable`, `provider_busy`, `provider_timeout`, …
   */
  async read<T>(ask: (options: RequestOptions) => Promise<T>): Promise<T> {
    const deadlineMs = this.settings.values.ANSWER_WITHIN_MS;
    try {
      // A try that hangs leaves time for a second one.
      return await ask({ deadlineMs, timeoutMs: deadlineMs / 2 });
    } catch (error) {
      throw problemOfRead(error);
    }
  }
}

/** Later than every record, also when the provider's clock is ahead. ISO 8601 UTC. */
export const FAR_AHEAD = '9999-01-01T00:00:00.000Z';
