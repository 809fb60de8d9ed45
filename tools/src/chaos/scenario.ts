import { setTimeout as sleep } from 'node:timers/promises';
import type { CheckoutState } from '@tillflow/workflows';
import { checkAlways, isPaidStatus, liveAction, sampleIntent, type Action } from '@tillflow/workflows/testing';
import fc from 'fast-check';
import { Callers } from './callers.js';
import type { LiveCheckout } from './live-checkout.js';
import { ProviderSide } from './provider-side.js';
import { chargesOf } from './records.js';

export type Plan = {
  /** Seconds during which the customer can pay. */
  readonly expiresIn: number;
  readonly maxHistoryEvents: number;
  /** Whether the customer pays as soon as there is a charge, and a part is refunded, before the actions. */
  readonly isPaidFirst: boolean;
  readonly actions: readonly Action[];
};

/** The plan of a checkout. */
const planned: fc.Arbitrary<Omit<Plan, 'isPaidFirst'>> = fc.record({
  expiresIn: fc.constantFrom(8, 20, 40),
  maxHistoryEvents: fc.constantFrom(60, 200, 4_000),
  actions: fc.array(liveAction, { minLength: 6, maxLength: 16, size: 'max' }),
});

const PAID_AND_REFUNDED_EVERY = 4;
/** Faults may prevent the payment of a plan that begins with one: then its other actions follow. */
const PAID_WITHIN_MS = 20_000;
const BETWEEN_LOOKS_MS = 100;

/**
 * Draws the plans before the first checkout begins, so that only the seed decides them. Every fourth one begins with a
 * payment and a refund, so that a small campaign also checks what holds for refunds.
 */
export function drawPlans(seed: number, count: number): Plan[] {
  return fc.sample(planned, { seed, numRuns: count }).map((plan, index) => {
    return Object.assign(plan, { isPaidFirst: index % PAID_AND_REFUNDED_EVERY === 0 });
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
    if (this.plan.isPaidFirst) await this.#payAndRefund();
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

  /** Waits for what it needs, because a slow machine may take seconds for each step. */
  async #payAndRefund(): Promise<void> {
    const deadline = Date.now() + PAID_WITHIN_MS;
    while (!(await this.#isPaid())) {
      if (Date.now() > deadline) return;
      this.#provider.pay({ do: 'pay', back: 0, hints: 0 });
      await sleep(BETWEEN_LOOKS_MS);
    }
    this.#callers.requestRefund({ do: 'refund', key: 'a', amount: 50_000, times: 1, by: 'api' });
  }

  async #isPaid(): Promise<boolean> {
    const status = (await this.checkout.environment.memoOf(this.checkout.reference))?.state?.status;
    return status !== undefined && isPaidStatus(status);
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
