import { isFull, MORE } from '../../../../../test/support/full.js';
import { instant } from '@tillflow/domain';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { hostileAction, simulatedAction, type Action } from '../../testing/actions.js';
import { AMOUNT } from '../../testing/sample-intent.js';
import { checkChange, checkSettled } from '../../testing/oracle.js';
import { CHANGE_FAULTS, READ_FAULTS, Scenario } from '../../testing/runner.js';
import { DAY, HOUR, sumOf, type SimulatedCharge } from '../../testing/simulated-provider.js';
import { assertAlways, begin, chargeAt, observe, perform, settle } from '../../testing/simulation.js';
import type { AttentionCode, CheckoutMemo } from '../types.js';

/** `RUNS` and `SEED` try more, or the same again. A failure prints its seed. */
const RUNS = Number(process.env['RUNS'] ?? (isFull ? 5_000 : 400));
const SEED = Number(process.env['SEED'] ?? Math.floor(Math.random() * 2 ** 31));

const latePayment = fc.constantFrom('return' as const, 'keep' as const);
const good = (count: number) => Array.from({ length: count }, () => 'none' as const);
const honestFaults = CHANGE_FAULTS.filter((fault) => fault !== 'no key in the reply');
const changeFaults = (maxLength: number) => fc.array(fc.constantFrom(...good(2), ...honestFaults), { maxLength });
const readFaults = (maxLength: number) => fc.array(fc.constantFrom(...good(5), 'unanswered' as const), { maxLength });

/** With a provider that tells the truth, only a call that takes effect long after its deadline needs a person. */
const excusesOf = (scenario: Scenario): ReadonlySet<AttentionCode> =>
  raised(scenario, scenario.policy.latePayment === 'keep' ? ['refund_doubled', 'late_payment'] : ['refund_doubled']);

describe('a checkout in random scenarios', MORE, () => {
  it(`ends as the provider's records say, whatever calls are lost (${RUNS} runs, SEED=${SEED})`, async () => {
    await property(
      fc.record({
        actions: fc.array(simulatedAction, { minLength: 3, maxLength: 25 }),
        changes: changeFaults(40),
        reads: readFaults(40),
        meanwhile: fc.array(simulatedAction, { maxLength: 6 }),
        latePayment,
      }),
      async (scenario, { actions }) => {
        for (const action of actions) await perform(scenario, action);
        await settle(scenario, 2 * DAY);
        expect(checkSettled(observe(scenario, { excuses: excusesOf(scenario) })).breaches).toEqual([]);
      },
    );
  });

  it(`ends as the provider's records say when money comes after it has closed (${RUNS} runs, SEED=${SEED})`, async () => {
    let reopened = 0;
    await property(
      fc.record({
        actions: fc.array(simulatedAction, { minLength: 1, maxLength: 10 }),
        changes: changeFaults(15),
        reads: readFaults(15),
        payments: fc.array(fc.record({ back: fc.nat(4), actions: fc.array(simulatedAction, { maxLength: 6 }) }), {
          minLength: 1,
          maxLength: 3,
        }),
        latePayment,
      }),
      async (scenario, { actions, payments }) => {
        for (const action of actions) await perform(scenario, action);
        for (const payment of payments) {
          // Every payment so far is hinted at in time to be refunded.
          for (const { id } of scenario.charges) scenario.hint(id);
          await scenario.pass(4 * DAY);
          if (!scenario.isClosed) await scenario.pass(400 * DAY);
          if (!scenario.isClosed || scenario.charges.length === 0) break;
          reopened += 1;
          payAfterClose(scenario, payment.back);
          await scenario.pass(1);
          for (const action of payment.actions) await perform(scenario, action);
        }
        await settle(scenario, 2 * DAY);
        expect(checkSettled(observe(scenario, { excuses: excusesOf(scenario) })).breaches).toEqual([]);
      },
    );
    expect(reopened).toBeGreaterThan(RUNS / 4);
  });

  it(`keeps its guarantees although the provider answers wrongly and the operator decides wrongly (${RUNS} runs, SEED=${SEED})`, async () => {
    await property(
      fc.record({
        actions: fc.array(hostileAction, { minLength: 3, maxLength: 20 }),
        changes: fc.array(fc.constantFrom(...good(2), ...CHANGE_FAULTS), { maxLength: 12 }),
        reads: fc.array(fc.constantFrom(...good(2), ...READ_FAULTS), { maxLength: 25 }),
        meanwhile: fc.array(hostileAction, { maxLength: 5 }),
        skews: fc.array(fc.constantFrom(0, 0, -2 * DAY, 3 * HOUR, 3 * DAY), { maxLength: 3 }),
        latePayment,
      }),
      async (scenario, { actions, skews }) => {
        const skew = skews.values();
        for (const action of actions) {
          const unpaid = scenario.charges.filter(({ paidAt }) => paidAt === null);
          await perform(scenario, action);
          for (const charge of unpaid) {
            if (charge.paidAt !== null) charge.paidAt = instant(charge.paidAt + (skew.next().value ?? 0));
          }
        }
        await settle(scenario, 2 * DAY);
        scenario.lookUp('the test is over');
        await settle(scenario, 2 * DAY);
        expect(scenario.charges.filter(({ status }) => status === 'pending')).toEqual([]);
        expectPaidAndReturned(scenario);
        expectMadeOnce(scenario);
        expect(scenario.calls.length).toBeLessThan(9_000);
        expect(JSON.stringify(scenario.model.state).length).toBeLessThan(40_000);
      },
    );
  });
});

type Drawn = {
  readonly changes: readonly (typeof CHANGE_FAULTS)[number][];
  readonly reads: readonly (typeof READ_FAULTS)[number][];
  readonly meanwhile?: readonly Action[];
  readonly latePayment: 'return' | 'keep';
};

/** Runs each drawn scenario, and prints what happened in one that fails. */
async function property<T extends Drawn>(
  drawn: fc.Arbitrary<T>,
  run: (scenario: Scenario, drawn: T) => Promise<void>,
): Promise<void> {
  await fc.assert(
    fc.asyncProperty(drawn, async (one) => {
      const scenario = new Scenario({ latePayment: one.latePayment });
      const [changes, reads, meanwhile] = [one.changes.values(), one.reads.values(), (one.meanwhile ?? []).values()];
      scenario.drawChangeFault = () => changes.next().value ?? 'none';
      scenario.drawReadFault = () => reads.next().value ?? 'none';
      scenario.during = () => {
        const action = meanwhile.next().value;
        if (action !== undefined) begin(scenario, action);
      };
      scenario.onPublish = watch(scenario);
      try {
        await run(scenario, one);
      } catch (error) {
        throw new Error(`It happened so:\n${scenario.trace.join('\n')}`, { cause: error });
      }
    }),
    { numRuns: RUNS, seed: SEED },
  );
}

/** Checks each publication against the one before. */
function watch(scenario: Scenario): () => void {
  let published: CheckoutMemo | null = null;
  return () => {
    const { memo, policy } = scenario;
    const keepsLatePayments = policy.latePayment === 'keep';
    const excuses = raised(scenario, ['return_refused', ...(keepsLatePayments ? ['late_payment' as const] : [])]);
    const [breach] = checkChange(published, observe(scenario, { excuses })).breaches;
    if (breach !== undefined) throw new Error(breach.what);
    published = memo;
    assertAlways(scenario);
  };
}

/** Pays a charge of a closed checkout, as the event tail then finds it. The checkout shows the same until the hint. */
function payAfterClose(scenario: Scenario, back: number): SimulatedCharge {
  const late = chargeAt(scenario, back);
  if (late === undefined) throw new Error('There is no charge');
  if (late.status !== 'successful') scenario.takePayment(late);
  scenario.note(`pay ${late.id} after the checkout has closed`);
  const shown = (): unknown => ({ ...scenario.model.result(scenario.now), timeline: null });
  const before = shown();
  scenario.reopen(late);
  expect(shown()).toEqual(before);
  scenario.hint(late.id, 'charge.complete');
  return late;
}

/** The attentions that the checkout shows or has behind the first. @param allowed only these count. */
function raised(scenario: Scenario, allowed?: readonly AttentionCode[]): ReadonlySet<AttentionCode> {
  const codes = scenario.model.state.attentions.map(({ code }) => code);
  return new Set(codes.filter((code) => allowed?.includes(code) ?? true));
}

/** Paid as the provider says. What must not stay with the shop is refunded, while it can be and no person is asked. */
function expectPaidAndReturned(scenario: Scenario): void {
  const { model, now, policy } = scenario;
  const paid = scenario.charges.filter(({ status }) => status === 'successful');
  if (!scenario.trace.some((line) => line.endsWith('read: reversed'))) expect(model.isPaid).toBe(paid.length > 0);
  const accepted = paid.find(({ id }) => id === model.state.charges.accepted);
  if (accepted !== undefined) expect(scenario.view.refunded_amount).toBe(sumOf(accepted.refunds));
  const codes = raised(scenario);
  if (codes.has('return_refused') || codes.has('refund_unmatched')) return;
  const isReturned = model.state.charges.lateAfter !== null && policy.latePayment === 'return';
  for (const charge of paid) {
    const isRefundable = now < (charge.paidAt ?? 0) + 360 * DAY;
    if (isRefundable && (charge !== accepted || isReturned)) expect(sumOf(charge.refunds)).toBe(AMOUNT);
  }
}

/** No refund that Tillflow asked for is made twice or called rejected after it was made, unless a person is asked. */
function expectMadeOnce(scenario: Scenario): void {
  const codes = raised(scenario);
  for (const { key, status } of scenario.model.refunds) {
    const made = scenario.refunds.filter((refund) => refund.key === key);
    if (!codes.has('refund_doubled')) expect(made.length).toBeLessThanOrEqual(1);
    if (status === 'rejected') expect(made).toEqual([]);
    if (status === 'pending') expect(codes.has('refund_unmatched') || codes.has('integrity_mismatch')).toBe(true);
  }
}
