import { formatInstant, type Instant } from '@tillflow/domain';
import type {
  ChargeFacts,
  CreateChargeCall,
  CreateRefundCall,
  CreateSourceCall,
  ExpireChargeCall,
  FindChargesCall,
  RefundFacts,
  RetrieveChargeCall,
} from './activities.js';
import type { CheckoutModel } from './model/checkout-model.js';
import type { Lookup } from '../shared/lookup.js';
import { sendWindow } from '../shared/policy.js';
import type { Step } from './model/schedule.js';
import type { Outcome } from '../shared/outcome.js';

/** The provider calls that steps make. They never reject: a failure is an outcome, or a lookup without a result. */
export type ProviderCalls = {
  createSource(call: CreateSourceCall): Promise<Outcome<{ readonly sourceId: string }>>;
  createCharge(call: CreateChargeCall): Promise<Outcome<ChargeFacts>>;
  expireCharge(call: ExpireChargeCall): Promise<Outcome<ChargeFacts>>;
  createRefund(call: CreateRefundCall): Promise<Outcome<RefundFacts>>;
  retrieveCharge(call: RetrieveChargeCall): Promise<Lookup<ChargeFacts>>;
  findCharges(call: FindChargesCall): Promise<Lookup<readonly ChargeFacts[]>>;
};

/**
 * Carries out one step of a checkout and applies its outcome to the model. Chained with `then`, because an `await` here
 * makes three promises.
 */
export function executeStep(
  model: CheckoutModel,
  step: Exclude<Step, { do: 'wait' | 'close' }>,
  calls: ProviderCalls,
  clock: () => Instant,
): Promise<void> {
  const { amount, currency, terminal, store, description, metadata, id } = model.intent;
  const { inFlightUntil, ...window } = sendWindow(model.policy, clock());
  switch (step.do) {
    case 'createSource':
      return calls
        .createSource({ ...window, amount, currency, terminal, ...(store === undefined ? {} : { store }) })
        .then((outcome) => model.applySource(clock(), outcome));
    case 'createCharge':
      return calls
        .createCharge({
          ...window,
          sourceId: step.sourceId,
          amount,
          currency,
          description,
          metadata: { ...metadata, checkout: id, attempt: String(step.attempt) },
          expiresAt: formatInstant(model.expiresAt),
        })
        .then((outcome) => model.applyCharge(clock(), outcome, inFlightUntil));
    case 'expireCharge':
      return calls
        .expireCharge({ ...window, chargeId: step.chargeId })
        .then(() => model.applyExpire(clock(), step.chargeId));
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
        .then((outcome) => model.applyRefund(clock(), key, outcome, inFlightUntil));
    }
    case 'retrieveCharge': {
      const retrievedAt = clock();
      return calls
        .retrieveCharge({ chargeId: step.chargeId, ...model.paymentWanted(step.chargeId) })
        .then((retrieved) => model.applyRetrieve(clock(), retrievedAt, step.chargeId, retrieved));
    }
    case 'findCharges': {
      const searchedAt = clock();
      return calls
        .findCharges({
          sourceId: step.sourceId,
          checkoutId: id,
          since: formatInstant(step.since),
          until: formatInstant(step.until),
          payment: 'details',
        })
        .then((found) => model.applySearch(clock(), searchedAt, step.why, found));
    }
  }
}
