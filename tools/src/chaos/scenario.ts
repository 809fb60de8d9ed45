import { setTimeout as sleep } from 'node:timers/promises';
import type { CheckoutState } from '@tillflow/workflows';
import { checkAlways, liveAction, sampleIntent, type Action } from '@tillflow/workflows/testing';
import fc from 'fast-check';
import { Callers } from './callers.js';
import type { LiveCheckout } from './live-checkout.js';
import { ProviderSide } from './provider-side.js';
import { chargesOf } from './records.js';

export type Plan = {
  /** Seconds during which the customer can pay. */
  readonly expiresIn: number;
  readonly maxHistoryEvents: number;
  readonly actions: readonly Action[];
};

/** The plan of a checkout. */
const planned: fc.Arbitrary<Plan> = fc.record({
  expiresIn: fc.constantFrom(8, 20, 40),
  maxHistoryEvents: fc.constantFrom(60, 200, 4_000),
  actions: fc.array(liveAction, { minLength: 6, maxLength: 16, size: 'max' }),
});

/** A checkout that is paid and refunded, unless a fault prevents it. */
const PAID_AND_REFUNDED: readonly Action[] = [
  { do: 'wait', ms: 1_500 },
  { do: 'pay', back: 0, hints: 0 },
  { do: 'hint', back: 0, kind: 'direct' },
  { do: 'wait', ms: 1_500 },
  { do: 'refund', key: 'a', amount: 50_000, times: 1, by: 'api' },
];
const PAID_AND_REFUNDED_EVERY = 4;

/**
 * Draws the plans before the first checkout begins, so that only the seed decides them. Every fourth one begins with a
 * payment and a refund, so that a small campaign also checks what holds for refunds.
 */
export function drawPlans(seed: number, count: number): Plan[] {
  return fc.sample(planned, { seed, numRuns: count }).map(({ actions, ...plan }, index) => {
    const first = index % PAID_AND_REFUNDED_EVERY === 0 ? PAID_AND_REFUNDED : [];
    return Object.assign(plan, { actions: [...first, ...actions] });
  });
}

/** Runs one checkout on the real processes, with all of its actors. */
export class LiveScenario {
  readonly #callers: Callers;
  readonly #provider: ProviderSide;

  constructor(
    readonly checkout: LiveCheckout,
    private readonly plan: Plan,
  ) {
    this.#callers = new Callers(checkout);
    this.#provider = new ProviderSide(checkout);
  }

  async run(): Promise<void> {
    await this.#callers.start(this.plan.expiresIn, this.plan.maxHistoryEvents);
    for (const action of this.plan.actions) {
      this.checkout.log(JSON.stringify(action));
      await this.#perform(action);
      await this.#checkView();
    }
    await this.#callers.allAnswered();
  }

  /** Faults have ended: the customer decides, and the provider announces what Tillflow does not poll for. */
  async endAtProvider(): Promise<void> {
    this.#provider.stopConfirming();
    await this.#provider.announceLateChanges();
  }

  learnDecisions(): Promise<void> {
    return this.#callers.learnDecisions();
  }

  async #perform(action: Action): Promise<void> {
    switch (action.do) {
      case 'wait':
        await sleep(action.ms);
        return;
      case 'pay':
        this.#provider.pay(action);
        return;
      case 'confirm':
        this.#provider.markPending('confirming');
        return;
      case 'decline':
        this.#provider.markPending('failed');
        return;
      case 'refund at the dashboard':
        await this.#provider.refundAtDashboard(action);
        return;
      case 'hint':
        await this.#provider.hint(action);
        return;
      case 'new attempt':
        await this.#callers.requestAttempt(action);
        return;
      case 'cancel':
        await this.#callers.requestCancel(action.by);
        return;
      case 'refund':
        this.#callers.requestRefund(action);
        return;
      case 'lookup':
      case 'adopt':
      case 'continue as new':
      case 'outage':
        throw new Error(`${action.do} is an action of the simulation`);
    }
  }

  /** Checks what a reader sees. The provider's records are read last, so that they are never older. */
  async #checkView(): Promise<void> {
    const { environment, id, reference } = this.checkout;
    // While Temporal does not answer, only the status that the API answers with is checked.
    const memo = (await environment.memoOf(reference)) ?? { intent: sampleIntent({ reference }), requestNonce: '' };
    const answer = await environment.request('GET', `/v1/checkouts/${id}`);
    const isAnswered = answer?.status === 200;
    const state = isAnswered ? (answer.json as CheckoutState) : memo.state;
    if (isAnswered) this.checkout.log(`  is ${state?.status}`);
    const { charges = [], refunds = [] } = environment.sandbox.state(['charges', 'refunds']);
    // The sandbox runs on this machine's clock.
    const shown = { now: Date.now(), charges: chargesOf({ charges, refunds }, id), memo: { ...memo, state } };
    this.checkout.breaches.push(...checkAlways(shown).breaches);
  }
}
