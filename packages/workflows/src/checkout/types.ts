import {
  parseInstant,
  refundKind,
  type ChargeStatus,
  type CheckoutStatus,
  type Currency,
  type Instant,
  type RefundablePayment,
} from '@tillflow/domain';
import { paymentOf, type Payment, type PaymentDetails } from './payment.js';
import type { PublishedEvents } from './published-events.js';

/** A shop of the merchant. Wire names. */
export type Store = {
  /** The merchant's id of it: 1 to 64 of A-Z a-z 0-9 . _ - */
  readonly id: string;
  readonly name: string | null;
};

/** What the caller requested. In the memo from the start; it never changes. Wire names. */
export type CheckoutIntent = {
  readonly id: string;
  readonly account: string;
  readonly reference: string;
  /** Smallest currency unit. */
  readonly amount: number;
  readonly currency: Currency;
  readonly description: string | null;
  readonly metadata: Readonly<Record<string, string>>;
  readonly terminal: string | null;
  /** Absent when the caller named none. */
  readonly store?: Store;
  /** Seconds during which the customer may pay. */
  readonly expires_in: number;
  /** A source that a client created; null: Tillflow creates one. */
  readonly source: string | null;
  /** ISO 8601 UTC. */
  readonly created_at: string;
};

export type AttemptView = {
  readonly number: number;
  readonly source_id: string | null;
  readonly charge_id: string | null;
  readonly status: ChargeStatus;
  readonly failure_code: string | null;
  readonly failure_message: string | null;
  readonly created_at: string;
  readonly expires_at: string;
};

export type Attention = {
  readonly code: AttentionCode;
  /** ISO 8601 UTC. */
  readonly since: string;
  readonly detail: string;
};

/**
 * The attention codes, the most serious first: a checkout shows the most serious of several. "Settles itself" means
 * that the attention disappears when its cause ends. What to do about each: docs/operations.md.
 */
export const ATTENTION_CODES = [
  /**
   * The provider shows something other than what was requested. It is not believed, and no customer can pay meanwhile.
   */
  'integrity_mismatch',
  /** One refund was made twice, by a call that took effect long after it was given up. */
  'refund_doubled',
  /** The provider refused to return money that should be returned. It is tried again after an hour, then daily. */
  'return_refused',
  /** More was refunded than the provider lists, or a listed refund may be one of Tillflow's: `resolve` decides. */
  'refund_unmatched',
  /** The provider shows a status that this version does not know, `reversed` among them. Nothing is guessed. */
  'unknown_status',
  /** Paid twice: the second payment is returned. Settles itself. */
  'double_payment',
  /**
   * Paid after the end was published. Settles itself when the money is returned; with `LATE_PAYMENT=keep` a person
   * decides.
   */
  'late_payment',
  /** It is not known yet whether a charge or a refund was made. It is looked up. Settles itself. */
  'outcome_unknown',
  /** The provider does not expire a charge: a customer may be confirming. Settles itself. */
  'expire_refused',
  /** The worker came too late to a call and did not send it: its clock or its load. Settles itself. */
  'worker_late',
  /** The provider has not answered for a while. Settles itself. */
  'provider_unreachable',
  /** A refund waits for a second person. Settles itself: at the latest after 24 hours, when the refund is rejected. */
  'approval_needed',
] as const;
export type AttentionCode = (typeof ATTENTION_CODES)[number];

/** The state of a checkout. In the memo, rewritten at every change. Wire names. */
export type CheckoutState = {
  readonly status: CheckoutStatus;
  readonly attempts: readonly AttemptView[];
  readonly qr: { readonly download_uri: string; readonly raw_data: string | null; readonly expires_at: string } | null;
  readonly paid_at: string | null;
  /** Absent until a paid charge shows any. */
  readonly payment?: PaymentDetails;
  /** Smallest currency unit. */
  readonly refunded_amount: number;
  readonly voidable_until: string | null;
  readonly refundable_until: string | null;
  readonly attention: Attention | null;
  readonly updated_at: string;
};

/** A checkout as the API shows it, without the addresses that only the API knows. */
export type Checkout = Omit<CheckoutIntent, 'account' | 'expires_in' | 'source' | 'store'> &
  Omit<CheckoutState, 'payment'> & { readonly store: Store | null; readonly payment: Payment | null };

export type TimelineEntry = {
  /** ISO 8601 UTC. */
  readonly at: string;
  /** A fixed word, such as `charge_created` or `paid`. */
  readonly what: string;
  /** For people. */
  readonly detail?: string;
  /**
   * Who requested it, as `Attributed` spells it. Absent: it followed from a payment, a time or an answer, or the
   * requester was not recorded.
   */
  readonly by?: string;
  /** From where, as `Attributed` says. */
  readonly origin?: string;
};

/** A refund or a void. Wire names. */
export type Refund = {
  /** The provider's id; null until it is known. */
  readonly id: string | null;
  /**
   * The caller's `Idempotency-Key`; of a refund made elsewhere, its id; of money that Tillflow returns,
   * `auto:<charge>`.
   */
  readonly key: string;
  readonly charge_id: string;
  /** Smallest currency unit. */
  readonly amount: number;
  readonly currency: Currency;
  /** While it is pending: what it is expected to be. */
  readonly kind: 'void' | 'refund';
  readonly status: 'pending' | 'needs_approval' | 'succeeded' | 'rejected';
  /** The caller's words, or why Tillflow returns the money. */
  readonly reason: string | null;
  /** The provider's code and words when it is rejected, or when a void was refused and a refund took its place. */
  readonly failure_code: string | null;
  readonly failure_message: string | null;
  /** Who requested it, as `Attributed` spells it; null when that is not known, as of one made elsewhere. */
  readonly requested_by: string | null;
  /** The second person who let it go ahead; null: none, or none yet. */
  readonly approved_by: string | null;
  /** While it waits for approval: it is rejected at this time. ISO 8601 UTC; null: it does not wait. */
  readonly approval_until: string | null;
  readonly created_at: string;
};

/** A refund in the memo. Callers see only {@link Refund} of it. */
export type StoredRefund = Omit<Refund, 'requested_by' | 'approved_by' | 'approval_until'> & {
  readonly requested_by?: string | undefined;
  readonly approved_by?: string | undefined;
  readonly approval_until?: string | undefined;
  /** The amount that was requested. Absent: all that was left. */
  readonly asked?: number | undefined;
  /** {@link RefundRequest.nonce} of the request that opened it. */
  readonly nonce?: string | undefined;
};

/** The result of a workflow. */
export type CheckoutResult = {
  readonly checkout: Checkout;
  readonly refunds: readonly Refund[];
  readonly timeline: readonly TimelineEntry[];
};

/** The answer to the query `view`. */
export type CheckoutView = CheckoutResult & {
  /** Since when the provider has not answered, ISO 8601 UTC; null while it answers. */
  readonly provider_silent_since: string | null;
};

/** The memo of a checkout's workflow. */
export type CheckoutMemo = {
  readonly intent: CheckoutIntent;
  /** The nonce of the request that opened the checkout: that request answers 201, others 200. */
  readonly requestNonce: string;
  /** Absent until the workflow publishes for the first time. */
  readonly state?: CheckoutState;
  readonly timeline?: readonly TimelineEntry[];
  /** In the order in which they were requested; absent while there is none. */
  readonly refunds?: readonly StoredRefund[];
  /** Grows each time the workflow publishes: the id of an event in the stream. Absent until the first time. */
  readonly version?: number;
  /** Absent until there is one. */
  readonly events?: PublishedEvents;
};

/** The state of a checkout whose workflow has not published yet. */
export function initialState(intent: CheckoutIntent): CheckoutState {
  return {
    status: 'creating',
    attempts: [],
    qr: null,
    paid_at: null,
    refunded_amount: 0,
    voidable_until: null,
    refundable_until: null,
    attention: null,
    updated_at: intent.created_at,
  };
}

export function toRefund(stored: StoredRefund): Refund {
  const { id, key, charge_id, amount, currency, kind, status, reason } = stored;
  const { failure_code, failure_message, requested_by = null, created_at } = stored;
  const { approved_by = null, approval_until = null } = stored;
  const money = { charge_id, amount, currency };
  const why = { reason, failure_code, failure_message };
  return { id, key, ...money, kind, status, ...why, requested_by, approved_by, approval_until, created_at };
}

/** The `failure_code` of a refund that the second person rejected. */
export const NOT_APPROVED = 'not_approved';

/** The `failure_code` of a refund that an operator gave up. It can show later that it was made. */
export const ABANDONED = 'abandoned';

/** Whether a second person has made this decision about a refund. */
export function isDecidedAs(
  { approved_by, failure_code }: Pick<StoredRefund, 'approved_by' | 'failure_code'>,
  decision: 'approve' | 'reject',
): boolean {
  return decision === 'approve' ? approved_by !== undefined : failure_code === NOT_APPROVED;
}

/** The charge whose payment counts; null while nothing is paid. Where two were paid, the timeline says which. */
export function acceptedChargeOf(
  { paid_at, attempts }: CheckoutState,
  timeline: readonly TimelineEntry[],
): string | null {
  if (paid_at === null) return null;
  const paid = attempts.filter(({ status }) => status === 'successful').map(({ charge_id }) => charge_id);
  const noted = timeline.find(({ what, detail }) => what === 'paid' && paid.includes(detail ?? ''))?.detail;
  return noted ?? paid[0] ?? null;
}

/** The sum of a charge's refunds with one of these statuses, in the smallest currency unit. */
export function sumOfRefunds(
  refunds: readonly StoredRefund[],
  chargeId: string | null,
  ...statuses: readonly StoredRefund['status'][]
): number {
  return refunds
    .filter((refund) => refund.charge_id === chargeId && statuses.includes(refund.status))
    .reduce((sum, { amount }) => sum + amount, 0);
}

type Published = Required<Pick<CheckoutMemo, 'intent' | 'state' | 'timeline' | 'refunds'>>;

/** What decides a refund of this checkout, as far as it is published. */
export function refundablePayment({ intent, state, timeline, refunds }: Published): RefundablePayment {
  const paidAt = state.paid_at === null ? null : parseInstant(state.paid_at);
  return {
    paid: paidAt === null ? 0 : intent.amount,
    returned: state.refunded_amount,
    pending: sumOfRefunds(refunds, acceptedChargeOf(state, timeline), 'pending', 'needs_approval'),
    paidAt,
  };
}

/** The kind that a refund of this amount would have at `now`, as far as it is published. Smallest currency unit. */
export function expectedKind(checkout: Published, amount: number, now: Instant): Refund['kind'] {
  const { voidable_until } = checkout.state;
  const canVoid = voidable_until !== null && now < parseInstant(voidable_until);
  return refundKind(refundablePayment(checkout), amount, canVoid);
}

export function toCheckout(intent: CheckoutIntent, state: CheckoutState, timeline: readonly TimelineEntry[]): Checkout {
  const { id, reference, amount, currency, description, metadata, terminal, store = null, created_at } = intent;
  const { status, updated_at, payment: _details, ...rest } = state;
  const payment = paymentOf(intent, state, acceptedChargeOf(state, timeline));
  const asked = { description, metadata, terminal, store };
  return { id, reference, status, amount, currency, ...asked, ...rest, payment, created_at, updated_at };
}
