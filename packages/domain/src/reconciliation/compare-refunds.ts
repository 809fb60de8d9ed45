import type { Instant } from '../instant.js';
import { toBreak, type Break, type BreakFacts, type Stated } from './breaks.js';
import {
  paidAtOf,
  type Movement,
  type ProviderCharge,
  type ProviderRefund,
  type TillflowCheckout,
  type TillflowRefund,
} from './records.js';
import { ageOf, type Rules } from './rules.js';

/** Compares the refunds of a charge with those of its checkout. */
export function compareRefunds(charge: ProviderCharge, checkout: TillflowCheckout, rules: Rules): Break[] {
  const refunds = checkout.refunds.filter(({ chargeId }) => chargeId === charge.id);
  const breakAt: BreakAt = (type, at, details) =>
    toBreak({
      type,
      checkout_id: checkout.id,
      charge_id: charge.id,
      expected: null,
      actual: null,
      isClosed: checkout.closed,
      ...ageOf(at, rules),
      ...details,
    });
  const { currency } = checkout;
  const expectedOf = ({ status, amount }: TillflowRefund): Stated => ({ status, amount, currency });
  const breaks = charge.refunds.flatMap((refund) =>
    compareRefund(refund, { charge, refunds, rules, expectedOf, breakAt }),
  );
  const at = paidAtOf(charge);
  for (const refund of refunds) {
    if (refund.status !== 'succeeded' || charge.refunds.some(({ id }) => id === refund.id)) continue;
    breaks.push(breakAt('missing_there', at, { refund_id: refund.id, expected: expectedOf(refund) }));
  }
  const listed = sumOf(charge.refunds);
  if (charge.refundedAmount !== listed && breaks.length === 0) {
    breaks.push(
      breakAt('amount', at, {
        expected: { status: 'refunded', amount: listed, currency },
        actual: { status: 'refunded', amount: charge.refundedAmount, currency: charge.currency },
      }),
    );
  }
  return breaks;
}

type BreakAt = (type: Break['type'], at: Instant, details: Partial<BreakFacts>) => Break;

type RefundContext = {
  readonly charge: ProviderCharge;
  /** The checkout's refunds of this charge. */
  readonly refunds: readonly TillflowRefund[];
  readonly rules: Rules;
  readonly expectedOf: (refund: TillflowRefund) => Stated;
  readonly breakAt: BreakAt;
};

/** Compares one refund of the provider with the checkout's. */
function compareRefund(
  refund: ProviderRefund,
  { charge, refunds, rules, expectedOf, breakAt }: RefundContext,
): Break[] {
  const at = refund.createdAt ?? paidAtOf(charge);
  const { id: refund_id } = refund;
  const actual: Stated = { status: 'refunded', amount: refund.amount, currency: charge.currency };
  const requested = refunds.find(({ key }) => key === refund.key);
  if (requested !== undefined && requested.id !== null && requested.id !== refund_id) {
    // The provider carried out one request twice: this refund should not exist, whether the checkout shows it or not.
    const amount = sumOf(charge.refunds.filter(({ key }) => key === refund.key));
    return [breakAt('amount', at, { refund_id, expected: expectedOf(requested), actual: { ...actual, amount } })];
  }
  const known = refunds.find(({ id }) => id === refund_id);
  if (known !== undefined) {
    const details = { refund_id, expected: expectedOf(known), actual };
    if (known.amount !== refund.amount) return [breakAt('amount', at, details)];
    return known.key === refund_id ? [breakAt('refund_made_outside', at, { ...details, healed: true })] : [];
  }
  // Its answer may still be in flight. A provider that stores no metadata does not show the key.
  const mayBeRequested =
    requested !== undefined || (refund.key === null && refunds.some((other) => isInFlight(other, refund)));
  if (mayBeRequested && rules.now - at < rules.youngMs) return [];
  if (requested === undefined) return [breakAt('refund_made_outside', at, { refund_id, actual })];
  const expected = expectedOf(requested);
  if (requested.amount !== refund.amount) return [breakAt('amount', at, { refund_id, expected, actual })];
  return [breakAt('status', at, { refund_id, expected, actual: { ...actual, status: 'successful' } })];
}

function isInFlight({ id, status, amount }: TillflowRefund, refund: ProviderRefund): boolean {
  return id === null && status === 'pending' && amount === refund.amount;
}

function sumOf(refunds: readonly ProviderRefund[]): number {
  return refunds.reduce((sum, { amount }) => sum + amount, 0);
}

/**
 * Compares a debit of the balance with its refund: the refund's amount, or the payment's net amount when a void returns
 * the fee. A charge without comparable fees is not compared.
 */
export function compareDebit(charge: ProviderCharge, movement: Movement, rules: Rules): Break[] {
  const { fees, currency } = charge;
  const refund = charge.refunds.find(({ id }) => id === movement.refundId);
  if (refund === undefined || fees === null) return [];
  const isFeeReturned = refund.amount === charge.amount && movement.amount === fees.net;
  if (movement.currency === currency && (movement.amount === refund.amount || isFeeReturned)) return [];
  return [
    toBreak({
      type: 'fee_difference',
      checkout_id: charge.checkoutId,
      charge_id: charge.id,
      refund_id: refund.id,
      transaction_id: movement.id,
      expected: { status: 'debited', amount: refund.amount, currency },
      actual: { status: 'debited', amount: movement.amount, currency: movement.currency },
      ...ageOf(movement.createdAt, rules),
    }),
  ];
}
