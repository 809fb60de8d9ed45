import type { components, operations } from './api.generated.js';

type Schemas = components['schemas'];

/** One sale at a till, with its QR code, its attempts and its payment. Amounts are in the smallest currency unit. */
export type Checkout = Schemas['Checkout'];
export type CheckoutStatus = Schemas['CheckoutStatus'];
/** One offer to pay: a QR code and the charge behind it. */
export type Attempt = Schemas['Attempt'];
/** The QR code that the customer can pay with now. `image_url` opens without a key. */
export type Qr = Schemas['Qr'];
/** What the customer paid, with fees and the references on the customer's slip. */
export type Payment = Schemas['Payment'];
/** Why a person should check a checkout. */
export type Attention = Schemas['Attention'];
export type Refund = Schemas['Refund'];
/** The receipt of a payment or of a refund. */
export type Receipt = Schemas['CheckoutReceipt'];
/** Whether new payments are possible now. */
export type Availability = Schemas['Availability'];
export type CheckoutPage = Schemas['CheckoutPage'];
export type RefundPage = Schemas['RefundPage'];
/** The body of an error. Source: RFC 9457. */
export type Problem = Schemas['Problem'];
/** Every error code that the API has today. */
export type ProblemCode = Schemas['ProblemCode'];

/** The types of events that the API has today. */
export type EventType = Schemas['EventEndpoint']['events'][number];

export type CheckoutCreateParams = Schemas['CreateCheckout'];
export type CheckoutListParams = NonNullable<operations['listCheckouts']['parameters']['query']>;
export type AttemptCreateParams = Schemas['NewAttempt'];
export type RefundCreateParams = Schemas['CreateRefund'];

/** Options of every call. */
export type CallOptions = {
  /** Aborts the call: it ends with the code `aborted`. */
  readonly signal?: AbortSignal | undefined;
  /** How long the call goes on repeating its request, in milliseconds. 0: it repeats none. Default: the client's. */
  readonly patienceMs?: number | undefined;
};

/** Options of `watch` and `untilPaid`. */
export type WatchOptions = Pick<CallOptions, 'signal'>;

export type RefundOptions = CallOptions & {
  /**
   * Names the refund: the same key is the same refund, also after a crash. 1 to 128 visible ASCII characters. Default:
   * a random key, which the refund and each error contain.
   */
  readonly idempotencyKey?: string | undefined;
};

export type ReceiptParams = {
  /** The `key` of a refund, for the receipt of this refund. Default: the receipt of the payment. */
  readonly refund?: string | undefined;
  /** `en`, `th`, `ms` or `zh`, or a list as in `Accept-Language`. Default: what the browser sends, or English. */
  readonly language?: string | undefined;
};
