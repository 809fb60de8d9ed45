import { instant, isRefundable, isVoidable, parseInstant, plus, type Instant } from '@tillflow/domain';
import type { ChargeFacts, RefundFacts } from '../activities.js';
import type { Outcome } from '../outcome.js';
import { perform, type Calls } from '../perform.js';
import { CheckoutBook } from './book.js';
import { DEFAULT_POLICY, type CheckoutPolicy } from './policy.js';
import type { CheckoutRecord } from './record.js';
import { intent } from './simulation.js';

const START = parseInstant('2026-03-10T09:00:00Z');

export type WorldRefund = { id: string; amount: number; isVoid: boolean; key: string | null };
export type WorldCharge = {
  id: string;
  sourceId: string;
  attempt: string;
  status: string;
  paidAt: Instant | null;
  refunds: WorldRefund[];
};

/** A provider that does what a test scripts, and the loop of keep.ts, on one clock. */
export class World {
  now: Instant = START;
  book: CheckoutBook;
  charges: WorldCharge[] = [];
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
  #ids = 0;
  readonly #later: { at: Instant; effect: () => void }[] = [];
  readonly policy: CheckoutPolicy;

  constructor(policy: Partial<CheckoutPolicy> = {}) {
    this.policy = { ...DEFAULT_POLICY, ...policy };
    this.book = CheckoutBook.open(intent, this.policy, this.now);
  }

  id(prefix: string): string {
    this.#ids += 1;
    return `${prefix}_test_${this.#ids}`;
  }

  restart(): void {
    this.book = CheckoutBook.resume(
      intent,
      this.policy,
      JSON.parse(JSON.stringify(this.book.record)) as CheckoutRecord,
    );
  }

  get state() {
    return this.book.state(this.now);
  }

  get refunds(): WorldRefund[] {
    return this.charges.flatMap(({ refunds }) => refunds);
  }

  count(what: string, from = 0): number {
    return this.log.filter((one) => one.do === what && one.at >= from).length;
  }

  after(ms: number, effect: () => void): void {
    this.#later.push({ at: plus(this.now, ms), effect });
  }

  pay(charge: WorldCharge | undefined, hint = true): void {
    if (charge === undefined) throw new Error('no charge');
    charge.status = 'successful';
    charge.paidAt = this.now;
    if (hint) this.hint(charge.id);
  }

  hint(chargeId: string | null, eventKey = 'charge.update'): void {
    this.book.hint(this.now, { eventId: this.id('evnt'), eventKey, chargeId });
  }

  async pass(ms: number): Promise<'close' | 'wait'> {
    const until = plus(this.now, ms);
    for (let steps = 0; ; steps += 1) {
      if (steps > 20_000) throw new Error('20,000 steps without an end');
      this.book.advance(this.now);
      this.book.wasReported();
      const step = this.book.next(this.now);
      if (step.do === 'close') {
        this.#elapse(until);
        return 'close';
      }
      if (step.do !== 'wait') {
        this.log.push({ at: this.now, do: step.do });
        await perform(this.book, step, this.calls, () => this.now);
        continue;
      }
      if (step.until > until || this.now >= until) {
        this.#elapse(until, true);
        if (this.now >= until) return 'wait';
        continue;
      }
      this.#elapse(step.until, true);
    }
  }

  /** @param wakes whether what comes meanwhile ends the wait. */
  #elapse(until: Instant, wakes = false): void {
    for (;;) {
      const next = this.#later.filter(({ at }) => at <= until).toSorted((a, b) => a.at - b.at)[0];
      if (next === undefined) break;
      this.#later.splice(this.#later.indexOf(next), 1);
      this.now = instant(Math.max(this.now, next.at));
      next.effect();
      if (wakes) return;
    }
    this.now = instant(Math.max(this.now, until));
  }

  #tick(ms: number): void {
    this.#elapse(plus(this.now, ms));
  }

  facts(charge: WorldCharge): ChargeFacts {
    return {
      chargeId: charge.id,
      sourceId: charge.sourceId,
      status: charge.status,
      amount: intent.amount,
      currency: intent.currency,
      checkoutId: intent.id,
      attempt: charge.attempt,
      isOtherMode: false,
      failureCode: charge.status === 'failed' ? 'payment_rejected' : null,
      failureMessage: null,
      paidAt: charge.paidAt === null ? null : new Date(charge.paidAt).toISOString(),
      qr: { downloadUri: `https://p.test/${charge.id}`, rawData: charge.id },
      refundedAmount: charge.refunds.reduce((sum, { amount }) => sum + amount, 0),
      refunds: charge.refunds.map(({ id: refundId, ...rest }) => ({ refundId, ...rest })),
      canVoid: charge.paidAt !== null && charge.refunds.length === 0 && isVoidable(charge.paidAt, this.now),
    };
  }

  makeRefund(charge: WorldCharge, amount: number, isVoid: boolean, key: string | null): Outcome<RefundFacts> {
    const rest = intent.amount - charge.refunds.reduce((sum, one) => sum + one.amount, 0);
    const no = { kind: 'rejected', code: 'failed_refund', message: 'no', retryable: false } as const;
    if (charge.paidAt === null || !isRefundable(charge.paidAt, this.now) || amount > rest || amount <= 0) return no;
    if (isVoid && (!isVoidable(charge.paidAt, this.now) || rest !== intent.amount || amount !== rest)) return no;
    const refund = { id: this.id('rfnd'), amount, isVoid, key };
    charge.refunds.push(refund);
    return { kind: 'done', value: { refundId: refund.id, amount, isVoid, key } };
  }

  readonly calls: Calls = {
    createSource: async () => {
      this.during('createSource');
      this.#tick(20);
      if (this.down) return { kind: 'unknown', code: 'timeout', message: 'down' };
      return { kind: 'done', value: { sourceId: this.id('src') } };
    },
    createCharge: async ({ sourceId, metadata }) => {
      this.during('createCharge');
      this.#tick(20);
      if (this.down) return { kind: 'unknown', code: 'timeout', message: 'down' };
      const effect = (): Outcome<ChargeFacts> => {
        const charge: WorldCharge = {
          id: this.id('chrg'),
          sourceId,
          attempt: metadata['attempt'] ?? '',
          status: 'pending',
          paidAt: null,
          refunds: [],
        };
        this.charges.push(charge);
        return { kind: 'done', value: this.facts(charge) };
      };
      const script = this.onCharge.shift();
      return script === undefined ? effect() : script(effect);
    },
    expireCharge: async ({ chargeId }) => {
      this.during('expireCharge');
      this.#tick(20);
      if (this.down) return { kind: 'unknown', code: 'timeout', message: 'down' };
      if (this.onExpire !== null) return this.onExpire();
      const charge = this.charges.find(({ id }) => id === chargeId);
      if (charge?.status !== 'pending')
        return { kind: 'rejected', code: 'failed_expire', message: 'no', retryable: false };
      charge.status = 'expired';
      return { kind: 'done', value: this.facts(charge) };
    },
    createRefund: async ({ chargeId, amount, asVoid, metadata }) => {
      this.during('createRefund');
      this.#tick(20);
      if (this.down) return { kind: 'unknown', code: 'timeout', message: 'down' };
      const charge = this.charges.find(({ id }) => id === chargeId);
      const effect = (): Outcome<RefundFacts> => {
        if (charge === undefined) return { kind: 'rejected', code: 'not_found', message: 'no', retryable: false };
        return this.makeRefund(charge, amount, asVoid, metadata['refund_key'] ?? null);
      };
      const script = this.onRefund.shift();
      return script === undefined ? effect() : script(effect);
    },
    retrieveCharge: async (chargeId) => {
      this.during('retrieveCharge');
      this.#tick(this.lookMs);
      if (this.down) return { unseen: 'no answer', code: 'timeout' };
      const charge = this.charges.find(({ id }) => id === chargeId);
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

export const SECOND = 1_000;
export const MINUTE = 60_000;
export const HOUR = 3_600_000;
export const DAY = 86_400_000;
export const lost = { kind: 'unknown', code: 'timeout', message: 'lost' } as const;
