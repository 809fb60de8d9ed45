import type { Random } from '../random.js';
import type { EventRecord } from '../records/events.js';
import type { AccountRecord, TransactionRecord } from '../records/records.js';
import type { Records } from '../records/store.js';
import { found, ProviderContext, type ContextOptions } from './context.js';
import { Customers } from './customers.js';
import { Disputes } from './disputes.js';
import { Payments } from './payments.js';
import { Receipts } from './receipts.js';
import { Refunds } from './refunds.js';
import { Schedules } from './schedules.js';

/** The provider's rules, one part for each kind of record. */
export class Provider {
  readonly customers: Customers;
  readonly disputes: Disputes;
  readonly payments: Payments;
  readonly receipts: Receipts;
  readonly refunds: Refunds;
  readonly schedules: Schedules;
  readonly #context: ProviderContext;

  constructor(random: Random, options: ContextOptions) {
    this.#context = new ProviderContext(random, options);
    this.customers = new Customers(this.#context);
    this.disputes = new Disputes(this.#context);
    this.payments = new Payments(this.#context);
    this.refunds = new Refunds(this.#context, this.payments);
    this.receipts = new Receipts(this.#context);
    this.schedules = new Schedules(this.#context, this.customers, (charge) => this.payments.chargeCard(charge));
    this.receipts.start();
  }

  get records(): Records {
    return this.#context.records;
  }

  /** Deletes all records. A new `random` starts the ids again. Reset the clock first. */
  reset(random: Random): void {
    this.#context.reset(random);
    this.receipts.start();
  }

  /** An id that no other record has. */
  newId(prefix: string): string {
    return this.#context.id(prefix);
  }

  updateAccount(change: Partial<AccountRecord>): AccountRecord {
    this.records.account = { ...this.records.account, ...change };
    return this.records.account;
  }

  /** @throws {ApiError} `not_found`. */
  event(id: string): EventRecord {
    return found(this.records.events.get(id), 'event', id);
  }

  /** @throws {ApiError} `not_found`. */
  transaction(id: string): TransactionRecord {
    return found(this.records.transactions.get(id), 'transaction', id);
  }
}
