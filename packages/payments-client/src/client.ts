import { inspect } from 'node:util';
import { RequestSender } from './http/request-sender.js';
import { type PaymentsClientOptions, resolveSettings } from './options.js';
import { AccountSettings } from './resources/account/account.js';
import { Charges } from './resources/charges/charges.js';
import { Customers } from './resources/customers/customers.js';
import { Disputes } from './resources/disputes/disputes.js';
import { Events } from './resources/events/events.js';
import { Receipts } from './resources/receipts/receipts.js';
import { ChargeSchedules } from './resources/schedules/charge-schedules.js';
import { Schedules } from './resources/schedules/schedules.js';
import { TransferSchedules } from './resources/schedules/transfer-schedules.js';
import { Sources } from './resources/sources/sources.js';
import { Transactions } from './resources/transactions/transactions.js';

/**
 * Client of the payments service. One instance serves a whole process. It keeps connections open between calls, and
 * these do not keep the process running. Every failure of a call is a {@link PaymentsError}, whose `outcome` says
 * whether the request had no effect or whether that is unknown.
 */
export class PaymentsClient {
  readonly sources: Sources;
  readonly charges: Charges;
  readonly events: Events;
  readonly transactions: Transactions;
  readonly receipts: Receipts;
  readonly schedules: Schedules;
  readonly chargeSchedules: ChargeSchedules;
  readonly transferSchedules: TransferSchedules;
  readonly account: AccountSettings;
  readonly disputes: Disputes;
  readonly customers: Customers;
  readonly #http: RequestSender;

  /** @throws {ConfigurationError} listing every mistake in the settings */
  constructor(options: PaymentsClientOptions) {
    this.#http = new RequestSender(resolveSettings(options));
    this.sources = new Sources(this.#http);
    this.charges = new Charges(this.#http);
    this.events = new Events(this.#http);
    this.transactions = new Transactions(this.#http);
    this.receipts = new Receipts(this.#http);
    this.schedules = new Schedules(this.#http);
    this.chargeSchedules = new ChargeSchedules(this.#http);
    this.transferSchedules = new TransferSchedules(this.#http);
    this.account = new AccountSettings(this.#http);
    this.disputes = new Disputes(this.#http);
    this.customers = new Customers(this.#http);
  }

  /**
   * Lets calls in flight finish, refuses later ones and those that wait for the request limit (`client_closed`), and
   * closes the sockets. The caller's own `dispatcher` stays open.
   */
  close(): Promise<void> {
    return this.#http.close();
  }

  /** The client's address, and never its keys. */
  toJSON(): object {
    return this.#http.toJSON();
  }

  [inspect.custom](): string {
    return `PaymentsClient ${inspect(this.toJSON())}`;
  }
}
