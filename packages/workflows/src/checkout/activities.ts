import type { Currency } from '@tillflow/domain';
import type { Outcome } from '../shared/outcome.js';
import type { SendWindow } from '../shared/policy.js';
import type { PaymentDetails } from './payment.js';
import type { CheckoutIntent, Store } from './types.js';

export type CreateSourceCall = SendWindow & {
  /** Smallest currency unit. */
  readonly amount: number;
  readonly currency: Currency;
  readonly terminal: string | null;
  /** Absent: none. */
  readonly store?: Store;
};

export type CreateChargeCall = SendWindow & {
  readonly sourceId: string;
  /** Smallest currency unit. */
  readonly amount: number;
  readonly currency: Currency;
  readonly description: string | null;
  /**
   * The caller's, and Tillflow's `checkout` and `attempt`, which route webhooks and identify the charge in a search.
   */
  readonly metadata: Readonly<Record<string, string>>;
  /** ISO 8601 UTC. Only sent along: Tillflow expires the charge itself. */
  readonly expiresAt: string;
};

export type ExpireChargeCall = SendWindow & { readonly chargeId: string };

export type CreateRefundCall = SendWindow & {
  readonly chargeId: string;
  /** Smallest currency unit. */
  readonly amount: number;
  /** The charge's. Not sent: the refund in the reply must be in it. */
  readonly currency: Currency;
  /** As a void: only the whole, untouched amount. */
  readonly asVoid: boolean;
  /** Tillflow's `checkout` and `refund_key`, which identify the refund in a lookup. */
  readonly metadata: Readonly<Record<string, string>>;
};

/**
 * What a lookup of a paid charge also returns. Absent: nothing, as versions before 1.0 expect it. Their runs replay
 * what was recorded for them, so a newer worker must not put more into it.
 */
export type PaymentWanted = 'details' | 'details and payout';

export type RetrieveChargeCall = {
  readonly chargeId: string;
  /** The provider was too slow for a first try, so this one has more time. */
  readonly isSecondTry?: boolean;
  readonly payment?: PaymentWanted;
  /** A hint says that this is the charge's transaction. Only the charge decides. */
  readonly transactionId?: string;
};

export type FindChargesCall = {
  /** Null: only the list of charges is searched. */
  readonly sourceId: string | null;
  readonly checkoutId: string;
  /** ISO 8601 UTC: only charges created between these instants. */
  readonly since: string;
  readonly until: string;
  readonly payment?: PaymentWanted;
};

export type RefundFacts = {
  readonly refundId: string;
  /** Smallest currency unit. */
  readonly amount: number;
  /** Its currency when it differs from the charge's; absent when it does not. */
  readonly otherCurrency?: string;
  readonly isVoid: boolean;
  /** `metadata.refund_key`; null for a refund that was made elsewhere. */
  readonly key: string | null;
} & Followed;

/** With the result of a call: an event endpoint waits for the events of checkouts. Absent: none does. */
export type Followed = { readonly isFollowed?: true };

/** A charge as the provider shows it, reduced to what a checkout acts on. */
export type ChargeFacts = {
  readonly chargeId: string;
  readonly sourceId: string | null;
  /** As the provider spells it, or `reversed`. A value that this version does not know is passed on. */
  readonly status: string;
  /** Smallest currency unit. */
  readonly amount: number;
  readonly currency: string;
  /** `metadata.checkout`: the checkout that the charge belongs to. */
  readonly checkoutId: string | null;
  /** `metadata.attempt`. */
  readonly attempt: string | null;
  /** True for a live charge under a test key, and for a test charge under a live key. */
  readonly isOtherMode: boolean;
  readonly failureCode: string | null;
  readonly failureMessage: string | null;
  /** ISO 8601. */
  readonly paidAt: string | null;
  readonly qr: { readonly downloadUri: string; readonly rawData: string | null } | null;
  /** What was refunded or voided so far, in the smallest currency unit. */
  readonly refundedAmount: number;
  /** All of the charge's refunds. */
  readonly refunds: readonly RefundFacts[];
  /** Of a successful charge, where the call wants it and the provider gives it. */
  readonly payment?: PaymentDetails;
  /** Whether the provider would void the charge now: `can_perform_void`. */
  readonly canVoid: boolean;
} & Followed;

/** Asks for {@link RefundRights}. */
export type RefundRightsCall = Pick<CheckoutIntent, 'currency' | 'terminal'> & {
  /** Who asks, as `Attributed` spells it; null: it is not known. */
  readonly by: string | null;
  readonly store: Store | null;
};

/** What someone may do with the refunds of a checkout. */
export type RefundRights = {
  /**
   * The sum that it may refund of this checkout without a second person, in the smallest currency unit. Null: no limit.
   */
  readonly limit: number | null;
  /** Whether it may decide about a refund that another one asked for. */
  readonly approves: boolean;
};

/** What the workflows ask the worker for. Mutating calls are tried once and answer with an {@link Outcome}. */
export type PaymentActivities = {
  createSource(call: CreateSourceCall): Promise<Outcome<{ readonly sourceId: string }>>;
  createCharge(call: CreateChargeCall): Promise<Outcome<ChargeFacts>>;
  expireCharge(call: ExpireChargeCall): Promise<Outcome<ChargeFacts>>;
  createRefund(call: CreateRefundCall): Promise<Outcome<RefundFacts>>;
  retrieveCharge(call: RetrieveChargeCall): Promise<ChargeFacts>;
  /** As the worker's keys say now. Calls no other system. */
  refundRights(call: RefundRightsCall): Promise<RefundRights>;
  /**
   * The checkout's charges. Empty only when the provider also says that no charge used the source. Fails when the
   * source is used and its charge is not listed yet.
   */
  findCharges(call: FindChargesCall): Promise<readonly ChargeFacts[]>;
};
