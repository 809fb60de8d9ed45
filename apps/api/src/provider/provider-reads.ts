import { Injectable } from '@nestjs/common';
import type { RequestOptions } from '@tillflow/payments-client';
import { problemOfRead } from './provider-problems.js';
import { Settings } from '../providers.js';

/** Reads of the provider, bounded in time: a till's proxy does not wait longer than `ANSWER_WITHIN_MS`. */
@Injectable()
export class ProviderReads {
  constructor(private readonly settings: Settings) {}

  /** @throws {Problem} `not_found`, `provider_refused`, `provider_unavailable`, `provider_busy`, `provider_timeout`, … */
  async read<T>(ask: (options: RequestOptions) => Promise<T>): Promise<T> {
    const deadlineMs = this.settings.values.ANSWER_WITHIN_MS;
    try {
      // A try that hangs leaves room for another.
      return await ask({ deadlineMs, timeoutMs: deadlineMs / 2 });
    } catch (error) {
      throw problemOfRead(error);
    }
  }
}

/** After every record that there can be: the provider's clock may be ahead of ours. ISO 8601 UTC. */
export const FAR_AHEAD = '9999-01-01T00:00:00.000Z';
