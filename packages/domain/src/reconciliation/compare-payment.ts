import { OWN_KEY_PREFIX } from '../ids.js';
import { formatInstant, plus } from '../instant.js';
import { toBreak, type Break, type BreakFacts, type Stated } from './breaks.js';
import { compareRefunds } from './compare-refunds.js';
import { paidAtOf, type Movement, type ProviderCharge, type TillflowCheckout } from './records.js';
import { ageOf, type Rules } from './rules.js';

/** The merchant has no money from a charge of these statuses. Any other charge with a payment time counts as paid. */
const UNPAID: ReadonlySet<string> = new Set(['pending', 'failed', 'expired', 'reversed']);

/** The provider may round fees differently, by this much in the smallest currency unit. */
const ROUNDING = 1;

/** Whether the charge was paid and the provider has not reversed it. */
export function hasMoney({ status }: ProviderCharge): boolean {
  return !UNPAID.has(status);
}

/** Whether the checkout shows this charge as paid. */
export function showsPaid({ charges }: TillflowCheckout, chargeId: string): boolean {
  return charges.some(({ id, status }) => id === chargeId && status === 'successful');
}

/**
 * Compares one paid charge with its checkout, its refunds and its movement of the balance. The charge has Tillflow's
 * metadata, or the checkout names it.
 */
export function comparePayment(
  charge: ProviderCharge,
  checkout: TillflowCheckout | null,
  movement: Movement | null,
  rules: Rules,
): Break[] {
  const toBreakOf = breaksOfCharge(charge, checkout, rules);
  const actual = statedBy(charge);
  if (checkout === null) return hasMoney(charge) ? [toBreakOf('missing_here', null, actual)] : [];
  const expected = statedBy(checkout);
  const isShownPaid = showsPaid(checkout, charge.id);
  const isReturned = charge.refundedAmount >= charge.amount;
  // A charge of another amount or currency is not the requested payment: its other fields cannot be compared.
  if (charge.currency !== checkout.currency || charge.amount !== checkout.amount) {
    if (!isShownPaid && (isReturned || !hasMoney(charge))) return [];
    return [toBreakOf(charge.currency === checkout.currency ? 'amount' : 'currency', expected, actual)];
  }
  if (charge.status !== 'successful') {
    return isShownPaid || hasMoney(charge) ? [toBreakOf('status', expected, actual)] : [];
  }
  const inBalance = compareBalance(charge, movement, toBreakOf, rules);
  const duplicate = toBreakOf('duplicate_payment', expected, actual);
  if (isShownPaid) {
    const isSecond = checkout.charges.filter(({ status }) => status === 'successful').length > 1;
    const isDuplicate = isSecond && isBeingReturned(charge, checkout);
    return [...(isDuplicate ? [duplicate] : []), ...compareRefunds(charge, checkout, rules), ...inBalance];
  }
  if (checkout.paidAt === null) {
    return [toBreakOf('status', expected, actual), ...inBalance];
  }
  return isReturned ? inBalance : [duplicate, ...inBalance];
}

/** Tillflow automatically returns the money of this second payment, and has not returned all of it yet. */
function isBeingReturned(charge: ProviderCharge, { refunds }: TillflowCheckout): boolean {
  const isReturn = refunds.some(({ key, chargeId }) => chargeId === charge.id && key.startsWith(OWN_KEY_PREFIX));
  return isReturn && charge.refundedAmount < charge.amount;
}

/** Compares a paid charge of a checkout that the provider does not have (null), or does not show as paid. */
export function compareAbsentCharge(
  checkout: TillflowCheckout,
  chargeId: string,
  charge: ProviderCharge | null,
  rules: Rules,
): Break[] {
  const facts = {
    checkout_id: checkout.id,
    charge_id: chargeId,
    expected: statedBy(checkout),
    isClosed: checkout.closed,
    ...ageOf(checkout.paidAt ?? rules.now, rules),
  };
  if (charge === null) return [toBreak({ ...facts, type: 'missing_there', actual: null })];
  return charge.status === 'successful' ? [] : [toBreak({ ...facts, type: 'status', actual: statedBy(charge) })];
}

type ToBreak = (
  type: Break['type'],
  expected: Stated | null,
  actual: Stated | null,
  details?: Partial<BreakFacts>,
) => Break;

function breaksOfCharge(charge: ProviderCharge, checkout: TillflowCheckout | null, rules: Rules): ToBreak {
  return (type, expected, actual, details) =>
    toBreak({
      type,
      checkout_id: checkout?.id ?? charge.checkoutId,
      charge_id: charge.id,
      transaction_id: charge.transactionId,
      expected,
      actual,
      isClosed: checkout?.closed === true,
      ...ageOf(paidAtOf(charge), rules),
      ...details,
    });
}

/** Compares the charge's fees and payout with the balance. Checkouts contain neither. */
function compareBalance(charge: ProviderCharge, movement: Movement | null, toBreakOf: ToBreak, rules: Rules): Break[] {
  const { fees, currency } = charge;
  const feeBreaks = compareFees(charge, toBreakOf);
  if (movement === null) {
    const expected = { status: 'credited', amount: fees?.net ?? charge.amount, currency };
    return [toBreakOf('unsettled', expected, null), ...feeBreaks];
  }
  const breaks = [...comparePayout(charge, movement, toBreakOf, rules), ...feeBreaks];
  if (feeBreaks.length > 0 || fees === null) return breaks;
  if (movement.currency === currency && movement.amount === fees.net) return breaks;
  const expected = { status: 'credited', amount: fees.net, currency };
  const actual = { status: 'credited', amount: movement.amount, currency: movement.currency };
  return [...breaks, toBreakOf('fee_difference', expected, actual, { transaction_id: movement.id })];
}

function comparePayout(charge: ProviderCharge, movement: Movement, toBreakOf: ToBreak, rules: Rules): Break[] {
  const paidAt = paidAtOf(charge);
  const { transferableAt, amount } = movement;
  const { settleWithinMs } = rules;
  if (settleWithinMs === null || transferableAt === null || transferableAt - paidAt <= settleWithinMs) return [];
  const latest = `transferable by ${formatInstant(plus(paidAt, settleWithinMs))}`;
  const expected = { status: latest, amount, currency: charge.currency };
  const actual = {
    status: `transferable at ${formatInstant(transferableAt)}`,
    amount,
    currency: movement.currency,
  };
  return [toBreakOf('unsettled', expected, actual, { transaction_id: movement.id })];
}

function compareFees({ fees, amount, currency }: ProviderCharge, toBreakOf: ToBreak): Break[] {
  if (fees === null) return [];
  const charged = fees.fee + fees.vat;
  const deducted = amount - fees.net;
  const differ = (expected: number, actual: number): Break[] => [
    toBreakOf(
      'fee_difference',
      { status: 'fees', amount: expected, currency },
      { status: 'fees', amount: actual, currency },
    ),
  ];
  const { byRates } = fees;
  if (
    byRates !== null &&
    (differsBeyondRounding(fees.fee, byRates.fee) || differsBeyondRounding(fees.vat, byRates.vat))
  ) {
    return differ(byRates.fee + byRates.vat, charged);
  }
  return deducted === charged ? [] : differ(charged, deducted);
}

function differsBeyondRounding(a: number, b: number): boolean {
  return Math.abs(a - b) > ROUNDING;
}

function statedBy({ status, amount, currency }: ProviderCharge | TillflowCheckout): Stated {
  return { status, amount, currency };
}
