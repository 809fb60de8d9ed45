import { instant, isRefundable, isVoidable, parseInstant, plus, type Instant } from '@tillflow/domain';
import type { ChargeFacts, CreateChargeCall, CreateRefundCall, RefundFacts } from '../checkout/activities.js';
import type { Outcome } from '../shared/outcome.js';
import { sampleIntent } from './sample-intent.js';

export const SECOND = 1_000;
export const MINUTE = 60_000;
export const HOUR = 3_600_000;
export const DAY = 86_400_000;

export const START = parseInstant('2026-03-10T09:00:00Z');

export const intent = sampleIntent();

export type SimulatedRefund = {
  readonly id: string;
  readonly amount: number;
  readonly isVoid: boolean;
  key: string | null;
  readonly madeAt: Instant;
};

export type SimulatedCharge = {
  readonly id: string;
  readonly sourceId: string;
  readonly metadata: Readonly<Record<string, string>>;
  status: string;
  paidAt: Instant | null;
  /** The customer reviews the payment: until then the provider refuses to expire the charge. */
  confirmingUntil: Instant;
  readonly refunds: SimulatedRefund[];
};

type Refusal = Extract<Outcome<never>, { kind: 'rejected' }>;

/**
 * The provider's records of one checkout, and its rules, on a simulated clock. The runner decides what calls answer.
 */
export class SimulatedProvider {
  now: Instant = START;
  readonly charges: SimulatedCharge[] = [];
  /** Effects that take place later than their calls. */
  #late: { readonly at: Instant; readonly effect: () => void }[] = [];
  #ids = 0;

  get refunds(): SimulatedRefund[] {
    return this.charges.flatMap(({ refunds }) => refunds);
  }

  id(prefix: string): string {
    this.#ids += 1;
    return `${prefix}_test_${this.#ids}`;
  }

  at(at: Instant, effect: () => void): void {
    this.#late.push({ at, effect });
  }

  after(milliseconds: number, effect: () => void): void {
    this.at(plus(this.now, milliseconds), effect);
  }

  /** Lets time pass. @param stopsAtEffect whether it ends at the first effect that takes place meanwhile. */
  elapse(until: Instant, stopsAtEffect = false): void {
    for (;;) {
      const next = this.#late.filter(({ at }) => at <= until).toSorted((a, b) => a.at - b.at)[0];
      if (next === undefined) break;
      this.#late = this.#late.filter((one) => one !== next);
      this.now = instant(Math.max(this.now, next.at));
      next.effect();
      if (stopsAtEffect) return;
    }
    this.now = instant(Math.max(this.now, until));
  }

  charge(chargeId: string): SimulatedCharge | undefined {
    return this.charges.find(({ id }) => id === chargeId);
  }

  takePayment(charge: SimulatedCharge): void {
    charge.status = 'successful';
    charge.paidAt = this.now;
  }

  /**
   * Unlike at the real provider, a source serves many charges here, so that no rule of Tillflow can depend on the
   * provider's refusal.
   */
  makeCharge({ sourceId, metadata }: Pick<CreateChargeCall, 'sourceId' | 'metadata'>): Outcome<ChargeFacts> {
    const charge: SimulatedCharge = {
      id: this.id('chrg'),
      sourceId,
      metadata,
      status: 'pending',
      paidAt: null,
      confirmingUntil: START,
      refunds: [],
    };
    this.charges.push(charge);
    return { kind: 'done', value: this.facts(charge) };
  }

  expire(chargeId: string): Outcome<ChargeFacts> {
    const charge = this.charge(chargeId);
    if (charge?.status !== 'pending' || this.now < charge.confirmingUntil) return refused('failed_expire');
    charge.status = 'expired';
    return { kind: 'done', value: this.facts(charge) };
  }

  refund({ chargeId, amount, asVoid, metadata }: CreateRefundCall): Outcome<RefundFacts> {
    const charge = this.charge(chargeId);
    if (charge === undefined) return refused('not_found');
    return this.makeRefund(charge, amount, asVoid, metadata['refund_key'] ?? null);
  }

  makeRefund(charge: SimulatedCharge, amount: number, isVoid: boolean, key: string | null): Outcome<RefundFacts> {
    const { paidAt } = charge;
    const rest = intent.amount - sumOf(charge.refunds);
    if (paidAt === null || !isRefundable(paidAt, this.now)) return refused('failed_refund');
    if (amount > rest || amount <= 0) return refused('failed_refund');
    if (isVoid && (!isVoidable(paidAt, this.now) || amount !== intent.amount)) return refused('failed_refund');
    const refund = { id: this.id('rfnd'), amount, isVoid, key, madeAt: this.now };
    charge.refunds.push(refund);
    return { kind: 'done', value: toRefundFacts(refund) };
  }

  facts({ id, sourceId, status, metadata, paidAt, refunds }: SimulatedCharge): ChargeFacts {
    return {
      chargeId: id,
      sourceId,
      status,
      amount: intent.amount,
      currency: intent.currency,
      checkoutId: metadata['checkout'] ?? null,
      attempt: metadata['attempt'] ?? null,
      isOtherMode: false,
      failureCode: status === 'failed' ? 'payment_rejected' : null,
      failureMessage: null,
      paidAt: paidAt === null ? null : new Date(paidAt).toISOString(),
      qr: status === 'pending' ? { downloadUri: `https://provider.test/${id}`, rawData: id } : null,
      refundedAmount: sumOf(refunds),
      refunds: refunds.map(toRefundFacts),
      canVoid: paidAt !== null && refunds.length === 0 && isVoidable(paidAt, this.now),
    };
  }
}

export const sumOf = (refunds: readonly SimulatedRefund[]): number =>
  refunds.reduce((sum, { amount }) => sum + amount, 0);

export const refused = (code: string): Refusal => ({ kind: 'rejected', code, message: 'no', retryable: false });

function toRefundFacts({ id, amount, isVoid, key }: SimulatedRefund): RefundFacts {
  return { refundId: id, amount, isVoid, key };
}
