import { slipReference, type Currency } from '@tillflow/domain';
import type { CheckoutIntent, CheckoutState } from './types.js';

/**
 * What the provider says of a payment besides its amount. It names no customer. Absent or null: the provider does not
 * give it. Lists and short names, because a paid checkout keeps this in its history for a year.
 */
export type PaymentDetails = {
  /**
   * The customer's amount in the smallest unit of its currency, that currency, and its units for one of the checkout's.
   */
  readonly customer?: readonly [amount: number | null, currency: string | null, rate: number | null];
  /** Smallest currency unit. */
  readonly receipt?: number;
  /**
   * As the provider shows them: the reference does not describe one. Absent: none. Null: not given, or too long to
   * store.
   */
  readonly discounts?: readonly unknown[] | null;
  /** Smallest currency unit. */
  readonly fees?: readonly [fee: number | null, vat: number | null, net: number | null];
  /** When the provider can pay it out. ISO 8601 UTC. */
  readonly payout?: string;
  /** The names of the payment on the customer's slip. */
  readonly slip?: readonly [
    provider1: string | null,
    provider2: string | null,
    acquirer: string | null,
    approvalCode: string | null,
  ];
};

/** The payment of a checkout, as callers see it. Wire names. Null where the provider does not give a field. */
export type Payment = {
  /** Null when it is not known which of several charges was paid. */
  readonly charge_id: string | null;
  /** ISO 8601 UTC. */
  readonly paid_at: string;
  /** Smallest currency unit. */
  readonly amount: number;
  readonly currency: Currency;
  /** In the smallest unit of `customer_currency`. */
  readonly customer_amount: number | null;
  readonly customer_currency: string | null;
  /** Units of `customer_currency` for one unit of the currency. */
  readonly customer_exchange_rate: number | null;
  /** Smallest currency unit. */
  readonly receipt_amount: number | null;
  /** As the provider shows them. */
  readonly discounts: readonly unknown[] | null;
  /** Smallest currency unit. */
  readonly fee: number | null;
  readonly fee_vat: number | null;
  readonly net: number | null;
  /** When the provider can pay it out. ISO 8601 UTC. */
  readonly transferable_at: string | null;
  /** What the customer's slip, or the provider's support, calls the payment. */
  readonly references: {
    readonly provider_1: string | null;
    readonly provider_2: string | null;
    readonly acquirer: string | null;
    readonly approval_code: string | null;
  };
};

/** The known details, with what only the later answer gives. */
export function completed(known: PaymentDetails, later: PaymentDetails): PaymentDetails {
  const missing = Object.entries(later).filter(([name]) => !Object.hasOwn(known, name));
  const { customer, fees, slip } = known;
  return {
    ...known,
    ...(customer && { customer: filled(customer, later.customer) }),
    ...(fees && { fees: filled(fees, later.fees) }),
    ...(slip && { slip: filled(slip, later.slip) }),
    ...Object.fromEntries(missing),
  };
}

function filled<T extends readonly unknown[]>(known: T, later: T | undefined): T {
  return known.map((value, index) => value ?? later?.[index] ?? null) as unknown as T;
}

const NONE = [null, null, null, null] as const;

/**
 * Null until the checkout is paid. A checkout that was paid before version 1.0 has no details.
 * @param chargeId the charge whose payment counts; null when it is not known which of several that is
 */
export function paymentOf(
  { amount, currency }: CheckoutIntent,
  { paid_at, payment }: CheckoutState,
  chargeId: string | null,
): Payment | null {
  if (paid_at === null) return null;
  const [customer_amount, customer_currency, customer_exchange_rate] = payment?.customer ?? NONE;
  const [fee, fee_vat, net] = payment?.fees ?? NONE;
  const [provider_1, provider_2, acquirer, approval_code] = payment?.slip ?? NONE;
  return {
    charge_id: chargeId,
    paid_at,
    amount,
    currency,
    customer_amount,
    customer_currency,
    customer_exchange_rate,
    receipt_amount: payment?.receipt ?? null,
    discounts: payment === undefined ? null : payment.discounts === undefined ? [] : payment.discounts,
    fee,
    fee_vat,
    net,
    transferable_at: payment?.payout ?? null,
    references: { provider_1, provider_2, acquirer, approval_code },
  };
}

/** The references by which a payment is searched, each once, as {@link slipReference} writes them. */
export function slipReferencesOf({ payment }: Pick<CheckoutState, 'payment'>): string[] {
  return [
    ...new Set((payment?.slip ?? []).flatMap((reference) => (reference === null ? [] : slipReference(reference)))),
  ];
}
