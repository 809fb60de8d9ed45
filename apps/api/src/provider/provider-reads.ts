import { Injectable } from '@nestjs/common';
import type { RequestOptions } from '@tillflow/payments-client';
import { Settings } from '../settings.provider.js';
import { problemOfRead } from './provider-problems.js';

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
