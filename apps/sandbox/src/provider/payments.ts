import { chargeLimits, isWithinChargeLimits, plus, type Currency, type Instant, type Money } from '@tillflow/domain';
import { ApiError } from '../http/api-error.js';
import type { FormMap } from '../http/form.js';
import type { ChargeRecord, FailureCode, RefundRecord, SourceDetails, SourceRecord } from '../records/records.js';
import { found, type ProviderContext } from './context.js';
import type { CardCharge } from './schedules.js';

const NO_ENDPOINTS: readonly string[] = [];

export type NewSource = Money & { readonly details: SourceDetails | null };

export type NewCharge = Money & {
  /** The id of an existing source, or the details of one that is created with the charge. */
  readonly source: string | NewSource;
  readonly description: string | null;
  readonly metadata: FormMap;
  readonly returnUri: string | null;
  readonly webhookEndpoints: readonly string[];
  readonly expiresAt: Instant | null;
};

export type Outcome =
  | { readonly status: 'successful' }
  | { readonly status: 'failed'; readonly failureCode: FailureCode };

/** The first state of every charge. All charges without a refund share the empty list. */
const NEWLY_PENDING = {
  status: 'pending',
  confirming: false,
  paidAt: null,
  expiredAt: null,
  failureCode: null,
  transactionId: null,
  refunds: [] as readonly RefundRecord[],
  refundedAmount: 0,
  voided: false,
  disputeId: null,
} as const;

/**
 * Sources and charges. Each operation either refuses before it changes anything, or happens in full. Source: API
 * reference, "States and transitions"; assumptions.
 */
export class Payments {
  constructor(private readonly context: ProviderContext) {}

  /** @throws {ApiError} `not_found`. */
  source(id: string): SourceRecord {
    return found(this.context.records.sources.get(id), 'source', id);
  }

  /** @throws {ApiError} `not_found`. */
  charge(id: string): ChargeRecord {
    return found(this.context.records.charges.get(id), 'charge', id);
  }

  /** The one charge that uses the source, or null. */
  chargeOf(source: SourceRecord): ChargeRecord | null {
    return source.chargeId === null ? null : this.charge(source.chargeId);
  }

  createSource(input: NewSource): SourceRecord {
    checkLimits(input);
    return this.context.records.sources.put(this.#newSource(input));
  }

  createCharge(input: NewCharge): ChargeRecord {
    const { context } = this;
    const now = context.now();
    checkLimits(input);
    const expiresAt = this.#expiry(input.expiresAt, now);
    const unused = typeof input.source === 'string' ? this.#unusedSource(input.source) : this.#newSource(input.source);
    if (unused.amount !== input.amount || unused.currency !== input.currency) {
      throw new ApiError('invalid_charge', 'amount and currency must match the source.');
    }
    const id = context.id('chrg');
    const source = context.records.sources.put({ ...unused, chargeId: id });
    const charge = context.records.charges.put({
      id,
      createdAt: now,
      amount: input.amount,
      currency: input.currency,
      ...this.#fees(input.amount),
      source,
      recurring: null,
      token: context.token(),
      documentId: context.id('docu'),
      description: input.description,
      metadata: input.metadata,
      returnUri: input.returnUri,
      webhookEndpoints: input.webhookEndpoints,
      expiresAt,
      ...NEWLY_PENDING,
    });
    context.records.tokens.set(charge.token, id);
    context.clock.at(charge.expiresAt, () => this.#passExpiry(id));
    context.emit('charge.create', { object: 'charge', record: charge });
    return charge;
  }

  /** A schedule charges a card. The amount limits of the QR method apply: the reference shows none for cards. */
  chargeCard({ work, card, scheduleId, failureCode }: CardCharge): ChargeRecord {
    const { context } = this;
    const now = context.now();
    const charge = context.records.charges.put({
      id: context.id('chrg'),
      createdAt: now,
      amount: work.amount,
      currency: work.currency,
      ...this.#fees(work.amount),
      source: null,
      recurring: { card, customerId: work.customerId, scheduleId },
      token: '',
      documentId: '',
      description: work.description,
      metadata: work.metadata,
      returnUri: null,
      webhookEndpoints: NO_ENDPOINTS,
      expiresAt: plus(now, context.assumptions.expiresAfterMs),
      ...NEWLY_PENDING,
    });
    context.emit('charge.create', { object: 'charge', record: charge });
    return failureCode === null ? this.#paid(charge) : this.#failed(charge, failureCode);
  }

  /** Cancels a pending charge. */
  expire(id: string): ChargeRecord {
    const charge = this.charge(id);
    if (charge.status !== 'pending')
      throw new ApiError('failed_expire', `A ${charge.status} charge cannot be expired.`);
    if (charge.confirming) throw new ApiError('failed_expire', 'The customer is confirming the payment.');
    return this.#expired(charge);
  }

  /** The customer starts or ends the review of a payment. The API shows the charge as pending in both cases. */
  review(id: string, confirming: boolean): ChargeRecord {
    return this.context.records.charges.put({ ...this.#pending(id), confirming });
  }

  /**
   * The decision of the customer, or in test mode of the dashboard, about a pending charge.
   * @param force also changes an expired or failed charge: a provider that changes its answer later.
   */
  settle(id: string, outcome: Outcome, force = false): ChargeRecord {
    const known = this.charge(id);
    const charge = force && known.paidAt === null ? known : this.#pending(id);
    return outcome.status === 'successful' ? this.#paid(charge) : this.#failed(charge, outcome.failureCode);
  }

  #pending(id: string): ChargeRecord {
    const charge = this.charge(id);
    if (charge.status === 'pending') return charge;
    const code = charge.status === 'expired' ? 'expired_charge' : 'invalid_charge';
    throw new ApiError(code, `The charge is no longer pending: it is ${charge.status}.`);
  }

  /** When the sandbox's clock is ahead of the caller's, a future `expires_at` of the caller keeps its distance. */
  #expiry(asked: Instant | null, now: Instant): Instant {
    if (asked === null) return plus(now, this.context.assumptions.expiresAfterMs);
    if (asked > now) return asked;
    const ahead = this.context.clock.wallUntil(asked);
    if (ahead <= 0) throw new ApiError('bad_request', 'expires_at must be in the future.');
    return plus(now, ahead);
  }

  /** Fee and VAT are each rounded half up. Source: assumption, "Fees in the sandbox". */
  #fees(amount: number): Pick<ChargeRecord, 'fee' | 'feeVat'> {
    const { feeBasisPoints, vatBasisPoints } = this.context.assumptions;
    const fee = share(amount, feeBasisPoints);
    return { fee, feeVat: share(fee, vatBasisPoints) };
  }

  #newSource({ amount, currency, details }: NewSource): SourceRecord {
    return { id: this.context.id('src'), createdAt: this.context.now(), amount, currency, details, chargeId: null };
  }

  /** A source serves one charge. Source: assumption, "Source reuse". */
  #unusedSource(id: string): SourceRecord {
    const source = this.source(id);
    if (source.chargeId === null) return source;
    throw new ApiError('invalid_charge', 'Another charge already uses the source.');
  }

  #paid(charge: ChargeRecord): ChargeRecord {
    const transaction = this.context.transact({
      amount: charge.amount - charge.fee - charge.feeVat,
      currency: charge.currency,
      direction: 'credit',
      key: 'charge.capture',
      origin: charge.id,
    });
    return this.#completed({
      ...charge,
      status: 'successful',
      confirming: false,
      paidAt: this.context.now(),
      expiredAt: null,
      failureCode: null,
      transactionId: transaction.id,
    });
  }

  #failed(charge: ChargeRecord, failureCode: FailureCode): ChargeRecord {
    return this.#completed({ ...charge, status: 'failed', confirming: false, expiredAt: null, failureCode });
  }

  #completed(charge: ChargeRecord): ChargeRecord {
    this.context.records.charges.put(charge);
    this.context.emit('charge.complete', { object: 'charge', record: charge });
    return charge;
  }

  #expired(charge: ChargeRecord): ChargeRecord {
    const now = this.context.now();
    const expired: ChargeRecord = { ...charge, status: 'expired', confirming: false, expiredAt: now };
    this.context.records.charges.put(expired);
    this.context.emit('charge.expire', { object: 'charge', record: expired });
    return expired;
  }

  #passExpiry(id: string): void {
    const charge = this.context.records.charges.get(id);
    if (charge?.status !== 'pending') return;
    if (this.context.assumptions.unpaidBecomes === 'failed') this.#failed(charge, 'payment_expired');
    else this.#expired(charge);
  }
}

/** Source: API reference, "Limits"; the code is an assumption. @throws {ApiError} `invalid_amount`. */
export function checkLimits(money: { amount: number; currency: Currency }): void {
  if (isWithinChargeLimits(money)) return;
  const { min, max } = chargeLimits(money.currency);
  throw new ApiError('invalid_amount', `amount must be from ${min} to ${max} for ${money.currency}.`);
}

/** A share of an amount in hundredths of a percent, rounded half up. Exact: amounts stay far below 2^53. */
function share(amount: number, basisPoints: number): number {
  return Math.floor((amount * basisPoints + 5_000) / 10_000);
}
