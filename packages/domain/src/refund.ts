import { formatInstant, type Instant } from './instant.js';
import { formatMoney, type Currency } from './money.js';
import { isRefundable, refundableUntil } from './windows.js';

/** The memo that every read loads stays small. */
const MAX_REFUNDS = 100;

/** What decides whether money of a payment can be returned. Amounts are in the smallest currency unit. */
export type RefundablePayment = {
  /** What the customer paid. */
  readonly paid: number;
  /** What was refunded or voided so far. */
  readonly returned: number;
  /** What was requested and is not decided yet. */
  readonly pending: number;
  /** Null while nothing is paid. */
  readonly paidAt: Instant | null;
};

/** Why a refund is refused, with the time or the amount that decides. */
export type RefundRefusal =
  | { readonly code: 'not_paid' }
  /** `until` is the last instant at which the payment could be refunded. */
  | { readonly code: 'refund_window_closed'; readonly until: Instant }
  /** `left` is in the smallest currency unit. */
  | { readonly code: 'refund_exceeds_paid'; readonly left: number }
  /** `amount` of the refund that has the key, in the smallest currency unit. */
  | { readonly code: 'idempotency_conflict'; readonly amount: number }
  | { readonly code: 'too_many_refunds' };

/** A refund that a checkout has. Amounts are in the smallest currency unit. */
export type KnownRefund = {
  readonly amount: number;
  /** The amount that was requested. Null or absent: all that was left. */
  readonly asked?: number | null | undefined;
};

/**
 * The sum that one requester may refund of one checkout without a second person, in the smallest currency unit: of every
 * currency, or of each. Null: no limit.
 */
export type RefundLimit = number | Readonly<Partial<Record<Currency, number>>> | null;

/** The limit in one currency. A currency that the limit does not name needs a second person for every sum. */
export function limitIn(limit: RefundLimit, currency: Currency): number | null {
  return limit === null || typeof limit === 'number' ? limit : (limit[currency] ?? 0);
}

/** What can still be refunded, in the smallest currency unit; never negative. */
export function leftToRefund({ paid, returned, pending }: Omit<RefundablePayment, 'paidAt'>): number {
  return Math.max(0, paid - returned - pending);
}

/**
 * @param amount in the smallest currency unit; null: all that is left.
 * @returns why this amount cannot be refunded at `now`; null when it can.
 */
export function refuseRefund(payment: RefundablePayment, amount: number | null, now: Instant): RefundRefusal | null {
  const { paidAt } = payment;
  if (paidAt === null) return { code: 'not_paid' };
  if (!isRefundable(paidAt, now)) return { code: 'refund_window_closed', until: refundableUntil(paidAt) };
  const left = leftToRefund(payment);
  return left === 0 || (amount ?? left) > left ? { code: 'refund_exceeds_paid', left } : null;
}

/**
 * As {@link refuseRefund}, for a key that no refund of the checkout has.
 * @param count of the refunds that the checkout has.
 */
export function refuseNewRefund(
  payment: RefundablePayment,
  count: number,
  amount: number | null,
  now: Instant,
): RefundRefusal | null {
  return refuseRefund(payment, amount, now) ?? (count < MAX_REFUNDS ? null : { code: 'too_many_refunds' });
}

/**
 * @param wanted the amount of a further request with the key of this refund, in the smallest currency unit; null: all
 *   that is left.
 * @returns why that request is refused; null when it repeats the request of this refund.
 */
export function refuseRepetition({ amount, asked = null }: KnownRefund, wanted: number | null): RefundRefusal | null {
  const isSame = wanted === amount || (wanted === null && asked === null);
  return isSame ? null : { code: 'idempotency_conflict', amount };
}

/** For people. */
export function describeRefusal(refusal: RefundRefusal, currency: Currency): string {
  switch (refusal.code) {
    case 'not_paid':
      return 'The checkout is not paid';
    case 'refund_window_closed':
      return `The refund window ended at ${formatInstant(refusal.until)}`;
    case 'refund_exceeds_paid':
      return `At most ${formatMoney({ amount: refusal.left, currency })} can still be refunded`;
    case 'idempotency_conflict':
      return `This key already belongs to a refund of ${formatMoney({ amount: refusal.amount, currency })}`;
    case 'too_many_refunds':
      return `A checkout has at most ${MAX_REFUNDS} refunds`;
  }
}

/**
 * A void returns only the whole payment, before any of it was returned. Source: API reference, "Limits".
 * @param canVoid whether the payment can be voided now: the provider's `can_perform_void`, or the forecast of
 *   `isVoidable`.
 */
export function refundKind(
  { paid, returned }: Pick<RefundablePayment, 'paid' | 'returned'>,
  amount: number,
  canVoid: boolean,
): 'void' | 'refund' {
  return canVoid && amount === paid && returned === 0 ? 'void' : 'refund';
}
