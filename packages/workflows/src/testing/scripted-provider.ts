import { plus } from '@tillflow/domain';
import type { ChargeFacts, RefundFacts } from '../checkout/activities.js';
import type { Outcome } from '../shared/outcome.js';
import { executeStep, type ProviderCalls } from '../checkout/execute-step.js';
import { CheckoutModel } from '../checkout/model/checkout-model.js';
import { DEFAULT_POLICY, type CheckoutPolicy } from '../checkout/policy.js';
import type { ModelState } from '../checkout/model/state.js';
import { intent, SimulatedProvider, type SimulatedCharge } from './simulated-provider.js';

/** A provider that does what a test scripts, and the loop of keep.ts, on one clock. */
export class World extends SimulatedProvider {
  model: CheckoutModel;
  readonly log: { at: number; do: string }[] = [];
  down = false;
  /** What the next calls of a kind answer instead. */
  onCharge: ((effect: () => Outcome<ChargeFacts>) => Outcome<ChargeFacts>)[] = [];
  onRefund: ((effect: () => Outcome<RefundFacts>) => Outcome<RefundFacts>)[] = [];
  onExpire: (() => Outcome<ChargeFacts>) | null = null;
  /** Bends what every look shows. */
  bend: (facts: ChargeFacts) => ChargeFacts = (facts) => facts;
  bendFound: (facts: ChargeFacts) => ChargeFacts = (facts) => facts;
  /** What happens while a call is under way. */
  during: (what: string) => void = () => {};
  lookMs = 10;
  readonly policy: CheckoutPolicy;

  constructor(policy: Partial<CheckoutPolicy> = {}) {
    super();
    this.policy = { ...DEFAULT_POLICY, ...policy };
    this.model = CheckoutModel.open(intent, this.policy, this.now);
  }

  restart(): void {
    this.model = CheckoutModel.resume(intent, this.policy, JSON.parse(JSON.stringify(this.model.state)) as ModelState);
  }

  get state() {
    return this.model.projection(this.now);
  }

  count(what: string, from = 0): number {
    return this.log.filter((one) => one.do === what && one.at >= from).length;
  }

  pay(charge: SimulatedCharge | undefined, hint = true): void {
    if (charge === undefined) throw new Error('no charge');
    this.takePayment(charge);
    if (hint) this.hint(charge.id);
  }

  hint(chargeId: string | null, eventKey = 'charge.update'): void {
    this.model.hint(this.now, { eventId: this.id('evnt'), eventKey, chargeId });
  }

  async pass(ms: number): Promise<'close' | 'wait'> {
    const until = plus(this.now, ms);
    for (let steps = 0; ; steps += 1) {
      if (steps > 20_000) throw new Error('20,000 steps without an end');
      this.model.advanceTo(this.now);
      this.model.wasPublished();
      const step = this.model.nextStep(this.now);
      if (step.do === 'close') {
        this.elapse(until);
        return 'close';
      }
      if (step.do !== 'wait') {
        this.log.push({ at: this.now, do: step.do });
        await executeStep(this.model, step, this.calls, () => this.now);
        continue;
      }
      if (step.until > until || this.now >= until) {
        this.elapse(until, true);
        if (this.now >= until) return 'wait';
        continue;
      }
      this.elapse(step.until, true);
    }
  }

  #tick(ms: number): void {
    this.elapse(plus(this.now, ms));
  }

  readonly calls: ProviderCalls = {
    createSource: async () => {
      this.during('createSource');
      this.#tick(20);
      if (this.down) return { kind: 'unknown', code: 'timeout', message: 'down' };
      return { kind: 'done', value: { sourceId: this.id('src') } };
    },
    createCharge: async (call) => {
      this.during('createCharge');
      this.#tick(20);
      if (this.down) return { kind: 'unknown', code: 'timeout', message: 'down' };
      const effect = (): Outcome<ChargeFacts> => this.makeCharge(call);
      const script = this.onCharge.shift();
      return script === undefined ? effect() : script(effect);
    },
    expireCharge: async ({ chargeId }) => {
      this.during('expireCharge');
      this.#tick(20);
      if (this.down) return { kind: 'unknown', code: 'timeout', message: 'down' };
      return this.onExpire === null ? this.expire(chargeId) : this.onExpire();
    },
    createRefund: async (call) => {
      this.during('createRefund');
      this.#tick(20);
      if (this.down) return { kind: 'unknown', code: 'timeout', message: 'down' };
      const effect = (): Outcome<RefundFacts> => this.refund(call);
      const script = this.onRefund.shift();
      return script === undefined ? effect() : script(effect);
    },
    retrieveCharge: async (chargeId) => {
      this.during('retrieveCharge');
      this.#tick(this.lookMs);
      if (this.down) return { unseen: 'no answer', code: 'timeout' };
      const charge = this.charge(chargeId);
      if (charge === undefined) return { unseen: 'not found', code: 'not_found' };
      return { seen: this.bend(this.facts(charge)) };
    },
    findCharges: async () => {
      this.during('findCharges');
      this.#tick(this.lookMs);
      if (this.down) return { unseen: 'no answer', code: 'timeout' };
      return { seen: this.charges.map((charge) => this.bendFound(this.facts(charge))) };
    },
  };

  /** A checkout with a QR. */
  static async ready(policy: Partial<CheckoutPolicy> = {}): Promise<World> {
    const world = new World(policy);
    await world.pass(1_000);
    return world;
  }

  /** A paid checkout. */
  static async paid(policy: Partial<CheckoutPolicy> = {}): Promise<World> {
    const world = await World.ready(policy);
    world.pay(world.charges[0]);
    await world.pass(10_000);
    return world;
  }
}

export const lost = { kind: 'unknown', code: 'timeout', message: 'lost' } as const;
