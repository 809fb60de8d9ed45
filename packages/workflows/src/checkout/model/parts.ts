import type { CheckoutPolicy } from '../policy.js';
import type { CheckoutIntent } from '../types.js';
import { Attempts } from './attempts.js';
import { Attentions } from './attention.js';
import { Charges } from './charges/charges.js';
import { Creation } from './charges/creation.js';
import { UnrecognizedCharges } from './charges/unrecognized.js';
import { Refunding } from './refunds/refunding.js';
import { Refunds } from './refunds/refunds.js';
import { Returns } from './refunds/returns.js';
import type { ModelState } from './state.js';
import { Timeline } from './timeline.js';

/** The parts of the model. Each owns one slice of the state; a part uses only those that are made before it. */
export function partsOf(intent: CheckoutIntent, policy: CheckoutPolicy, state: ModelState) {
  const timeline = new Timeline(state.timeline);
  const attentions = new Attentions(state.attentions, timeline);
  const attempts = new Attempts(state.attempts);
  const context = { intent, policy, timeline, attentions, attempts };
  const creation = new Creation(context, state.creation);
  const unrecognized = new UnrecognizedCharges(context, state.unrecognized);
  const charges = new Charges(context, state.charges, creation, unrecognized, state.published);
  const refunds = new Refunds(context, state.refunds);
  const refunding = new Refunding(context, state.refunding, refunds, charges);
  const returns = new Returns(context, refunds, charges);
  return { timeline, attentions, attempts, creation, unrecognized, charges, refunds, refunding, returns };
}
