import { Injectable } from '@nestjs/common';
import { PaymentsClient, PaymentsError } from '@tillflow/payments-client';
import { Problem } from '../problems/problem.js';
import { problemOfRead } from '../provider/provider-problems.js';
import { Settings } from '../providers.js';
import type { MarkCharge, MarkedCharge } from './test-mode.schema.js';

/** The prefix of keys in test mode. Source: assumption. */
const TEST_KEY = 'skey_test_';

/** Pays or refuses a charge in place of a customer, for trials of a till. */
@Injectable()
export class TestModeService {
  constructor(
    private readonly provider: PaymentsClient,
    private readonly settings: Settings,
  ) {}

  /**
   * Marks a pending charge as paid or failed. The checkout notices it like any payment.
   * @throws {Problem} `live_mode`, `provider_refused` when it is not pending, `outcome_unknown`.
   */
  async mark(id: string, { status }: MarkCharge): Promise<MarkedCharge> {
    const { PROVIDER_SECRET_KEY: key, ANSWER_WITHIN_MS: deadlineMs } = this.settings.values;
    if (!key.startsWith(TEST_KEY)) throw new Problem('live_mode', 'The API uses a live key of the provider');
    const { charges } = this.provider;
    try {
      const charge =
        status === 'successful'
          ? await charges.markAsPaid(id, { deadlineMs })
          : await charges.markAsFailed(id, { deadlineMs });
      const checkout = charge.metadata?.['checkout'];
      return { id: charge.id, status: charge.status, checkout: typeof checkout === 'string' ? checkout : null };
    } catch (error) {
      if (!(error instanceof PaymentsError) || error.outcome !== 'unknown') throw problemOfRead(error);
      throw new Problem('outcome_unknown', 'The provider did not confirm the change', { cause: error });
    }
  }
}
