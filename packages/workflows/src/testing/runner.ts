import { instant, plus, type Instant } from '@tillflow/domain';
import type { ChargeFacts, RefundFacts } from '../checkout/activities.js';
import type { SendWindow } from '../shared/policy.js';
import { executeStep, type ProviderCalls } from '../checkout/execute-step.js';
import { CheckoutModel } from '../checkout/model/checkout-model.js';
import { reopen } from '../checkout/model/reopen.js';
import { emptyState } from '../checkout/model/state.js';
import type { ModelState } from '../checkout/model/state.js';
import type { Step } from '../checkout/model/schedule.js';
import type { CheckoutMemo } from '../checkout/types.js';
import type { Lookup } from '../shared/lookup.js';
import type { Outcome } from '../shared/outcome.js';
import { DEFAULT_POLICY, type CheckoutPolicy } from '../checkout/policy.js';
import { intent, MINUTE, refused, SimulatedProvider, START, type SimulatedCharge } from './simulated-provider.js';

/** How a call that changes something goes: whether it has its effect, when, and what its caller learns. */
export const CHANGE_FAULTS = [
  'none',
  'lost before its effect',
  'lost after its effect',
  'effect at the last moment',
  'effect long after the deadline',
  'refused',
  'not sent',
  'silent',
  'another amount in the reply',
  'no key in the reply',
] as const;
export type ChangeFault = (typeof CHANGE_FAULTS)[number];

/** What a read shows of a charge. `older` is what the read before it showed. */
const READS = {
  none: (facts) => facts,
  'another amount': (facts) => ({ ...facts, amount: 1, refundedAmount: intent.amount }),
  'another mode': (facts) => ({ ...facts, isOtherMode: true, refunds: [], refundedAmount: 0 }),
  'another checkout': (facts) => ({ ...facts, checkoutId: 'chk_default_other' }),
  'an older state': (_, older) => older,
  'no refunds listed': (facts) => ({ ...facts, refunds: [] }),
  'refunds without keys': (facts) => ({ ...facts, refunds: facts.refunds.map((one) => ({ ...one, key: null })) }),
  reversed: (facts) => ({ ...facts, status: 'reversed' }),
  'an unknown status': (facts) => ({ ...facts, status: 'on_hold' }),
} satisfies Record<string, (facts: ChargeFacts, older: ChargeFacts) => ChargeFacts>;
type ShownRead = keyof typeof READS;
export type ReadFault = ShownRead | 'unanswered';
/** How a read goes. */
export const READ_FAULTS: readonly ReadFault[] = ['unanswered', ...(Object.keys(READS) as ShownRead[])];

/** A named fault, or the answer itself. `effect` makes the change at the provider. */
type ChangeAnswer<T> = ChangeFault | ((effect: () => Outcome<T>) => Outcome<T>);
/** The answer to the next call, or to this call and all that follow. */
export type ScriptedAnswer<T> = ChangeAnswer<T> | { readonly always: ChangeAnswer<T> };

export const unknownOutcome = { kind: 'unknown', code: 'timeout', message: 'no answer' } as const;
/** A script that gives the same answer to every call. */
export const always = <T>(answer: T): { readonly always: T }[] => [{ always: answer }];

/** More steps than this in one pass mean that the workflow loops. */
const MAX_STEPS = 20_000;
const CHANGE_MS = 20;
const FAR_TOO_LATE_MS = 4 * MINUTE;

/**
 * One checkout: its model, the loop of its workflow, and a provider that fails as a test says, all on one simulated
 * clock. Faults are given (`onCreateCharge`, `onCreateRefund`, `onExpire`, `alter`), or drawn (`drawChangeFault`,
 * `drawReadFault`).
 */
export class Scenario extends SimulatedProvider {
  model: CheckoutModel;
  readonly policy: CheckoutPolicy;
  /** Every call to the provider, in order. */
  readonly calls: { readonly at: Instant; readonly call: Step['do'] }[] = [];
  /** What happened, for a person who reads a failure. */
  readonly trace: string[] = [];
  /** The provider answers nothing. */
  isDown = false;
  /** The answers to the next calls of each kind. A call without one succeeds. */
  onCreateCharge: ScriptedAnswer<ChargeFacts>[] = [];
  onCreateRefund: ScriptedAnswer<RefundFacts>[] = [];
  onExpire: ScriptedAnswer<ChargeFacts>[] = [];
  drawChangeFault: () => ChangeFault = () => 'none';
  drawReadFault: () => ReadFault = () => 'none';
  /** Changes what a retrieve shows. */
  alter: (facts: ChargeFacts) => ChargeFacts = (facts) => facts;
  /** Changes what a search shows. */
  alterFound: (facts: ChargeFacts) => ChargeFacts = (facts) => facts;
  /** Happens while a call is under way. */
  during: (call: keyof ProviderCalls) => void = () => {};
  /** Milliseconds that a read takes. */
  readMs = 10;
  /** Runs after each publication. */
  onPublish: () => void = () => {};
  readonly #shown = new Map<string, ChargeFacts>();

  constructor(policy: Partial<CheckoutPolicy> = {}) {
    super();
    this.policy = { ...DEFAULT_POLICY, ...policy };
    this.model = CheckoutModel.open(intent, this.policy, this.now);
  }

  /** A checkout with a QR. */
  static async payable(policy: Partial<CheckoutPolicy> = {}): Promise<Scenario> {
    const scenario = new Scenario(policy);
    await scenario.pass(1_000);
    return scenario;
  }

  /** A paid checkout. */
  static async paid(policy: Partial<CheckoutPolicy> = {}): Promise<Scenario> {
    const scenario = await Scenario.payable(policy);
    scenario.pay(scenario.charges[0]);
    await scenario.pass(10_000);
    return scenario;
  }

  /** What the API shows. */
  get view() {
    return this.model.projection(this.now);
  }

  /** The memo that the workflow would have published. */
  get memo(): CheckoutMemo {
    const { timeline, refunds } = this.model;
    const { version } = this.model.state.published;
    return { intent, requestNonce: 'nonce', state: this.view, timeline, refunds, version };
  }

  get isClosed(): boolean {
    return this.model.nextStep(this.now).do === 'close';
  }

  /** Calls of one kind, from `from` on. */
  count(call: Step['do'], from = 0): number {
    return this.calls.filter((one) => one.call === call && one.at >= from).length;
  }

  pay(charge: SimulatedCharge | undefined, hint = true): void {
    if (charge === undefined) throw new Error('There is no such charge');
    this.takePayment(charge);
    if (hint) this.hint(charge.id);
  }

  hint(chargeId: string | null, eventKey = 'charge.update'): void {
    this.model.hint(this.now, { eventId: this.id('evnt'), eventKey, chargeId });
  }

  /** @param limit what the requester may refund without a second person; null: no limit */
  requestRefund(key: string, amount: number | null, by?: string, limit: number | null = null): void {
    this.model.requestRefund(this.now, { key, amount, reason: null, by }, limit);
  }

  lookUp(reason = 'a test'): void {
    this.model.resolve(this.now, { action: 'look', reason });
  }

  /** As continue-as-new does. */
  restart(): void {
    const state = JSON.parse(JSON.stringify(this.model.state)) as ModelState;
    this.model = CheckoutModel.resume(intent, this.policy, state);
  }

  /** As the event tail does when it finds a payment of a checkout whose workflow has closed. */
  reopen(late: SimulatedCharge): void {
    const memo = JSON.parse(JSON.stringify(this.memo)) as CheckoutMemo;
    const charge = { chargeId: late.id, attempt: late.metadata['attempt'] ?? null };
    const { resume = emptyState() } = reopen(memo, {}, charge, this.now);
    this.model = CheckoutModel.resume(intent, this.policy, resume);
  }

  /** Runs the workflow's loop for `milliseconds` of simulated time, or until it closes. */
  async pass(milliseconds: number): Promise<'close' | 'wait'> {
    const until = plus(this.now, milliseconds);
    for (let steps = 0; steps < MAX_STEPS; steps += 1) {
      this.model.advanceTo(this.now);
      this.model.wasPublished();
      this.onPublish();
      const step = this.model.nextStep(this.now);
      if (step.do === 'close') {
        this.elapse(until);
        return 'close';
      }
      if (step.do !== 'wait') {
        this.calls.push({ at: this.now, call: step.do });
        this.note(JSON.stringify(step));
        await executeStep(this.model, step, this.#provider, () => this.now);
        continue;
      }
      if (step.until > until || this.now >= until) {
        this.elapse(until, true);
        if (this.now >= until) return 'wait';
        continue;
      }
      this.elapse(step.until, true);
    }
    throw new Error(`the workflow made ${MAX_STEPS} steps before the time was over`);
  }

  note(line: string): void {
    this.trace.push(`${this.now - START} ${line}`);
  }

  /** Replaces one call of the provider. */
  replace<K extends keyof ProviderCalls>(call: K, make: (original: ProviderCalls[K]) => ProviderCalls[K]): void {
    this.#provider[call] = make(this.#provider[call]);
  }

  readonly #provider: ProviderCalls = {
    createSource: (call) =>
      this.#change('createSource', call, [], () => ({ kind: 'done', value: { sourceId: this.id('src') } })),
    createCharge: (call) => this.#change('createCharge', call, this.onCreateCharge, () => this.makeCharge(call)),
    expireCharge: (call) => this.#change('expireCharge', call, this.onExpire, () => this.expire(call.chargeId)),
    createRefund: (call) => this.#change('createRefund', call, this.onCreateRefund, () => this.refund(call)),
    retrieveCharge: async ({ chargeId }) => {
      const fault = this.#beginRead('retrieveCharge');
      if (fault === 'unanswered') return unanswered;
      const charge = this.charge(chargeId);
      if (charge === undefined) return { unseen: 'not found', code: 'not_found' };
      return { seen: this.alter(this.#show(charge, fault)) };
    },
    findCharges: async () => {
      const fault = this.#beginRead('findCharges');
      if (fault === 'unanswered') return unanswered;
      return { seen: this.charges.map((charge) => this.alterFound(this.facts(charge))) };
    },
  };

  async #change<T extends object>(
    call: keyof ProviderCalls,
    { sendBy, deadlineMs }: SendWindow,
    script: ScriptedAnswer<T>[],
    effect: () => Outcome<T>,
  ): Promise<Outcome<T>> {
    this.during(call);
    this.elapse(plus(this.now, CHANGE_MS));
    if (this.isDown) return unknownOutcome;
    const answer = nextOf(script) ?? this.drawChangeFault();
    if (typeof answer === 'function') return answer(effect);
    if (answer !== 'none') this.note(`  ${answer}`);
    const waitForDeadline = (): void => this.elapse(instant(Math.max(sendBy, this.now) + deadlineMs));
    switch (answer) {
      case 'none':
        return effect();
      case 'lost before its effect':
        return unknownOutcome;
      case 'lost after its effect':
        effect();
        return unknownOutcome;
      case 'effect at the last moment':
        this.at(instant(sendBy + deadlineMs - 1), effect);
        return unknownOutcome;
      case 'effect long after the deadline':
        // A worker that froze between its check of the time and the first byte.
        this.after(FAR_TOO_LATE_MS, effect);
        waitForDeadline();
        return unknownOutcome;
      case 'refused':
        return refused('refused');
      case 'not sent':
        return { kind: 'rejected', code: 'connection', message: 'no', retryable: true };
      case 'silent':
        waitForDeadline();
        return unknownOutcome;
      case 'another amount in the reply':
        return altered(effect(), { amount: 1 });
      case 'no key in the reply':
        return altered(effect(), { key: null, checkoutId: null, attempt: null });
    }
  }

  #beginRead(call: keyof ProviderCalls): ReadFault {
    this.during(call);
    this.elapse(plus(this.now, this.readMs));
    const fault = this.isDown ? 'unanswered' : this.drawReadFault();
    if (fault !== 'none') this.note(`  read: ${fault}`);
    return fault;
  }

  #show(charge: SimulatedCharge, fault: ShownRead): ChargeFacts {
    const facts = this.facts(charge);
    const older = this.#shown.get(charge.id) ?? facts;
    this.#shown.set(charge.id, facts);
    return READS[fault](facts, older);
  }
}

function nextOf<T>(script: ScriptedAnswer<T>[]): ChangeAnswer<T> | undefined {
  const [next] = script;
  if (typeof next === 'object') return next.always;
  script.shift();
  return next;
}

const unanswered: Lookup<never> = { unseen: 'no answer', code: 'timeout' };

/** A done outcome with other values in those fields that it has. */
function altered<T extends object>(outcome: Outcome<T>, values: Readonly<Record<string, unknown>>): Outcome<T> {
  if (outcome.kind !== 'done') return outcome;
  const changed = Object.entries(values).filter(([name]) => name in outcome.value);
  return { kind: 'done', value: { ...outcome.value, ...Object.fromEntries(changed) } };
}
