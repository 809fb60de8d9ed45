import { plus, type Instant } from '@tillflow/domain';
import type { ChargeFacts, RefundFacts } from '../checkout/activities.js';
import type { CheckoutModel } from '../checkout/model/checkout-model.js';
import type { Step } from '../checkout/model/schedule.js';
import type { CheckoutPolicy } from '../checkout/policy.js';
import type { Outcome } from '../shared/outcome.js';
import { chargeFacts, openModel, sourcedModel } from './sample-model.js';
import { refused, SECOND, START } from './simulated-provider.js';

/** The first charge of the sample checkout, as the provider shows it before the payment. */
export const pendingCharge = chargeFacts({ qr: { downloadUri: 'https://provider.test/qr.svg', rawData: 'qr' } });
export const paidCharge: ChargeFacts = {
  ...pendingCharge,
  status: 'successful',
  paidAt: '2026-03-10T09:00:00.000Z',
  canVoid: true,
};

/** How a call can end, besides `unknownOutcome` of the runner. */
export const notAccepted: Outcome<never> = { kind: 'rejected', code: 'busy', message: 'later', retryable: true };
export const refusal: Outcome<never> = refused('failed');

/** The paid charge with these refunds. */
export function withRefunds(refunds: readonly RefundFacts[], more: Partial<ChargeFacts> = {}): ChargeFacts {
  const refundedAmount = refunds.reduce((sum, { amount }) => sum + amount, 0);
  return { ...paidCharge, refunds, refundedAmount, ...more };
}

/** A refund as the provider lists it; `key` null: without Tillflow's metadata. */
export function listed(refundId: string, amount: number, key: string | null): RefundFacts {
  return { refundId, amount, isVoid: false, key };
}

/** A checkout model that a test drives by hand: the test gives each answer of the provider, and the time. */
export class DrivenCheckout {
  readonly model: CheckoutModel;
  now: Instant = START;

  private constructor(model: CheckoutModel) {
    this.model = model;
  }

  /** Nothing has been sent yet. */
  static opened(policy: Partial<CheckoutPolicy> = {}): DrivenCheckout {
    return new DrivenCheckout(openModel(policy));
  }

  /** With a source, and without a charge. */
  static withSource(policy: Partial<CheckoutPolicy> = {}): DrivenCheckout {
    return new DrivenCheckout(sourcedModel(policy));
  }

  /** With a QR. */
  static payable(policy: Partial<CheckoutPolicy> = {}): DrivenCheckout {
    const checkout = DrivenCheckout.withSource(policy);
    checkout.model.applyCharge(START, { kind: 'done', value: pendingCharge }, START);
    checkout.model.wasPublished();
    return checkout;
  }

  static paid(policy: Partial<CheckoutPolicy> = {}): DrivenCheckout {
    const checkout = DrivenCheckout.payable(policy);
    checkout.retrieve(paidCharge);
    checkout.model.wasPublished();
    return checkout;
  }

  /** Paid after the expiry was published. */
  static paidLate(policy: Partial<CheckoutPolicy> = {}): DrivenCheckout {
    const checkout = DrivenCheckout.payable(policy);
    checkout.retrieve({ ...pendingCharge, status: 'expired' });
    checkout.model.wasPublished();
    checkout.retrieve(paidCharge);
    return checkout;
  }

  static resumed(model: CheckoutModel, now: Instant): DrivenCheckout {
    const checkout = new DrivenCheckout(model);
    checkout.now = now;
    return checkout;
  }

  pass(milliseconds: number): this {
    this.now = plus(this.now, milliseconds);
    return this;
  }

  /** What the checkout does next. */
  get step(): Step {
    this.model.advanceTo(this.now);
    return this.model.nextStep(this.now);
  }

  get view() {
    return this.model.projection(this.now);
  }

  retrieve(facts: ChargeFacts): void {
    this.model.applyRetrieve(this.now, this.now, facts.chargeId, { seen: facts });
  }

  missRetrieve(code = 'timeout'): void {
    this.model.applyRetrieve(this.now, this.now, 'chrg_1', { unseen: 'no answer', code });
  }

  /** @param limit what the requester may refund without a second person; null: no limit */
  askRefund(key: string, amount: number | null, by?: string, limit: number | null = null): void {
    this.model.requestRefund(this.now, { key, amount, reason: null, by }, limit);
  }

  /** Decides as a key that may approve. @returns why the decision is refused; null: it is carried out. */
  decideRefund(key: string, decision: 'approve' | 'reject', by: string | undefined, mayApprove = true): string | null {
    const request = { key, decision, reason: null, by };
    const refused = this.model.refuseDecision(this.now, request, mayApprove);
    if (refused === null) this.model.decideRefund(this.now, request);
    return refused?.code ?? null;
  }

  /** Up to the call that makes the next refund: the charge is retrieved, and allows it. */
  sendRefund(facts: ChargeFacts = paidCharge): Step {
    this.model.advanceTo(this.now);
    this.retrieve(facts);
    return this.step;
  }

  /** The refund call ends. @param inFlightMs how long it can still take effect. */
  answerRefund(key: string, outcome: Outcome<RefundFacts>, inFlightMs = 20 * SECOND): void {
    this.model.applyRefund(this.now, key, outcome, plus(this.now, inFlightMs));
  }

  /** Retrieves as often as one is due, until another step is; time passes as the checkout waits. */
  retrieveUntilOther(facts: ChargeFacts = paidCharge): Exclude<Step, { do: 'wait' | 'retrieveCharge' }> {
    for (;;) {
      const step = this.step;
      if (step.do === 'wait') this.now = step.until;
      else if (step.do === 'retrieveCharge') this.retrieve(facts);
      else return step;
    }
  }

  /** What the timeline says of these kinds of events, without their times. */
  timeline(...kinds: readonly string[]) {
    const chosen = this.model.timeline.filter(({ what }) => kinds.includes(what));
    return chosen.map(({ what, detail, by }) => ({ what, detail, by }));
  }
}
