import { Injectable } from '@nestjs/common';
import { PaymentsClient, PaymentsError } from '@tillflow/payments-client';
import { Problem } from '../problems/problem.js';
import { problemOfRead } from '../provider/provider-problems.js';
import { Settings } from '../providers.js';
import type { MarkCharge, MarkedCharge } from './test-mode.schema.js';

/** Keys of test mode begin so. Source: assumption. */
const TEST_KEY = 'skey_test_';

/** What a customer does, without a customer: trials of a till need no dashboard. */
@Injectable()
export class TestModeService {
  constructor(
    private readonly provider: PaymentsClient,
    private readonly settings: Settings,
  ) {}

  /**
   * Lets a pending charge be paid or refused. The checkout learns it as it learns any payment.
   * @throws {Problem} `live_mode`, `provider_refused` when it is not pending, `outcome_unknown`.
   */
  async mark(id: string, { status }: MarkCharge): Promise<MarkedCharge> {
    const { PROVIDER_SECRET_KEY: key, ANSWER_WITHIN_MS: deadlineMs } = this.settings.values;
    if (!key.startsWith(TEST_KEY)) throw new Problem('live_mode', 'The provider key is a live one');
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
      throw new Problem('outcome_unknown', 'The provider did not confirm it', { cause: error });
    }
  }
}
