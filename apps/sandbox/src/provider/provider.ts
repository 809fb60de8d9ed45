import {
  chargeLimits,
  isRefundable,
  isVoidable,
  isWithinChargeLimits,
  plus,
  type Currency,
  type Instant,
  type Money,
} from '@tillflow/domain';
import { ApiError } from '../http/api-error.js';
import { ProviderContext, found, type ContextOptions } from './context.js';
import { Customers } from './customers.js';
import { Disputes } from './disputes.js';
import type { FormMap } from '../http/form.js';
import type { Random } from '../random.js';
import { Receipts } from './receipts.js';
import type {
  AccountRecord,
  ChargeRecord,
  EventRecord,
  FailureCode,
  RefundRecord,
  SourceDetails,
  SourceRecord,
  TransactionRecord,
} from '../records/records.js';
import type { Records } from '../records/store.js';
import { Schedules, type CardCharge } from './schedules.js';

const NO_ENDPOINTS: readonly string[] = [];

export type NewSource = Money & { readonly details: SourceDetails | null };

export type NewCharge = Money & {
  /** An existing source's id, or the details of one that is made with the charge. */
  readonly source: string | NewSource;
  readonly description: string | null;
  readonly metadata: FormMap;
  readonly returnUri: string | null;
  readonly webhookEndpoints: readonly string[];
  readonly expiresAt: Instant | null;
};

export type NewRefund = {
  /** Smallest currency unit; null only for a void, which is always of the full amount. */
  readonly amount: number | null;
  readonly void: boolean;
  readonly metadata: FormMap;
};

export type Outcome =
  | { readonly status: 'successful' }
  | { readonly status: 'failed'; readonly failureCode: FailureCode };

/** What every charge begins with. The empty list is shared by all that have no refund. */
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
 * The provider's rules: what may happen to sources, charges and refunds, and what follows from it. Each operation either
 * refuses before it changes anything, or happens in full. Source: API reference, "States and transitions"; assumptions.
 */
export class Provider {
  readonly customers: Customers;
  readonly disputes: Disputes;
  readonly receipts: Receipts;
  readonly schedules: Schedules;
  readonly #context: ProviderContext;

  constructor(random: Random, options: ContextOptions) {
    this.#context = new ProviderContext(random, options);
    this.customers = new Customers(this.#context);
    this.disputes = new Disputes(this.#context);
    this.receipts = new Receipts(this.#context);
    this.schedules = new Schedules(this.#context, this.customers, (charge) => this.#chargeCard(charge));
    this.receipts.start();
  }

  get records(): Records {
    return this.#context.records;
  }

  /** Forgets everything. With the same randomness ids go on, with a new one they begin again. The clock is reset before. */
  reset(random: Random): void {
    this.#context.reset(random);
    this.receipts.start();
  }

  /** A new id, unlike all others. */
  newId(prefix: string): string {
    return this.#context.id(prefix);
  }

  createSource(input: NewSource): SourceRecord {
    checkLimits(input);
    return this.records.sources.put(this.#newSource(input));
  }

  createCharge(input: NewCharge): ChargeRecord {
    const now = this.#context.now();
    checkLimits(input);
    const expiresAt = this.#expiry(input.expiresAt, now);
    const unused = typeof input.source === 'string' ? this.#unusedSource(input.source) : this.#newSource(input.source);
    if (unused.amount !== input.amount || unused.currency !== input.currency) {
      throw new ApiError('invalid_charge', 'amount and currency must match the source.');
    }
    const id = this.#context.id('chrg');
    const source = this.records.sources.put({ ...unused, chargeId: id });
    const charge = this.records.charges.put({
      id,
      createdAt: now,
      amount: input.amount,
      currency: input.currency,
      ...this.#fees(input.amount),
      source,
      recurring: null,
      token: this.#context.token(),
      documentId: this.#context.id('docu'),
      description: input.description,
      metadata: input.metadata,
      returnUri: input.returnUri,
      webhookEndpoints: input.webhookEndpoints,
      expiresAt,
      ...NEWLY_PENDING,
    });
    this.records.tokens.set(charge.token, id);
    this.#context.clock.at(charge.expiresAt, () => this.#passExpiry(id));
    this.#context.emit('charge.create', { object: 'charge', record: charge });
    return charge;
  }

  /** Cancels a charge that nobody paid. */
  expire(id: string): ChargeRecord {
    const charge = this.charge(id);
    if (charge.status !== 'pending')
      throw new ApiError('failed_expire', `A ${charge.status} charge cannot be expired.`);
    if (charge.confirming) throw new ApiError('failed_expire', 'The customer is confirming the payment.');
    return this.#expired(charge);
  }

  /** The customer reviews the payment, or turns back from it. Until then the charge shows as pending all the same. */
  review(id: string, confirming = true): ChargeRecord {
    return this.records.charges.put({ ...this.#pending(id), confirming });
  }

  /**
   * What the customer, or in test mode the dashboard, decides about a pending charge.
   * @param force also changes a charge that is no longer pending: a provider that says something else later.
   */
  settle(id: string, outcome: Outcome, force = false): ChargeRecord {
    const known = this.charge(id);
    const charge = force && known.paidAt === null ? known : this.#pending(id);
    return outcome.status === 'successful' ? this.#paid(charge) : this.#failed(charge, outcome.failureCode);
  }

  refund(chargeId: string, input: NewRefund): RefundRecord {
    const charge = this.charge(chargeId);
    const { amount, net } = this.#refundable(charge, input);
    const now = this.#context.now();
    const id = this.#context.id('rfnd');
    const transaction = this.#context.transact({
      amount: net,
      currency: charge.currency,
      direction: 'debit',
      key: 'refund.create',
      origin: id,
    });
    const refund = this.records.refunds.put({
      id,
      createdAt: now,
      chargeId,
      amount,
      currency: charge.currency,
      transactionId: transaction.id,
      voided: input.void,
      metadata: input.metadata,
    });
    this.records.charges.put({
      ...charge,
      refunds: [...charge.refunds, refund],
      refundedAmount: charge.refundedAmount + amount,
      voided: input.void,
    });
    this.#context.emit('refund.create', { object: 'refund', record: refund });
    return refund;
  }

  updateAccount(change: Partial<AccountRecord>): AccountRecord {
    this.records.account = { ...this.records.account, ...change };
    return this.records.account;
  }

  /** @throws {ApiError} `not_found`. */
  source(id: string): SourceRecord {
    return found(this.records.sources.get(id), 'source', id);
  }

  /** The one charge that uses the source. */
  chargeOf(source: SourceRecord): ChargeRecord | null {
    return source.chargeId === null ? null : this.charge(source.chargeId);
  }

  /** @throws {ApiError} `not_found`. */
  charge(id: string): ChargeRecord {
    return found(this.records.charges.get(id), 'charge', id);
  }

  /** @throws {ApiError} `not_found`. */
  event(id: string): EventRecord {
    return found(this.records.events.get(id), 'event', id);
  }

  /** @throws {ApiError} `not_found`. */
  transaction(id: string): TransactionRecord {
    return found(this.records.transactions.get(id), 'transaction', id);
  }

  /** The charge, if it still waits for its customer. */
  #pending(id: string): ChargeRecord {
    const charge = this.charge(id);
    if (charge.status === 'pending') return charge;
    const code = charge.status === 'expired' ? 'expired_charge' : 'invalid_charge';
    throw new ApiError(code, `The charge is no longer pending: it is ${charge.status}.`);
  }

  /** Limits are the QR method's: those of cards are not shown. */
  #chargeCard({ work, card, scheduleId, failureCode }: CardCharge): ChargeRecord {
    const now = this.#context.now();
    const charge = this.records.charges.put({
      id: this.#context.id('chrg'),
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
      expiresAt: plus(now, this.#context.assumptions.expiresAfterMs),
      ...NEWLY_PENDING,
    });
    this.#context.emit('charge.create', { object: 'charge', record: charge });
    return failureCode === null ? this.#paid(charge) : this.#failed(charge, failureCode);
  }

  /** A caller's clock does not leap along: what is still ahead there is as far ahead here. */
  #expiry(asked: Instant | null, now: Instant): Instant {
    if (asked === null) return plus(now, this.#context.assumptions.expiresAfterMs);
    if (asked > now) return asked;
    const ahead = this.#context.clock.wallUntil(asked);
    if (ahead <= 0) throw new ApiError('bad_request', 'expires_at must be in the future.');
    return plus(now, ahead);
  }

  /** Each is rounded half up. Source: assumption, "Fees in the sandbox". */
  #fees(amount: number): Pick<ChargeRecord, 'fee' | 'feeVat'> {
    const { feeBasisPoints, vatBasisPoints } = this.#context.assumptions;
    const fee = share(amount, feeBasisPoints);
    return { fee, feeVat: share(fee, vatBasisPoints) };
  }

  #newSource({ amount, currency, details }: NewSource): SourceRecord {
    return { id: this.#context.id('src'), createdAt: this.#context.now(), amount, currency, details, chargeId: null };
  }

  /** A source serves one charge. Source: assumption, "Source reuse". */
  #unusedSource(id: string): SourceRecord {
    const source = this.source(id);
    if (source.chargeId !== null)
      throw new ApiError('invalid_charge', 'The source was already used by another charge.');
    return source;
  }

  #paid(charge: ChargeRecord): ChargeRecord {
    const transaction = this.#context.transact({
      amount: charge.amount - charge.fee - charge.feeVat,
      currency: charge.currency,
      direction: 'credit',
      key: 'charge.capture',
      origin: charge.id,
    });
    const paid: ChargeRecord = {
      ...charge,
      status: 'successful',
      confirming: false,
      paidAt: this.#context.now(),
      expiredAt: null,
      failureCode: null,
      transactionId: transaction.id,
    };
    return this.#completed(paid);
  }

  #failed(charge: ChargeRecord, failureCode: FailureCode): ChargeRecord {
    return this.#completed({ ...charge, status: 'failed', confirming: false, expiredAt: null, failureCode });
  }

  #completed(charge: ChargeRecord): ChargeRecord {
    this.records.charges.put(charge);
    this.#context.emit('charge.complete', { object: 'charge', record: charge });
    return charge;
  }

  #expired(charge: ChargeRecord): ChargeRecord {
    const expired = this.records.charges.put({
      ...charge,
      status: 'expired',
      confirming: false,
      expiredAt: this.#context.now(),
    });
    this.#context.emit('charge.expire', { object: 'charge', record: expired });
    return expired;
  }

  #passExpiry(id: string): void {
    const charge = this.records.charges.get(id);
    if (charge?.status !== 'pending') return;
    if (this.#context.assumptions.unpaidBecomes === 'failed') this.#failed(charge, 'payment_expired');
    else this.#expired(charge);
  }

  /** The amount that goes back to the customer and what the merchant's balance loses: a void gives the fee back. */
  #refundable(charge: ChargeRecord, input: NewRefund): { amount: number; net: number } {
    const now = this.#context.now();
    const rest = charge.amount - charge.refundedAmount;
    if (charge.paidAt === null) throw new ApiError('failed_refund', 'The charge was not paid.');
    if (input.void) {
      if (charge.refundedAmount > 0) throw new ApiError('failed_void', 'A refunded or voided charge cannot be voided.');
      if ((input.amount ?? charge.amount) !== charge.amount) {
        throw new ApiError('failed_void', 'Only the full amount can be voided.');
      }
      if (!isVoidable(charge.paidAt, now, this.#context.assumptions.voidRule)) {
        throw new ApiError('failed_void', 'The charge can no longer be voided.');
      }
      return { amount: charge.amount, net: charge.amount - charge.fee - charge.feeVat };
    }
    if (input.amount === null) throw new ApiError('bad_request', 'amount is required.');
    if (input.amount < 1) throw new ApiError('bad_request', 'amount must be at least 1.');
    if (input.amount > rest) throw new ApiError('failed_refund', `At most ${rest} can still be refunded.`);
    if (!isRefundable(charge.paidAt, now)) throw new ApiError('failed_refund', 'The charge can no longer be refunded.');
    return { amount: input.amount, net: input.amount };
  }
}

/** Source: API reference, "Limits"; the code is an assumption. */
export function checkLimits(money: { amount: number; currency: Currency }): void {
  if (isWithinChargeLimits(money)) return;
  const { min, max } = chargeLimits(money.currency);
  throw new ApiError('invalid_amount', `amount must be from ${min} to ${max} for ${money.currency}.`);
}

/** A share of an amount in hundredths of a percent, rounded half up. Exact: amounts stay far below 2^53. */
function share(amount: number, basisPoints: number): number {
  return Math.floor((amount * basisPoints + 5_000) / 10_000);
}
