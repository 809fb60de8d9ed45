import { z } from 'zod';
import type { RequestOptions } from '../../options.js';
import { iterateList, type List, listOf, type ListParams } from '../../pagination/list.js';
import type { Listing } from '../../pagination/listing.js';
import { iterateSearch, type Search, searchOf, type SearchParams } from '../../pagination/search.js';
import { path } from '../../request/path.js';
import { Resource } from '../resource.js';
import { type Receipt, receipt, type ReceiptId } from './schema.js';

/** Source: API reference, "Receipts". */
export interface ReceiptFilters {
  /** ISO 8601 or a `Date`. Matches the records of that UTC day (assumption). */
  created?: string | Date | null | undefined;
}

/** `scope` is `receipt` by default. Source: API reference, "Receipts". */
export type ReceiptSearchParams = SearchParams<ReceiptFilters>;

const receiptList = listOf(receipt);
/** The reference says that a search answers in the shape of a receipt. Such a reply is read as a page of one. */
const foundReceipts: z.ZodType<Search<Receipt> | Receipt> = z.union([searchOf(receipt), receipt]);

/** Statements of fees and taxes, read-only. Source: API reference, "Receipts". */
export class Receipts extends Resource {
  list(params?: ListParams, options?: RequestOptions): Promise<List<Receipt>> {
    return this.http.get(path`/receipts`, params, receiptList, options);
  }

  iterate(params: ListParams = {}, options?: RequestOptions): Listing<Receipt> {
    return iterateList(params, this.http, (page, each) => this.list(page, each), options);
  }

  retrieve(id: ReceiptId, options?: RequestOptions): Promise<Receipt> {
    return this.http.get(path`/receipts/${id}`, undefined, receipt, options);
  }

  /**
   * One page of the receipts found.
   * @throws {InvalidRequestError} `invalid_scope`, `invalid_filters`, `invalid_page`
   */
  async search(params?: ReceiptSearchParams, options?: RequestOptions): Promise<Search<Receipt>> {
    // The segment is repeated in the reference too.
    const found = await this.http.get(path`/receipts/receipts/search`, params, foundReceipts, options);
    return 'data' in found ? found : { data: [found] };
  }

  iterateSearch(params: ReceiptSearchParams = {}, options?: RequestOptions): Listing<Receipt> {
    return iterateSearch(params, (page, each) => this.search(page, each), options);
  }
}
