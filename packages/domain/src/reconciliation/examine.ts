import { isPaid } from '../checkout.js';
import { OWN_KEY_PREFIX } from '../ids.js';
import { formatInstant, plus, type Instant } from '../instant.js';
import { toBreak, type Break, type BreakFacts, type Stated } from './breaks.js';
import type { Movement, OurCheckout, OurRefund, TheirCharge, TheirRefund } from './sides.js';

/** What is compared, and as of when. */
export type Rules = {
  /** When the run began: ages are counted from here. */
  readonly now: Instant;
  /** Money that moved less than this before the run is left to the next one, in milliseconds. */
  readonly youngMs: number;
  /** The longest time from a payment to the day it can be paid out, in milliseconds; null: whatever the provider says. */
  readonly settleWithinMs: number | null;
};

/** A charge of such a status brought no money, or none that is still there. Any other one is taken for paid where it says when. */
const UNPAID: ReadonlySet<string> = new Set(['pending', 'failed', 'expired', 'reversed']);

/** Whether its money came, and was not taken back by the provider. */
export function isMoneyThere({ status }: TheirCharge): boolean {
  return !UNPAID.has(status);
}

/** Fees may be rounded otherwise than we do. Smallest currency unit. */
const ROUNDING = 1;
const AROUND_MS = 60_000;

/**
 * Every difference about one paid charge of ours: its checkout, its refunds, what the balance shows of it. The charge is
 * paid, and carries our metadata or is known to the checkout.
 */
export function examinePayment(
  charge: TheirCharge,
  checkout: OurCheckout | null,
  movement: Movement | null,
  rules: Rules,
): Break[] {
  const about = aboutCharge(charge, checkout, rules);
  if (checkout === null) return isMoneyThere(charge) ? [about('missing_here', null, stated(charge))] : [];
  const ours: Stated = { status: checkout.status, amount: checkout.amount, currency: checkout.currency };
  const isKnownPaid = knowsPaid(checkout, charge.id);
  // What the checkout never took for paid, and is not with us any more, is where it belongs.
  const isGone = !isMoneyThere(charge) || charge.refundedAmount >= charge.amount;
  // Of another amount or currency it is not the payment that was asked for: nothing else of it can be compared.
  if (charge.currency !== checkout.currency) {
    return isGone && !isKnownPaid ? [] : [about('currency', ours, stated(charge))];
  }
  if (charge.amount !== checkout.amount) return isGone && !isKnownPaid ? [] : [about('amount', ours, stated(charge))];
  if (charge.status !== 'successful') {
    return isKnownPaid || isMoneyThere(charge) ? [about('status', ours, stated(charge))] : [];
  }
  const books = examineBooks(charge, movement, about, rules);
  if (isKnownPaid) {
    const isDoubled = checkout.charges.filter(({ status }) => status === 'successful').length > 1;
    const twice = isDoubled && isToGoBack(charge, checkout) ? [about('duplicate_payment', ours, stated(charge))] : [];
    return [...twice, ...examineRefunds(charge, checkout, rules), ...books];
  }
  if (!isPaid(checkout.status) && checkout.paidAt === null) return [about('status', ours, stated(charge)), ...books];
  // The money of a second payment that went back is where it belongs.
  if (charge.refundedAmount >= charge.amount) return books;
  return [about('duplicate_payment', ours, stated(charge)), ...books];
}

/** Whether our books say that this charge was paid. */
export function knowsPaid({ charges }: OurCheckout, chargeId: string): boolean {
  return charges.some(({ id, status }) => id === chargeId && status === 'successful');
}

/** A payment or refund of ours that the provider does not have, or shows as not paid. */
export function examineAbsence(
  checkout: OurCheckout,
  chargeId: string,
  charge: TheirCharge | null,
  rules: Rules,
): Break[] {
  const paidAt = checkout.paidAt ?? rules.now;
  const facts = {
    checkout_id: checkout.id,
    charge_id: chargeId,
    expected: { status: checkout.status, amount: checkout.amount, currency: checkout.currency },
    isClosed: checkout.closed,
    ...since(paidAt, rules),
  };
  if (charge === null) return [toBreak({ ...facts, type: 'missing_there', actual: null })];
  return charge.status === 'successful' ? [] : [toBreak({ ...facts, type: 'status', actual: stated(charge) })];
}

type About = (type: Break['type'], expected: Stated | null, actual: Stated | null, more?: Partial<BreakFacts>) => Break;

function aboutCharge(charge: TheirCharge, checkout: OurCheckout | null, rules: Rules): About {
  return (type, expected, actual, more) =>
    toBreak({
      type,
      checkout_id: checkout?.id ?? charge.checkoutId,
      charge_id: charge.id,
      transaction_id: charge.transactionId,
      expected,
      actual,
      isClosed: checkout?.closed ?? false,
      ...since(charge.paidAt ?? charge.createdAt, rules),
      ...more,
    });
}

/** Fees and balance, by the provider's own words: our books know neither. */
function examineBooks(charge: TheirCharge, movement: Movement | null, about: About, rules: Rules): Break[] {
  const { fees, currency } = charge;
  if (movement === null) {
    const due = { status: 'credited', amount: fees?.net ?? charge.amount, currency };
    return [about('unsettled', due, null), ...examineFees(charge, about)];
  }
  const paidAt = charge.paidAt ?? charge.createdAt;
  const { transferableAt } = movement;
  const isLate =
    rules.settleWithinMs !== null && transferableAt !== null && transferableAt - paidAt > rules.settleWithinMs;
  const late = isLate
    ? [
        about(
          'unsettled',
          {
            status: `transferable by ${formatInstant(plus(paidAt, rules.settleWithinMs ?? 0))}`,
            amount: movement.amount,
            currency,
          },
          {
            status: `transferable at ${formatInstant(transferableAt)}`,
            amount: movement.amount,
            currency: movement.currency,
          },
          { transaction_id: movement.id },
        ),
      ]
    : [];
  const wrong = examineFees(charge, about);
  if (wrong.length > 0 || fees === null) return [...late, ...wrong];
  if (movement.currency === currency && movement.amount === fees.net) return late;
  const expected = { status: 'credited', amount: fees.net, currency };
  const actual = { status: 'credited', amount: movement.amount, currency: movement.currency };
  return [...late, about('fee_difference', expected, actual, { transaction_id: movement.id })];
}

function examineFees({ fees, amount, currency }: TheirCharge, about: About): Break[] {
  if (fees === null) return [];
  const taken = fees.fee + fees.vat;
  const kept = amount - fees.net;
  const differ = (expected: number, actual: number): Break[] => [
    about(
      'fee_difference',
      { status: 'fees', amount: expected, currency },
      { status: 'fees', amount: actual, currency },
    ),
  ];
  const { byRates } = fees;
  if (byRates !== null && (isFar(fees.fee, byRates.fee) || isFar(fees.vat, byRates.vat))) {
    return differ(byRates.fee + byRates.vat, taken);
  }
  return kept === taken ? [] : differ(taken, kept);
}

function isFar(a: number, b: number): boolean {
  return Math.abs(a - b) > ROUNDING;
}

/** Every difference about the refunds of a charge that the checkout knows. */
export function examineRefunds(charge: TheirCharge, checkout: OurCheckout, rules: Rules): Break[] {
  const ours = checkout.refunds.filter(({ chargeId }) => chargeId === charge.id);
  const about = (type: Break['type'], at: Instant, more: Partial<BreakFacts>): Break =>
    toBreak({
      type,
      checkout_id: checkout.id,
      charge_id: charge.id,
      expected: null,
      actual: null,
      isClosed: checkout.closed,
      ...since(at, rules),
      ...more,
    });
  const { currency } = checkout;
  const mine = ({ status, amount }: OurRefund): Stated => ({ status, amount, currency });
  const theirs = ({ amount }: TheirRefund): Stated => ({ status: 'refunded', amount, currency: charge.currency });
  const breaks: Break[] = [];
  for (const refund of charge.refunds) {
    const at = refund.createdAt ?? charge.paidAt ?? charge.createdAt;
    const asked = refund.key === null ? undefined : ours.find(({ key }) => key === refund.key);
    if (asked !== undefined && asked.id !== null && asked.id !== refund.id) {
      // One request of ours, carried out twice: taken in or not, this money should not have gone.
      const amount = charge.refunds.reduce((sum, { key, amount: one }) => (key === refund.key ? sum + one : sum), 0);
      breaks.push(
        about('amount', at, {
          refund_id: refund.id,
          expected: mine(asked),
          actual: { ...theirs(refund), amount },
        }),
      );
      continue;
    }
    const known = ours.find(({ id }) => id === refund.id);
    if (known !== undefined) {
      if (known.amount !== refund.amount) {
        breaks.push(about('amount', at, { refund_id: refund.id, expected: mine(known), actual: theirs(refund) }));
      } else if (known.key === refund.id) {
        breaks.push(
          about('refund_made_outside', at, {
            refund_id: refund.id,
            expected: mine(known),
            actual: theirs(refund),
            healed: true,
          }),
        );
      }
      continue;
    }
    // Its answer may still be on its way to us; a provider that keeps no metadata does not say that it is ours.
    const mayBeOurs = asked !== undefined || (refund.key === null && ours.some((one) => isInFlight(one, refund)));
    if (mayBeOurs && rules.now - at < rules.youngMs) continue;
    if (asked === undefined) {
      breaks.push(about('refund_made_outside', at, { refund_id: refund.id, actual: theirs(refund) }));
    } else if (asked.amount !== refund.amount) {
      breaks.push(about('amount', at, { refund_id: refund.id, expected: mine(asked), actual: theirs(refund) }));
    } else {
      const actual = { ...theirs(refund), status: 'successful' };
      breaks.push(about('status', at, { refund_id: refund.id, expected: mine(asked), actual }));
    }
  }
  const at = charge.paidAt ?? charge.createdAt;
  for (const refund of ours) {
    if (refund.status !== 'succeeded' || charge.refunds.some(({ id }) => id === refund.id)) continue;
    breaks.push(about('missing_there', at, { refund_id: refund.id, expected: mine(refund) }));
  }
  const listed = charge.refunds.reduce((sum, { amount }) => sum + amount, 0);
  if (charge.refundedAmount !== listed && breaks.length === 0) {
    breaks.push(
      about('amount', at, {
        expected: { status: 'refunded', amount: listed, currency },
        actual: { status: 'refunded', amount: charge.refundedAmount, currency: charge.currency },
      }),
    );
  }
  return breaks;
}

function isInFlight({ id, status, amount }: OurRefund, refund: TheirRefund): boolean {
  return id === null && status === 'pending' && amount === refund.amount;
}

/**
 * What a refund took from the balance: its amount, or, where the fee comes back with a void, what the payment had
 * brought. A charge without fees that can be compared is not compared here either.
 */
export function examineDebit(charge: TheirCharge, movement: Movement, rules: Rules): Break[] {
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
      ...since(movement.createdAt, rules),
    }),
  ];
}

/** One of two payments: the money that the checkout returns by itself, and has not all returned yet. */
function isToGoBack(charge: TheirCharge, { refunds }: OurCheckout): boolean {
  const isOurs = refunds.some(({ key, chargeId }) => chargeId === charge.id && key.startsWith(OWN_KEY_PREFIX));
  return isOurs && charge.refundedAmount < charge.amount;
}

function stated({ status, amount, currency }: TheirCharge): Stated {
  return { status, amount, currency };
}

function since(at: Instant, { now }: Rules): Pick<BreakFacts, 'ageMs' | 'around'> {
  return {
    ageMs: now - at,
    around: { from: formatInstant(plus(at, -AROUND_MS)), to: formatInstant(plus(at, AROUND_MS)) },
  };
}
