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
import { ApiError } from './api-error.js';
import type { Assumptions } from './assumptions.js';
import type { Clock } from './clock.js';
import type { FormMap } from './form.js';
import type { Random } from './random.js';
import {
  Books,
  type AccountRecord,
  type ChargeRecord,
  type EventRecord,
  type EventSubject,
  type FailureCode,
  type RefundRecord,
  type SourceDetails,
  type SourceRecord,
  type TransactionRecord,
} from './records.js';

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

export type ProviderOptions = {
  readonly clock: Clock;
  readonly assumptions: Assumptions;
  readonly livemode: boolean;
  readonly webhookUri: string | null;
  /** Called for each new event, after everything it tells about is in the books. */
  readonly onEvent: (event: EventRecord, charge: ChargeRecord) => void;
};

/** Shared by all charges without one. */
const NO_REFUNDS: readonly RefundRecord[] = [];

/**
 * The provider's rules: what may happen to sources, charges and refunds, and what follows from it. Each operation either
 * refuses before it changes anything, or happens in full. Source: API reference, "States and transitions"; assumptions.
 */
export class Provider {
  books: Books;
  readonly #options: ProviderOptions;
  #random: Random;

  constructor(random: Random, options: ProviderOptions) {
    this.#options = options;
    this.#random = random;
    this.books = new Books(this.#newAccount());
  }

  /** Forgets everything. With the same randomness ids go on, with a new one they begin again. */
  reset(random: Random): void {
    this.#random = random;
    this.books = new Books(this.#newAccount());
  }

  createSource(input: NewSource): SourceRecord {
    checkLimits(input);
    return this.books.sources.put(this.#newSource(input));
  }

  createCharge(input: NewCharge): ChargeRecord {
    const now = this.#now();
    checkLimits(input);
    if (input.expiresAt !== null && input.expiresAt <= now)
      throw new ApiError('bad_request', 'expires_at must be in the future.');
    const unused = typeof input.source === 'string' ? this.#unusedSource(input.source) : this.#newSource(input.source);
    if (unused.amount !== input.amount || unused.currency !== input.currency) {
      throw new ApiError('invalid_charge', 'amount and currency must match the source.');
    }
    const id = this.#id('chrg');
    const source = this.books.sources.put({ ...unused, chargeId: id });
    const fee = share(input.amount, this.#options.assumptions.feeBasisPoints);
    const charge = this.books.charges.put({
      id,
      createdAt: now,
      amount: input.amount,
      currency: input.currency,
      fee,
      feeVat: share(fee, this.#options.assumptions.vatBasisPoints),
      source,
      token: this.#random.stream('token').letters(24),
      documentId: this.#id('docu'),
      description: input.description,
      metadata: input.metadata,
      returnUri: input.returnUri,
      webhookEndpoints: input.webhookEndpoints,
      expiresAt: input.expiresAt ?? plus(now, this.#options.assumptions.expiresAfterMs),
      status: 'pending',
      paidAt: null,
      expiredAt: null,
      failureCode: null,
      transactionId: null,
      refunds: NO_REFUNDS,
      refundedAmount: 0,
      voided: false,
    });
    this.books.tokens.set(charge.token, id);
    this.#options.clock.at(charge.expiresAt, () => this.#passExpiry(id));
    this.#emit('charge.create', { object: 'charge', record: charge });
    return charge;
  }

  /** Cancels a charge that nobody paid. */
  expire(id: string): ChargeRecord {
    const charge = this.charge(id);
    if (charge.status !== 'pending')
      throw new ApiError('failed_expire', `A ${charge.status} charge cannot be expired.`);
    return this.#expired(charge);
  }

  /**
   * What the customer, or in test mode the dashboard, decides about a pending charge.
   * @param force also changes a charge that is no longer pending: a provider that says something else later.
   */
  settle(id: string, outcome: Outcome, force = false): ChargeRecord {
    const charge = this.charge(id);
    if (charge.status !== 'pending' && (!force || charge.paidAt !== null)) {
      const code = charge.status === 'expired' ? 'expired_charge' : 'invalid_charge';
      throw new ApiError(code, `The charge is no longer pending: it is ${charge.status}.`);
    }
    return outcome.status === 'successful' ? this.#paid(charge) : this.#failed(charge, outcome.failureCode);
  }

  refund(chargeId: string, input: NewRefund): RefundRecord {
    const charge = this.charge(chargeId);
    const { amount, net } = this.#refundable(charge, input);
    const now = this.#now();
    const id = this.#id('rfnd');
    const transaction = this.#transact(charge, 'debit', net, 'refund.create', id);
    const refund = this.books.refunds.put({
      id,
      createdAt: now,
      chargeId,
      amount,
      currency: charge.currency,
      transactionId: transaction.id,
      voided: input.void,
      metadata: input.metadata,
    });
    this.books.charges.put({
      ...charge,
      refunds: [...charge.refunds, refund],
      refundedAmount: charge.refundedAmount + amount,
      voided: input.void,
    });
    this.#emit('refund.create', { object: 'refund', record: refund });
    return refund;
  }

  updateAccount(change: Partial<AccountRecord>): AccountRecord {
    this.books.account = { ...this.books.account, ...change };
    return this.books.account;
  }

  /** @throws {ApiError} `not_found`. */
  source(id: string): SourceRecord {
    return found(this.books.sources.get(id), 'source', id);
  }

  /** The one charge that uses the source. */
  chargeOf(source: SourceRecord): ChargeRecord | null {
    return source.chargeId === null ? null : this.charge(source.chargeId);
  }

  /** @throws {ApiError} `not_found`. */
  charge(id: string): ChargeRecord {
    return found(this.books.charges.get(id), 'charge', id);
  }

  /** @throws {ApiError} `not_found`. */
  event(id: string): EventRecord {
    return found(this.books.events.get(id), 'event', id);
  }

  /** @throws {ApiError} `not_found`. */
  transaction(id: string): TransactionRecord {
    return found(this.books.transactions.get(id), 'transaction', id);
  }

  #now(): Instant {
    return this.#options.clock.now();
  }

  /** In test mode a marker follows the prefix. Source: API reference, "Conventions". */
  #id(prefix: string): string {
    return `${prefix}_${this.#options.livemode ? '' : 'test_'}${this.#random.stream(prefix).letters(19)}`;
  }

  #newAccount(): AccountRecord {
    const letters = this.#random.stream('account');
    return {
      id: `account_${letters.letters(19)}`,
      team: `acct_${letters.letters(19)}`,
      user: `user_${letters.letters(19)}`,
      createdAt: this.#now(),
      apiVersion: this.#options.assumptions.accountVersion,
      chainEnabled: false,
      zeroInterestInstallments: false,
      chainReturnUri: null,
      webhookUri: this.#options.webhookUri,
      metadataExportKeys: {},
    };
  }

  #newSource({ amount, currency, details }: NewSource): SourceRecord {
    return { id: this.#id('src'), createdAt: this.#now(), amount, currency, details, chargeId: null };
  }

  /** A source serves one charge. Source: assumption, "Source reuse". */
  #unusedSource(id: string): SourceRecord {
    const source = this.source(id);
    if (source.chargeId !== null)
      throw new ApiError('invalid_charge', 'The source was already used by another charge.');
    return source;
  }

  #paid(charge: ChargeRecord): ChargeRecord {
    const net = charge.amount - charge.fee - charge.feeVat;
    const transaction = this.#transact(charge, 'credit', net, 'charge.capture', charge.id);
    const paid: ChargeRecord = {
      ...charge,
      status: 'successful',
      paidAt: this.#now(),
      expiredAt: null,
      failureCode: null,
      transactionId: transaction.id,
    };
    return this.#completed(paid);
  }

  #failed(charge: ChargeRecord, failureCode: FailureCode): ChargeRecord {
    return this.#completed({ ...charge, status: 'failed', expiredAt: null, failureCode });
  }

  #completed(charge: ChargeRecord): ChargeRecord {
    this.books.charges.put(charge);
    this.#emit('charge.complete', { object: 'charge', record: charge });
    return charge;
  }

  #expired(charge: ChargeRecord): ChargeRecord {
    const expired = this.books.charges.put({ ...charge, status: 'expired', expiredAt: this.#now() });
    this.#emit('charge.expire', { object: 'charge', record: expired });
    return expired;
  }

  #passExpiry(id: string): void {
    const charge = this.books.charges.get(id);
    if (charge?.status !== 'pending') return;
    if (this.#options.assumptions.unpaidBecomes === 'failed') this.#failed(charge, 'payment_expired');
    else this.#expired(charge);
  }

  /** The amount that goes back to the customer and what the merchant's balance loses: a void gives the fee back. */
  #refundable(charge: ChargeRecord, input: NewRefund): { amount: number; net: number } {
    const now = this.#now();
    const rest = charge.amount - charge.refundedAmount;
    if (charge.paidAt === null) throw new ApiError('failed_refund', 'The charge was not paid.');
    if (input.void) {
      if (charge.refundedAmount > 0) throw new ApiError('failed_void', 'A refunded or voided charge cannot be voided.');
      if ((input.amount ?? charge.amount) !== charge.amount) {
        throw new ApiError('failed_void', 'Only the full amount can be voided.');
      }
      if (!isVoidable(charge.paidAt, now, this.#options.assumptions.voidRule)) {
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

  #transact(
    charge: ChargeRecord,
    direction: 'credit' | 'debit',
    amount: number,
    key: string,
    origin: string,
  ): TransactionRecord {
    const now = this.#now();
    const transferableAt = plus(now, this.#options.assumptions.transferableAfterMs);
    const id = this.#id('trxn');
    const { currency } = charge;
    return this.books.transactions.put({
      id,
      createdAt: now,
      amount,
      currency,
      direction,
      key,
      origin,
      transferableAt,
    });
  }

  #emit(key: string, subject: EventSubject): void {
    const chargeId = subject.object === 'charge' ? subject.record.id : subject.record.chargeId;
    const event: EventRecord = { id: this.#id('evnt'), createdAt: this.#now(), key, chargeId, subject };
    this.books.addEvent(event);
    this.#options.onEvent(event, this.charge(chargeId));
  }
}

function found<T>(record: T | undefined, kind: string, id: string): T {
  if (record === undefined) throw new ApiError('not_found', `No ${kind} ${id} was found.`);
  return record;
}

/** Source: API reference, "Limits"; the code is an assumption. */
function checkLimits(money: { amount: number; currency: Currency }): void {
  if (isWithinChargeLimits(money)) return;
  const { min, max } = chargeLimits(money.currency);
  throw new ApiError('invalid_amount', `amount must be from ${min} to ${max} for ${money.currency}.`);
}

/** A share of an amount in hundredths of a percent, rounded half up. Exact: amounts stay far below 2^53. */
function share(amount: number, basisPoints: number): number {
  return Math.floor((amount * basisPoints + 5_000) / 10_000);
}
