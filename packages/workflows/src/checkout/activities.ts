import type { Currency } from '@tillflow/domain';
import type { Outcome } from '../shared/outcome.js';

/** When a mutating call may still leave, and how long it may take. A late one is not sent at all. */
export type SendWindow = {
  /** The request's first byte leaves before this instant (ms since the epoch) or never. */
  readonly sendBy: number;
  /** Total time the call may take once it was begun, in ms. */
  readonly deadlineMs: number;
};

export type CreateSourceCall = SendWindow & {
  /** Smallest currency unit. */
  readonly amount: number;
  readonly currency: Currency;
  readonly terminal: string | null;
};

export type CreateChargeCall = SendWindow & {
  readonly sourceId: string;
  /** Smallest currency unit. */
  readonly amount: number;
  readonly currency: Currency;
  readonly description: string | null;
  /** The caller's, and ours that routes webhooks and finds the charge again: `checkout`, `attempt`. */
  readonly metadata: Readonly<Record<string, string>>;
  /** ISO 8601 UTC. Only sent along: our own expiry decides. */
  readonly expiresAt: string;
};

export type ExpireChargeCall = SendWindow & { readonly chargeId: string };

export type CreateRefundCall = SendWindow & {
  readonly chargeId: string;
  /** Smallest currency unit. */
  readonly amount: number;
  /** The charge's; not sent: the refund must be in it. */
  readonly currency: Currency;
  /** As a void: only the whole, untouched amount. */
  readonly asVoid: boolean;
  /** Ours, by which the refund is found again: `checkout`, `refund_key`. */
  readonly metadata: Readonly<Record<string, string>>;
};

export type FindChargesCall = {
  /** Null: only the list is asked. */
  readonly sourceId: string | null;
  readonly checkoutId: string;
  /** ISO 8601 UTC: the charges were made between these instants, if they were. */
  readonly since: string;
  readonly until: string;
};

export type RefundFacts = {
  readonly refundId: string;
  /** Smallest currency unit. */
  readonly amount: number;
  /** Its currency, where that is not the charge's; absent: it is, or an older release did not look. */
  readonly otherCurrency?: string;
  readonly isVoid: boolean;
  /** `metadata.refund_key`: null for one that was made elsewhere. */
  readonly key: string | null;
};

/** What a retrieved charge says, reduced to what a checkout acts on. */
export type ChargeFacts = {
  readonly chargeId: string;
  readonly sourceId: string | null;
  /** As the provider spells it, or `reversed`; a value this version does not know is acceptedCharge. */
  readonly status: string;
  /** Smallest currency unit. */
  readonly amount: number;
  readonly currency: string;
  /** `metadata.checkout`: whose charge the provider says it is. */
  readonly checkoutId: string | null;
  /** `metadata.attempt`. */
  readonly attempt: string | null;
  /** True for a live charge under a test key, and the reverse. */
  readonly isOtherMode: boolean;
  readonly failureCode: string | null;
  readonly failureMessage: string | null;
  /** ISO 8601. */
  readonly paidAt: string | null;
  readonly qr: { readonly downloadUri: string; readonly rawData: string | null } | null;
  /** What was given back so far, in the smallest currency unit. */
  readonly refundedAmount: number;
  /** All of the charge's refunds. */
  readonly refunds: readonly RefundFacts[];
  /** The provider's word on whether a void is possible now. */
  readonly canVoid: boolean;
};

/**
 * What the workflows ask of the worker. Mutating calls answer with an {@link Outcome} and are tried once;
 * reads answer with what they saw and may be tried again.
 */
export type PaymentActivities = {
  createSource(call: CreateSourceCall): Promise<Outcome<{ readonly sourceId: string }>>;
  createCharge(call: CreateChargeCall): Promise<Outcome<ChargeFacts>>;
  expireCharge(call: ExpireChargeCall): Promise<Outcome<ChargeFacts>>;
  createRefund(call: CreateRefundCall): Promise<Outcome<RefundFacts>>;
  retrieveCharge(call: { readonly chargeId: string }): Promise<ChargeFacts>;
  /**
   * The checkout's charges; none only when the provider says that the source was not used either.
   * Fails while the source is used and its charge is not listed yet.
   */
  findCharges(call: FindChargesCall): Promise<readonly ChargeFacts[]>;
};
