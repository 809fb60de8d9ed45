import { plus, type Instant } from '@tillflow/domain';
import type { ChargeFacts } from '../checkout/activities.js';
import { CheckoutModel } from '../checkout/model/checkout-model.js';
import type { Step } from '../checkout/model/schedule.js';
import { DEFAULT_POLICY, type CheckoutPolicy } from '../checkout/policy.js';
import type { CheckoutIntent } from '../checkout/types.js';
import type { Outcome } from '../shared/outcome.js';
import { unknownOutcome } from './runner.js';
import { intent, SECOND, START } from './simulated-provider.js';

export const declined: Outcome<never> = { kind: 'rejected', code: 'bad_request', message: 'no', retryable: false };

/** What the provider shows of the first charge while it can be paid. @param changes what a test needs otherwise. */
export function chargeFacts(changes: Partial<ChargeFacts> = {}): ChargeFacts {
  return {
    chargeId: 'chrg_1',
    sourceId: 'src_1',
    status: 'pending',
    amount: intent.amount,
    currency: intent.currency,
    checkoutId: intent.id,
    attempt: '1',
    isOtherMode: false,
    failureCode: null,
    failureMessage: null,
    paidAt: null,
    qr: { downloadUri: 'https://provider.test/1.svg', rawData: 'qr 1' },
    refundedAmount: 0,
    refunds: [],
    canVoid: false,
    ...changes,
  };
}

export const paidCharge = (changes: Partial<ChargeFacts> = {}): ChargeFacts =>
  chargeFacts({ status: 'successful', paidAt: '2026-03-10T09:01:00.000Z', ...changes });

/** The first charge of the second attempt. */
export const secondCharge = (changes: Partial<ChargeFacts> = {}): ChargeFacts =>
  chargeFacts({ chargeId: 'chrg_2', sourceId: 'src_2', attempt: '2', ...changes });

/** A checkout that was requested at `START`, and has neither source nor charge. */
export function openModel(policy: Partial<CheckoutPolicy> = {}, changes: Partial<CheckoutIntent> = {}): CheckoutModel {
  return CheckoutModel.open({ ...intent, ...changes }, { ...DEFAULT_POLICY, ...policy }, START);
}

/** The source `src_1` exists, and the charge is created next. */
export function sourcedModel(policy: Partial<CheckoutPolicy> = {}): CheckoutModel {
  const model = openModel(policy);
  model.applySource(START, { kind: 'done', value: { sourceId: 'src_1' } });
  return model;
}

/** The outcome of the first create is unknown, and nothing is in flight after 20 s. */
export function unknownModel(): CheckoutModel {
  const model = sourcedModel();
  model.applyCharge(START, unknownOutcome, plus(START, 20 * SECOND));
  return model;
}

/** Two searches show that no charge exists. @param from when no call is in flight any more. */
export function showAbsence(model: CheckoutModel, from: Instant): void {
  for (const now of [from, plus(from, SECOND)]) model.applySearch(now, now, 'unknown', { seen: [] });
}

/** The charge `chrg_1` can be paid, and the checkout is published. */
export function payableModel(policy: Partial<CheckoutPolicy> = {}): CheckoutModel {
  const model = sourcedModel(policy);
  model.applyCharge(START, { kind: 'done', value: chargeFacts() }, START);
  model.wasPublished();
  return model;
}

/** The first attempt has expired, and the second has neither source nor charge. */
export function nextAttemptModel(): CheckoutModel {
  const model = payableModel();
  model.requestAttempt(START, { after: 1 });
  retrieve(model, START, chargeFacts({ status: 'expired' }));
  model.advanceTo(START);
  return model;
}

/** The first attempt has expired, and the charge `chrg_2` of the second one can be paid. */
export function secondAttemptModel(): CheckoutModel {
  const model = nextAttemptModel();
  model.applySource(START, { kind: 'done', value: { sourceId: 'src_2' } });
  model.applyCharge(START, { kind: 'done', value: secondCharge() }, START);
  model.wasPublished();
  return model;
}

/** The provider shows a charge to a retrieve. @param asked the id that is retrieved. */
export function retrieve(model: CheckoutModel, now: Instant, facts: ChargeFacts, asked = facts.chargeId): void {
  model.applyRetrieve(now, now, asked, { seen: facts });
}

export function hint(model: CheckoutModel, now: Instant, chargeId: string | null, eventKey = 'charge.update'): void {
  model.hint(now, { eventId: 'evnt_1', eventKey, chargeId });
}

export function stepAt(model: CheckoutModel, now: Instant): Step {
  model.advanceTo(now);
  return model.nextStep(now);
}

/**
 * When the model retrieves charges in this time, in milliseconds after `from`. The provider shows `facts` each time.
 */
export function retrievesWithin(model: CheckoutModel, from: Instant, ms: number, facts: ChargeFacts): number[] {
  const times: number[] = [];
  for (let now = from; now < from + ms; now = plus(now, 100)) {
    if (stepAt(model, now).do !== 'retrieveCharge') continue;
    times.push(now - from);
    retrieve(model, now, facts);
  }
  return times;
}

/** The entries of the timeline as `what: detail`, from the first that was added after `count` entries. */
export function entriesOf(model: CheckoutModel, count = 0): string[] {
  return model.timeline.slice(count).map(({ what, detail }) => (detail === undefined ? what : `${what}: ${detail}`));
}
