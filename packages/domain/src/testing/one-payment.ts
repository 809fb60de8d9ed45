import type { Break } from '../reconciliation/breaks.js';
import { comparePayment } from '../reconciliation/compare-payment.js';
import type {
  Movement,
  TillflowCheckout,
  TillflowRefund,
  ProviderCharge,
  ProviderRefund,
} from '../reconciliation/records.js';
import type { Rules } from '../reconciliation/rules.js';
import { agreeingPayments, DAY_MS, randomOf, TO } from './seeded-records.js';

export const RULES: Rules = { now: TO, youngMs: 900_000, settleWithinMs: 8 * DAY_MS };

const whole = agreeingPayments(50, randomOf(1)).find(
  ({ checkout, charge }) => checkout?.status === 'paid' && charge !== null,
);
if (whole?.checkout == null || whole.charge === null || whole.movement === null) throw new Error('No payment');
export const { checkout: paidCheckout, charge: paidCharge, movement: credit } = whole;

export type Change = {
  readonly checkout?: Partial<TillflowCheckout> | null;
  readonly charge?: Partial<ProviderCharge>;
  readonly movement?: Partial<Movement> | null;
};

/** Compares a payment on which all records agree, except for the change. */
export function compare({ checkout = {}, charge = {}, movement = {} }: Change, rules: Rules = RULES): Break[] {
  return comparePayment(
    { ...paidCharge, ...charge },
    checkout === null ? null : { ...paidCheckout, ...checkout },
    movement === null ? null : { ...credit, ...movement },
    rules,
  );
}

export const types = (change: Change): string[] => compare(change).map(({ type }) => type);
export const refund = (fields: Partial<ProviderRefund> = {}): ProviderRefund => ({
  id: 'rfnd_1',
  amount: 1_000,
  createdAt: paidCharge.paidAt,
  key: null,
  ...fields,
});
export const entry = (fields: Partial<TillflowRefund> = {}): TillflowRefund => ({
  id: 'rfnd_1',
  key: 'till',
  chargeId: paidCharge.id,
  amount: 1_000,
  status: 'succeeded',
  ...fields,
});
export const refunded = (...refunds: ProviderRefund[]): Partial<ProviderCharge> => ({
  refunds,
  refundedAmount: refunds.reduce((sum, { amount }) => sum + amount, 0),
});
