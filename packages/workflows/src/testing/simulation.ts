import { plus } from '@tillflow/domain';
import type { Action } from './actions.js';
import type { Observation } from './observation.js';
import { checkAlways } from './oracle.js';
import type { Scenario } from './runner.js';
import { MINUTE, type SimulatedCharge } from './simulated-provider.js';

/** Carries out one action on a simulated checkout, then lets its workflow run. */
export async function perform(scenario: Scenario, action: Action): Promise<void> {
  begin(scenario, action);
  if (action.do === 'continue as new') scenario.restart();
  if (action.do === 'outage') scenario.isDown = true;
  await scenario.pass(action.do === 'wait' || action.do === 'outage' ? action.ms : 1);
  scenario.isDown = false;
}

/** The part of an action that can take place while a call to the provider is under way. */
export function begin(scenario: Scenario, action: Action): void {
  const { model, now } = scenario;
  scenario.note(JSON.stringify(action));
  switch (action.do) {
    case 'pay': {
      const charge = chargeAt(scenario, action.back);
      // A customer may pay before an expiry that the provider shows late, so a scenario may also pay an ended charge.
      if (charge === undefined || charge.status === 'successful') return;
      scenario.takePayment(charge);
      for (let count = 0; count < action.hints; count += 1) scenario.hint(charge.id, 'charge.complete');
      return;
    }
    case 'confirm': {
      const charge = chargeAt(scenario, 0);
      if (charge !== undefined) charge.confirmingUntil = plus(now, 2 * MINUTE);
      return;
    }
    case 'decline': {
      const charge = chargeAt(scenario, action.back);
      if (charge?.status === 'pending') charge.status = 'failed';
      return;
    }
    case 'new attempt':
      model.requestAttempt(now, { after: model.attempt.number - action.back });
      return;
    case 'cancel':
      model.requestCancel(now);
      return;
    case 'refund':
      for (let count = 0; count < action.times; count += 1) scenario.requestRefund(action.key, action.amount);
      return;
    case 'refund at the dashboard': {
      const charge = chargeAt(scenario, action.back);
      if (charge?.status === 'successful') scenario.makeRefund(charge, action.amount, false, null);
      return;
    }
    case 'hint': {
      const id = action.kind === 'unrecognized charge' ? 'chrg_test_unrecognized' : chargeAt(scenario, action.back)?.id;
      scenario.hint(id ?? null, action.kind === 'direct' ? 'charge.update' : 'charge.complete');
      return;
    }
    case 'lookup':
      scenario.lookUp();
      return;
    case 'adopt': {
      const ids = [...scenario.charges.map(({ id }) => id), ...scenario.refunds.map(({ id }) => id)];
      const id = ids.at(-1 - (action.back % Math.max(ids.length, 1)));
      if (id !== undefined) model.resolve(now, { action: 'adopt', id, reason: 'a test' });
      return;
    }
    case 'wait':
    case 'outage':
    case 'continue as new':
  }
}

/** The charge `back` places before the newest; past the first it counts from the newest again. */
export function chargeAt({ charges }: Scenario, back: number): SimulatedCharge | undefined {
  return charges.at(-1 - (back % Math.max(charges.length, 1)));
}

/** Ends all faults, sends a hint for every charge, and runs until no step is due. */
export async function settle(scenario: Scenario, settleMs: number): Promise<void> {
  scenario.drawChangeFault = () => 'none';
  scenario.drawReadFault = () => 'none';
  scenario.during = () => {};
  await scenario.pass(settleMs);
  for (const { id } of scenario.charges) scenario.hint(id);
  await scenario.pass(settleMs);
}

/** What the oracle sees of a simulated checkout. */
export function observe(scenario: Scenario, more: Partial<Observation> = {}): Observation {
  const { now, charges, memo } = scenario;
  const acceptedChargeId = scenario.model.state.charges.accepted;
  return { now, charges, memo, acceptedChargeId, hasLateEffects: true, ...more };
}

/** @throws when a guarantee is broken. */
export function assertAlways(scenario: Scenario): void {
  const [breach] = checkAlways(observe(scenario)).breaches;
  if (breach !== undefined) throw new Error(breach.what);
}
