import type { Instant } from '@tillflow/domain';
import { LATE_PAYMENT, SECOND_PAYMENT } from '../../../shared/requester.js';
import type { Charges } from '../charges/charges.js';
import type { ModelContext } from '../context.js';
import { returnedAmount, type RefundEntry, type Refunds } from './refunds.js';

/** Returns money that Tillflow does not keep: the second of two payments, and a payment that came too late. */
export class Returns {
  constructor(
    private readonly context: ModelContext,
    private readonly refunds: Refunds,
    private readonly charges: Charges,
  ) {}

  request(now: Instant): void {
    const { intent, policy, attentions } = this.context;
    const { accepted, lateAfter } = this.charges;
    for (const charge of this.charges.all) {
      if (charge.status !== 'successful') continue;
      const isAccepted = charge.id === accepted?.id;
      if (isAccepted && (lateAfter === null || policy.latePayment === 'keep')) continue;
      if (returnedAmount(this.refunds.all, charge) >= intent.amount) {
        attentions.settle('return_refused', charge.id);
        attentions.settle(isAccepted ? 'late_payment' : 'double_payment', charge.id);
        continue;
      }
      // Tillflow does not return money a second time that a caller has already requested back.
      const left = this.refunds.left(now, charge);
      if (left === 0) continue;
      const entry = this.refunds.all.find(({ chargeId, by }) => chargeId === charge.id && by === 'tillflow');
      if (entry === undefined && isAccepted) {
        const reason = `paid after the checkout was published as ${lateAfter ?? 'ended'}`;
        this.refunds.addReturn(now, charge, left, LATE_PAYMENT, reason);
      } else if (entry === undefined) {
        const reason = `second payment: the checkout had already accepted ${accepted?.id ?? 'another charge'}`;
        this.refunds.addReturn(now, charge, left, SECOND_PAYMENT, reason);
      } else if (entry.retryAt !== null && entry.retryAt <= now) {
        this.refunds.retryReturn(now, entry.key, left, entry.requestedBy);
      }
    }
  }

  /** An operator asks to try again what the provider refused. */
  retry(now: Instant, by: string | undefined): void {
    for (const { key, chargeId, by: maker, status } of this.refunds.all) {
      const charge = this.charges.find(chargeId);
      const left = charge === undefined ? 0 : this.refunds.left(now, charge);
      if (maker === 'tillflow' && status === 'rejected' && left > 0) this.refunds.retryReturn(now, key, left, by);
    }
  }
}

/** The provider refused to return this charge's money, and it is not returned yet. */
export function wasReturnRefused(entries: readonly Readonly<RefundEntry>[], id: string): boolean {
  return entries.some(
    ({ by, chargeId, status, refusals }) =>
      by === 'tillflow' && chargeId === id && status !== 'succeeded' && refusals > 0,
  );
}
