import type { RequestOptions } from '../../options.js';
import { iterateList, type List, listOf, type ListParams } from '../../pagination/list.js';
import type { Listing } from '../../pagination/listing.js';
import { path } from '../../request/path.js';
import { Resource } from '../resource.js';
import { type Transaction, transaction, type TransactionId } from './schema.js';

const transactionList = listOf(transaction);

/** Movements of the balance. Source: API reference, "Transactions". */
export class Transactions extends Resource {
  list(params?: ListParams, options?: RequestOptions): Promise<List<Transaction>> {
    return this.http.get(path`/transactions`, params, transactionList, options);
  }

  iterate(params: ListParams = {}, options?: RequestOptions): Listing<Transaction> {
    return iterateList(params, this.http, (page, each) => this.list(page, each), options);
  }

  retrieve(id: TransactionId, options?: RequestOptions): Promise<Transaction> {
    return this.http.get(path`/transactions/${id}`, undefined, transaction, options);
  }
}
