import { Injectable } from '@nestjs/common';
import { formatMoney, type Money } from '@tillflow/domain';
import { NotFoundError, PaymentsClient, PaymentsError } from '@tillflow/payments-client';
import { timeLeft } from '../temporal/request-budget.js';
import { Problem } from '../problems/problem.js';

/** At most, in milliseconds: the request still has to start the checkout. */
const MOST_MS = 3_000;

/** Checks a source that a client made, before Tillflow creates a charge with it. */
@Injectable()
export class SourceCheck {
  constructor(private readonly provider: PaymentsClient) {}

  /** @throws {Problem} `source_mismatch`, or `provider_unavailable` when the provider does not answer. */
  async mustFit(sourceId: string, money: Money): Promise<void> {
    const source = await this.#retrieve(sourceId);
    if (source.type !== 'wallet_mpm') throw new Problem('source_mismatch', `${sourceId} is not a QR source`);
    if (source.charge_status !== 'unknown') throw new Problem('source_mismatch', `${sourceId} was already used`);
    if (source.amount !== money.amount || source.currency !== money.currency) {
      throw new Problem('source_mismatch', `${sourceId} is not a source of ${formatMoney(money)}`);
    }
  }

  async #retrieve(sourceId: string) {
    try {
      return await this.provider.sources.retrieve(sourceId, { deadlineMs: Math.min(MOST_MS, timeLeft() / 2) });
    } catch (error) {
      if (error instanceof NotFoundError) throw new Problem('source_mismatch', `There is no source ${sourceId}`);
      if (error instanceof PaymentsError) throw new Problem('provider_unavailable', 'The source could not be checked');
      throw error;
    }
  }
}
