import type { ChargeStatus } from '../charge.js';
import type { CheckoutStatus } from '../checkout.js';
import type { Instant } from '../instant.js';
import type { Till } from './day-totals.js';

/** A refund of a checkout. Amounts are in the smallest unit of the checkout's currency. */
export type TillflowRefund = {
  /** The provider's id; null until it is known. */
  readonly id: string | null;
  /**
   * The caller's key; the id of a refund that was made elsewhere; `auto:<charge>` of money that Tillflow returns
   * automatically.
   */
  readonly key: string;
  readonly chargeId: string;
  readonly amount: number;
  readonly status: 'pending' | 'needs_approval' | 'succeeded' | 'rejected';
};

/** A checkout, reduced to what is compared. */
export type TillflowCheckout = {
  readonly id: string;
  readonly status: CheckoutStatus;
  /** Smallest currency unit. */
  readonly amount: number;
  readonly currency: string;
  /** Null until Tillflow has seen the payment. */
  readonly paidAt: Instant | null;
  readonly till: Till;
  readonly charges: readonly { readonly id: string; readonly status: ChargeStatus }[];
  readonly refunds: readonly TillflowRefund[];
  /** Its workflow has ended: it retrieves nothing any more. */
  readonly closed: boolean;
};

/** A refund as the provider lists it. */
export type ProviderRefund = {
  readonly id: string;
  /** Smallest currency unit. */
  readonly amount: number;
  readonly createdAt: Instant | null;
  /** `metadata.refund_key`; null for a refund that was made elsewhere. */
  readonly key: string | null;
  /** The provider voided the payment. Absent: it refunded the payment, or does not say. */
  readonly voided?: true;
};

/** The fees of a charge, in the smallest currency unit. */
export type Fees = {
  readonly fee: number;
  readonly vat: number;
  /** The merchant's amount after fees. */
  readonly net: number;
  /** The fees by the provider's own rates; null when the charge does not contain rates. */
  readonly byRates: { readonly fee: number; readonly vat: number } | null;
};

/** A charge of the provider, reduced to what is compared. */
export type ProviderCharge = {
  readonly id: string;
  /** `metadata.checkout`; null for a charge of another system that uses the same account. */
  readonly checkoutId: string | null;
  /** As the provider spells it, or `reversed`. */
  readonly status: string;
  /** Smallest currency unit. */
  readonly amount: number;
  readonly currency: string;
  /** As the source of the charge names it. */
  readonly till: Till;
  readonly createdAt: Instant;
  /** Null while it is not paid. */
  readonly paidAt: Instant | null;
  /** Smallest currency unit. */
  readonly refundedAmount: number;
  /** All refunds of the charge. */
  readonly refunds: readonly ProviderRefund[];
  /** The movement of the balance for this charge; null when the charge names none. */
  readonly transactionId: string | null;
  /** Null when the provider does not show them in the charge's currency. */
  readonly fees: Fees | null;
};

/** When a charge was paid; its creation while it is not paid. */
export function paidAtOf({ paidAt, createdAt }: ProviderCharge): Instant {
  return paidAt ?? createdAt;
}

/** Whether a charge was paid at or after `from` and before `to`. */
export function isPaidWithin({ paidAt }: ProviderCharge, from: Instant, to: Instant): boolean {
  return paidAt !== null && paidAt >= from && paidAt < to;
}

/** A movement of the merchant's balance by a payment or a refund. Source: API reference, "Transaction". */
export type Movement = {
  readonly id: string;
  /** The cause: either a charge or a refund. */
  readonly chargeId: string | null;
  readonly refundId: string | null;
  /** Smallest currency unit. */
  readonly amount: number;
  readonly currency: string;
  readonly createdAt: Instant;
  /** When the provider can pay the money out; null when it does not say. */
  readonly transferableAt: Instant | null;
};
