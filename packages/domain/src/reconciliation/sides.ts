import type { ChargeStatus } from '../charge.js';
import type { CheckoutStatus } from '../checkout.js';
import type { Instant } from '../instant.js';

/** A refund as our checkout knows it. Amounts are in the smallest unit of the checkout's currency. */
export type OurRefund = {
  /** The provider's id; null until it is known. */
  readonly id: string | null;
  /** What the caller named it; the id of one that was made elsewhere; `auto:<charge>` of money that goes back by itself. */
  readonly key: string;
  readonly chargeId: string;
  readonly amount: number;
  readonly status: 'pending' | 'succeeded' | 'rejected';
};

/** A checkout, reduced to what can be compared. */
export type OurCheckout = {
  readonly id: string;
  readonly status: CheckoutStatus;
  /** Smallest currency unit. */
  readonly amount: number;
  readonly currency: string;
  /** Null until it was seen paid. */
  readonly paidAt: Instant | null;
  readonly charges: readonly { readonly id: string; readonly status: ChargeStatus }[];
  readonly refunds: readonly OurRefund[];
  /** Its workflow has ended: nobody looks any more. */
  readonly closed: boolean;
};

/** A refund as the provider lists it. */
export type TheirRefund = {
  readonly id: string;
  /** Smallest currency unit. */
  readonly amount: number;
  readonly createdAt: Instant | null;
  /** `metadata.refund_key`: null for one that was made elsewhere. */
  readonly key: string | null;
};

/** What the provider took of a charge, in the smallest currency unit. */
export type Fees = {
  readonly fee: number;
  readonly vat: number;
  /** What is left for the merchant. */
  readonly net: number;
  /** What its own rates come to; null where it does not say them. */
  readonly byRates: { readonly fee: number; readonly vat: number } | null;
};

/** A charge of the provider, reduced to what can be compared. */
export type TheirCharge = {
  readonly id: string;
  /** `metadata.checkout`: null for a charge of another system on the same account. */
  readonly checkoutId: string | null;
  /** As the provider spells it, or `reversed`. */
  readonly status: string;
  /** Smallest currency unit. */
  readonly amount: number;
  readonly currency: string;
  readonly createdAt: Instant;
  /** Null while no money came. */
  readonly paidAt: Instant | null;
  /** Smallest currency unit. */
  readonly refundedAmount: number;
  /** All of them. */
  readonly refunds: readonly TheirRefund[];
  /** The movement of the balance that it made, where it names one. */
  readonly transactionId: string | null;
  /** Null where the provider does not say them in the charge's own currency. */
  readonly fees: Fees | null;
};

/** A movement of the merchant's balance by a payment or a refund. Source: API reference, "Transaction". */
export type Movement = {
  readonly id: string;
  /** What moved it: one of the two is named. */
  readonly chargeId: string | null;
  readonly refundId: string | null;
  /** Smallest currency unit. */
  readonly amount: number;
  readonly currency: string;
  readonly createdAt: Instant;
  /** When the money can be paid out; null when the provider does not say. */
  readonly transferableAt: Instant | null;
};
