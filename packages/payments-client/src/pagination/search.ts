import { z } from 'zod';
import { SEARCH_PAGE_SIZE } from '../assumptions.js';
import { InvalidRequestError } from '../errors.js';
import type { RequestOptions } from '../options.js';
import { copyParamsForLater } from '../request/params.js';
import type { ListOrder } from './list.js';
import { Listing } from './listing.js';

/** Null is the empty string. Source: API reference, "Shared search parameters"; `order` and `page` are assumptions. */
export interface SearchParams<F> {
  /** The kind of record to search. Default: the records of this resource. */
  scope?: string | null | undefined;
  /** Words to search for. */
  query?: string | null | undefined;
  filters?: F | null | undefined;
  order?: ListOrder | null | undefined;
  /** 1 is the first page. A page has 30 records (assumption). */
  page?: number | null | undefined;
}

/** One page of a search result. Source: assumption "Search result". */
export interface Search<T> {
  /** `search`. */
  object?: string | null | undefined;
  scope?: string | null | undefined;
  query?: string | null | undefined;
  /** The filters in effect. */
  filters?: Record<string, unknown> | null | undefined;
  order?: ListOrder | null | undefined;
  /** 1 is the first page. */
  page?: number | null | undefined;
  /** Page size in effect. */
  per_page?: number | null | undefined;
  /** Number of records in all pages. */
  total?: number | null | undefined;
  total_pages?: number | null | undefined;
  /** Path of the search. */
  location?: string | null | undefined;
  data: T[];
}

/** The search envelope around records of one kind. */
export function searchOf<T>(record: z.ZodType<T>): z.ZodType<Search<T>> {
  return z.object({ data: z.array(record), per_page: z.int().nullish(), total_pages: z.int().nullish() });
}

/**
 * Reads a search result to its end, each record once. A search has no upper bound to pin. Records that are added
 * meanwhile may be found too. A record that stops matching the filters moves the pages, so that another may be missed.
 * @param readPage reads one page; nothing is read ahead
 */
export function iterateSearch<P extends SearchParams<unknown>, T extends { id: string }>(
  params: P,
  readPage: (params: P, options: RequestOptions) => Promise<Search<T>>,
  options: RequestOptions = {},
): Listing<T> {
  const requested = copyParamsForLater(params);
  const pageOptions = { ...options };
  return new Listing(async function* pages() {
    const params = requested();
    const first = params.page ?? 1;
    for (let page = first, totalPages = first; ; page += 1) {
      const found = await readPage({ ...params, page }, pageOptions).catch(endBeyond<T>(page > totalPages));
      yield found.data;
      totalPages = found.total_pages ?? page;
      const isFull = found.data.length >= (found.per_page ?? SEARCH_PAGE_SIZE);
      if (found.data.length === 0 || (!isFull && page >= totalPages)) return;
    }
  });
}

/**
 * After a full last page one more is read, because the total may be stale. A refusal of that page ends the result
 * (assumption).
 */
function endBeyond<T>(isBeyond: boolean): (error: unknown) => Search<T> {
  return (error) => {
    if (isBeyond && error instanceof InvalidRequestError && error.outcome === 'rejected') return { data: [] };
    throw error;
  };
}
