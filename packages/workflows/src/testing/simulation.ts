import { instant, plus, type CheckoutStatus } from '@tillflow/domain';
import type { ChargeFacts, RefundFacts } from '../checkout/activities.js';
import type { SendWindow } from '../shared/policy.js';
import type { Outcome } from '../shared/outcome.js';
import { executeStep, type ProviderCalls } from '../checkout/execute-step.js';
import type { CheckoutMemo } from '../checkout/types.js';
import { CheckoutModel } from '../checkout/model/checkout-model.js';
import { emptyState } from '../checkout/model/state.js';
import { DEFAULT_POLICY, type CheckoutPolicy } from '../checkout/policy.js';
import type { ModelState } from '../checkout/model/state.js';
import { reopen } from '../checkout/model/reopen.js';
import type { Lookup } from '../shared/lookup.js';
import {
  DAY,
  intent,
  MINUTE,
  refused,
  SimulatedProvider,
  START,
  sumOf,
  type SimulatedCharge,
} from './simulated-provider.js';

/** How one call goes. Mutating calls: with or without effect, at once or late. Reads: answered or not. */
export const FATES = [
  'well',
  'well',
  'well',
  'lost before',
  'lost after',
  'late',
  'too late',
  'refused',
  'not sent',
  'lying',
  'silent',
] as const;
export type Fate = (typeof FATES)[number];

/** Steps without a wait: more is a loop that no time ends. */
const MAX_STEPS = 2_000;

/** What the provider's books must never show. */
class Broken extends Error {
  override readonly name = 'Broken';
}

/**
 * A checkout's book, the loop that serves it, and a provider that loses, delays, refuses and lies, all on one
 * simulated clock. Whatever happens in between, {@link heal} must bring it to the end that money demands.
 */
export class Simulation extends SimulatedProvider {
  model: CheckoutModel;
  readonly trace: string[] = [];
  #healed = false;
  #told: CheckoutStatus = 'creating';
  readonly #policy: CheckoutPolicy;

  /**
   * @param fate of the next call.
   * @param meanwhile what happens while a call is under way.
   */
  constructor(
    policy: Partial<CheckoutPolicy>,
    private readonly fate: () => Fate,
    private readonly meanwhile: () => void,
  ) {
    super();
    this.#policy = { ...DEFAULT_POLICY, ...policy };
    this.model = CheckoutModel.open(intent, this.#policy, this.now);
  }

  get paid(): SimulatedCharge[] {
    return this.charges.filter(({ status }) => status === 'successful');
  }

  /** Does what is due until nothing is, then lets time pass; so on for `milliseconds`. */
  async pass(milliseconds: number): Promise<void> {
    const until = plus(this.now, milliseconds);
    for (let steps = 0; ; steps += 1) {
      if (steps > MAX_STEPS) throw new Broken(`${MAX_STEPS} steps without an end`);
      this.model.advanceTo(this.now);
      this.#report();
      this.check();
      const step = this.model.nextStep(this.now);
      if (step.do === 'close') {
        this.elapse(until);
        return;
      }
      if (step.do !== 'wait') {
        this.trace.push(`${this.now - START} ${JSON.stringify(step)}`);
        await executeStep(this.model, step, this.#calls, () => this.now);
        continue;
      }
      if (step.until > until || this.now >= until) {
        this.elapse(until);
        return;
      }
      this.elapse(step.until);
    }
  }

  /** From now on every call goes well and every payment is hinted at; runs until all is settled. */
  async heal(): Promise<void> {
    this.#healed = true;
    await this.pass(2 * DAY);
    for (const { id } of this.charges)
      this.model.hint(this.now, { eventId: 'e', eventKey: 'charge.update', chargeId: id });
    await this.pass(2 * DAY);
  }

  /** As continue-as-new does. */
  restart(): void {
    const state = JSON.parse(JSON.stringify(this.model.state)) as ModelState;
    this.model = CheckoutModel.resume(intent, this.#policy, state);
  }

  /** Its workflow has closed: no message reaches it any more. */
  get isClosed(): boolean {
    return this.model.nextStep(this.now).do === 'close';
  }

  /** As the event tail does, when it finds a payment of a checkout whose workflow has closed. */
  reopen(late: SimulatedCharge): void {
    const { intent: asked, timeline, refunds } = this.model;
    const { version } = this.model.state.published;
    const state = this.model.projection(this.now);
    const memo = { intent: asked, requestNonce: '', state, timeline, refunds, version };
    const told = JSON.parse(JSON.stringify(memo)) as CheckoutMemo;
    const charge = { chargeId: late.id, attempt: late.metadata['attempt'] ?? null };
    const { resume = emptyState() } = reopen(told, {}, charge, this.now);
    this.model = CheckoutModel.resume(intent, this.#policy, resume);
  }

  /** The till still wants the money: a payment of an attempt that was reported as ended is then none that came late. */
  askAgain(after: number): void {
    this.model.requestAttempt(this.now, { after });
    if (this.model.state.attempts.replaced !== null) this.#told = 'awaiting_payment';
  }

  refundElsewhere(charge: SimulatedCharge, amount: number): void {
    this.makeRefund(charge, amount, false, null);
  }

  /** What holds at every moment. */
  check(): void {
    const { status, qr, attempts } = this.model.projection(this.now);
    if (this.model.isPaid && this.paid.length === 0) throw new Broken('paid without a payment');
    if (this.paid.length === 0 && ['paid', 'partially_refunded', 'refunded'].includes(status)) {
      throw new Broken(`${status} without a payment`);
    }
    for (const charge of this.charges) {
      if (sumOf(charge.refunds) > intent.amount) throw new Broken('more was refunded than paid');
    }
    const promised = this.model.refunds
      .filter((one) => one.status !== 'rejected' && one.charge_id === this.model.state.charges.accepted)
      .reduce((sum, { amount }) => sum + amount, 0);
    if (promised > intent.amount && !this.#wasRefundedElsewhere) throw new Broken('more is promised than was paid');
    const shown = attempts.at(-1)?.charge_id;
    if (qr !== null && !this.charges.some(({ id }) => id === shown)) throw new Broken('a QR of no charge');
    JSON.stringify(this.model.state);
  }

  get #wasRefundedElsewhere(): boolean {
    return this.refunds.some(({ key }) => key === null);
  }

  #report(): void {
    const { status } = this.model;
    const ends: readonly CheckoutStatus[] = ['expired', 'failed', 'cancelled'];
    const isReturned =
      this.#policy.latePayment === 'return' &&
      !this.model.state.attentions.some((one) => one.code === 'return_refused');
    if (ends.includes(this.#told) && status === 'paid' && isReturned) throw new Broken(`${this.#told} became paid`);
    this.#told = status;
    this.model.wasPublished();
  }

  /** One mutating call: its effect, or none, and what its caller hears. */
  async #mutate<T>(
    { sendBy, deadlineMs }: SendWindow,
    effect: () => Outcome<T>,
    lie: (truth: Outcome<T>) => Outcome<T>,
  ): Promise<Outcome<T>> {
    this.meanwhile();
    const fate = this.#healed ? 'well' : this.fate();
    if (fate !== 'well') this.trace.push(`  ${fate}`);
    const unknown = { kind: 'unknown', code: 'timeout', message: fate } as const;
    const giveUp = (): void => this.elapse(instant(Math.max(sendBy, this.now) + deadlineMs));
    switch (fate) {
      case 'lost before':
        return unknown;
      case 'lost after':
        effect();
        return unknown;
      case 'late':
        // Sent in the last moment, done in the last moment.
        this.at(instant(sendBy + deadlineMs - 1), effect);
        return unknown;
      case 'too late':
        // A worker that froze between its check of the time and the first byte.
        this.after(4 * MINUTE, effect);
        giveUp();
        return unknown;
      case 'refused':
        return refused('refused');
      case 'not sent':
        return { kind: 'rejected', code: 'connection', message: 'no', retryable: true };
      case 'lying':
        return lie(effect());
      case 'silent':
        giveUp();
        return unknown;
      case 'well':
        this.elapse(plus(this.now, 20));
        return effect();
    }
  }

  async #read<T>(see: () => T): Promise<Lookup<T>> {
    this.meanwhile();
    const fate = this.#healed ? 'well' : this.fate();
    if (fate === 'silent' || fate === 'not sent') {
      this.trace.push('  unseen');
      this.elapse(plus(this.now, 5_000));
      return { unseen: 'no answer', code: 'timeout' };
    }
    this.elapse(plus(this.now, 10));
    return { seen: see() };
  }

  readonly #calls: ProviderCalls = {
    createSource: (call) =>
      this.#mutate(
        call,
        () => ({ kind: 'done', value: { sourceId: this.id('src') } }),
        (truth) => truth,
      ),
    createCharge: (call) => this.#mutate(call, () => this.makeCharge(call), withOtherAmount<ChargeFacts>),
    expireCharge: (call) =>
      this.#mutate(
        call,
        () => this.expire(call.chargeId),
        (truth) => truth,
      ),
    createRefund: (call) => this.#mutate(call, () => this.refund(call), withOtherAmount<RefundFacts>),
    retrieveCharge: async (chargeId) => {
      const charge = this.charge(chargeId);
      if (charge === undefined) return { unseen: 'not found', code: 'not_found' };
      return this.#read(() => this.facts(charge));
    },
    findCharges: () => this.#read(() => this.charges.map((charge) => this.facts(charge))),
  };
}

function withOtherAmount<T extends { readonly amount: number }>(truth: Outcome<T>): Outcome<T> {
  return truth.kind === 'done' ? { kind: 'done', value: { ...truth.value, amount: 1 } } : truth;
}
