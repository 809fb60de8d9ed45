import type { AttentionCode, CheckoutMemo, Refund } from '../checkout/types.js';

/** One charge of the checkout in the provider's records. Times in milliseconds since 1970, UTC. */
export type ProviderCharge = {
  readonly id: string;
  readonly status: string;
  readonly paidAt: number | null;
  readonly refunds: readonly ProviderRefund[];
};

type ProviderRefund = {
  readonly id: string;
  /** Smallest currency unit. */
  readonly amount: number;
  readonly isVoid: boolean;
  /** The key that Tillflow sent with it; null: it was made elsewhere. */
  readonly key: string | null;
  readonly madeAt: number;
};

/** An answer that a caller received, and may rely on. */
export type Answer =
  | { readonly what: 'status'; readonly status: string }
  /** `wanted`: the amount of the request; null or absent: all that was left. */
  | { readonly what: 'refund'; readonly refund: Refund; readonly wanted?: number | null }
  /** The request was refused for certain, so no refund with this key is made. */
  | { readonly what: 'refused refund'; readonly key: string }
  | { readonly what: 'attempt'; readonly number: number };

/** What was seen of one checkout: on Tillflow's side, on the provider's, and by callers. */
export type Observation = {
  /** The provider's time, in milliseconds since 1970, UTC. */
  readonly now: number;
  readonly charges: readonly ProviderCharge[];
  readonly memo: CheckoutMemo;
  readonly answers?: readonly Answer[];
  /** Minutes east of UTC of the calendar that gives a payment's transaction date. */
  readonly voidDateOffsetMinutes?: number;
  /** The accepted charge, where the observer knows it. Otherwise the payment time tells. */
  readonly acceptedChargeId?: string | null;
  /** The attentions that the checkout may show at the end; usually none. Each permits the problem that it reports. */
  readonly excuses?: ReadonlySet<AttentionCode>;
  /** A call took effect long after its deadline: the provider may have an ended charge that no attempt shows. */
  readonly hasLateEffects?: boolean;
  /** False where the provider's times cannot be believed. */
  readonly hasWindows?: boolean;
  /** The provider has shown an impossible time of payment: the checkout may have the time at which it saw the payment. */
  readonly hasOwnTimeOfPayment?: boolean;
};
