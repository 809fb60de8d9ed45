import { formatInstant, type Instant } from '@tillflow/domain';
import type {
  ChargeFacts,
  CreateChargeCall,
  CreateRefundCall,
  CreateSourceCall,
  ExpireChargeCall,
  FindChargesCall,
  RefundFacts,
} from './activities.js';
import type { CheckoutBook, Seen } from './book/book.js';
import { sendWindow } from './book/policy.js';
import type { Step } from './book/step.js';
import type { Outcome } from './outcome.js';

/** The calls that steps come down to. Each always answers: a failure is an outcome, or a look that saw nothing. */
export type Calls = {
  createSource(call: CreateSourceCall): Promise<Outcome<{ readonly sourceId: string }>>;
  createCharge(call: CreateChargeCall): Promise<Outcome<ChargeFacts>>;
  expireCharge(call: ExpireChargeCall): Promise<Outcome<ChargeFacts>>;
  createRefund(call: CreateRefundCall): Promise<Outcome<RefundFacts>>;
  retrieveCharge(chargeId: string): Promise<Seen<ChargeFacts>>;
  findCharges(call: FindChargesCall): Promise<Seen<readonly ChargeFacts[]>>;
};

/** Carries out one step of a checkout and tells its book what came of it. */
export async function perform(
  book: CheckoutBook,
  step: Exclude<Step, { do: 'wait' | 'close' }>,
  calls: Calls,
  clock: () => Instant,
): Promise<void> {
  const { amount, currency, terminal, description, metadata, id } = book.intent;
  const { quietAt, ...window } = sendWindow(book.policy, clock());
  switch (step.do) {
    case 'createSource': {
      const outcome = await calls.createSource({ ...window, amount, currency, terminal });
      book.sourceAnswered(clock(), outcome);
      return;
    }
    case 'createCharge': {
      const outcome = await calls.createCharge({
        ...window,
        sourceId: step.sourceId,
        amount,
        currency,
        description,
        metadata: { ...metadata, checkout: id, attempt: String(step.attempt) },
        expiresAt: formatInstant(book.expiresAt),
      });
      book.chargeAnswered(clock(), outcome, quietAt);
      return;
    }
    case 'expireCharge':
      await calls.expireCharge({ ...window, chargeId: step.chargeId });
      book.expireAnswered(clock(), step.chargeId);
      return;
    case 'createRefund': {
      const { chargeId, asVoid, key } = step;
      const outcome = await calls.createRefund({
        ...window,
        chargeId,
        amount: step.amount,
        currency,
        asVoid,
        metadata: { checkout: id, refund_key: key },
      });
      book.refundAnswered(clock(), key, outcome, quietAt);
      return;
    }
    case 'look': {
      const lookedAt = clock();
      const look = await calls.retrieveCharge(step.chargeId);
      book.looked(clock(), lookedAt, step.chargeId, look);
      return;
    }
    case 'findCharges': {
      const lookedAt = clock();
      const found = await calls.findCharges({
        sourceId: step.sourceId,
        checkoutId: id,
        since: formatInstant(step.since),
        until: formatInstant(step.until),
      });
      book.searched(clock(), lookedAt, step.why, found);
    }
  }
}
