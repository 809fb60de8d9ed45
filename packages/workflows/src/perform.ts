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
import type { CheckoutBook } from './book/book.js';
import { sendWindow } from './book/policy.js';
import type { Seen } from './book/seen.js';
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

/**
 * Carries out one step of a checkout and tells its book what came of it. Chained by `then`: the engine records where each
 * promise was made, and an `await` on the way makes three of them.
 */
export function perform(
  book: CheckoutBook,
  step: Exclude<Step, { do: 'wait' | 'close' }>,
  calls: Calls,
  clock: () => Instant,
): Promise<void> {
  const { amount, currency, terminal, description, metadata, id } = book.intent;
  const { quietAt, ...window } = sendWindow(book.policy, clock());
  switch (step.do) {
    case 'createSource':
      return calls
        .createSource({ ...window, amount, currency, terminal })
        .then((outcome) => book.sourceAnswered(clock(), outcome));
    case 'createCharge':
      return calls
        .createCharge({
          ...window,
          sourceId: step.sourceId,
          amount,
          currency,
          description,
          metadata: { ...metadata, checkout: id, attempt: String(step.attempt) },
          expiresAt: formatInstant(book.expiresAt),
        })
        .then((outcome) => book.chargeAnswered(clock(), outcome, quietAt));
    case 'expireCharge':
      return calls
        .expireCharge({ ...window, chargeId: step.chargeId })
        .then(() => book.expireAnswered(clock(), step.chargeId));
    case 'createRefund': {
      const { chargeId, asVoid, key } = step;
      return calls
        .createRefund({
          ...window,
          chargeId,
          amount: step.amount,
          currency,
          asVoid,
          metadata: { checkout: id, refund_key: key },
        })
        .then((outcome) => book.refundAnswered(clock(), key, outcome, quietAt));
    }
    case 'look': {
      const lookedAt = clock();
      return calls.retrieveCharge(step.chargeId).then((look) => book.looked(clock(), lookedAt, step.chargeId, look));
    }
    case 'findCharges': {
      const lookedAt = clock();
      return calls
        .findCharges({
          sourceId: step.sourceId,
          checkoutId: id,
          since: formatInstant(step.since),
          until: formatInstant(step.until),
        })
        .then((found) => book.searched(clock(), lookedAt, step.why, found));
    }
  }
}
