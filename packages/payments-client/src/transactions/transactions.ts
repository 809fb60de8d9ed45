import type { Listing } from '../listing.js';
import type { RequestOptions } from '../options.js';
import { iteratePages, type List, listOf, type ListParams } from '../paging.js';
import { path } from '../path.js';
import type { Transport } from '../transport.js';
import { type Transaction, transaction, type TransactionId } from './schema.js';

const transactionList = listOf(transaction);

/** Movements of the balance. Source: API reference, "Transactions". */
export class Transactions {
  readonly #http: Transport;

  constructor(http: Transport) {
    this.#http = http;
  }

  /** One page of transactions. */
  list(params?: ListParams, options?: RequestOptions): Promise<List<Transaction>> {
    return this.#http.get(path`/transactions`, params, transactionList, options);
  }

  /** Every transaction, each once. `options` holds for each page. */
  iterate(params: ListParams = {}, options?: RequestOptions): Listing<Transaction> {
    return iteratePages(params, this.#http, (page, each) => this.list(page, each), options);
  }

  retrieve(id: TransactionId, options?: RequestOptions): Promise<Transaction> {
    return this.#http.get(path`/transactions/${id}`, undefined, transaction, options);
  }
}
