import type { CheckoutStatus, ChargeStatus, Currency } from '@tillflow/domain';

/** What the caller asked for. Written once, into the memo at the start; it never changes. Wire names. */
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
  /** Seconds during which the customer may pay. */
  readonly expires_in: number;
  /** A source that the client made, or null: then we make it. */
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

/** What needs a person, or may soon. Each has a page in `docs/operations.md`. */
export type AttentionCode =
  | 'outcome_unknown'
  | 'provider_unreachable'
  | 'integrity_mismatch'
  | 'unknown_status'
  | 'expire_refused'
  | 'late_payment';

/** What became of it. In the memo, rewritten at every change. Wire names. */
export type CheckoutState = {
  readonly status: CheckoutStatus;
  readonly attempts: readonly AttemptView[];
  readonly qr: { readonly download_uri: string; readonly raw_data: string | null; readonly expires_at: string } | null;
  readonly paid_at: string | null;
  /** Smallest currency unit. */
  readonly refunded_amount: number;
  readonly voidable_until: string | null;
  readonly refundable_until: string | null;
  readonly attention: Attention | null;
  readonly updated_at: string;
};

/** A checkout as the API shows it, without the addresses that only the API knows. */
export type Checkout = Omit<CheckoutIntent, 'account' | 'expires_in' | 'source' | 'terminal'> & CheckoutState;

export type TimelineEntry = {
  /** ISO 8601 UTC. */
  readonly at: string;
  /** A fixed word, such as `qr_ready` or `paid`. */
  readonly what: string;
  /** For people. */
  readonly detail?: string;
};

/** The memo of a checkout's workflow. */
export type CheckoutMemo = {
  readonly intent: CheckoutIntent;
  /** The nonce of the request that started the workflow: that request answers 201, others 200. */
  readonly opener: string;
  /** Absent until the workflow's first report. */
  readonly state?: CheckoutState;
  readonly timeline?: readonly TimelineEntry[];
};

/** The state of a checkout whose workflow has not reported yet. */
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

export function toCheckout(intent: CheckoutIntent, state: CheckoutState): Checkout {
  const { id, reference, amount, currency, description, metadata, created_at } = intent;
  const { status, updated_at, ...rest } = state;
  return { id, reference, status, amount, currency, description, metadata, ...rest, created_at, updated_at };
}
