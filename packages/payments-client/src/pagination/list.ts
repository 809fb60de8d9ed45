import { z } from 'zod';
import { MAX_PAGE_SIZE } from '../assumptions.js';
import type { RequestOptions } from '../options.js';
import { copyParamsForLater } from '../request/params.js';
import { Listing } from './listing.js';

/** Order of the records. `reverse_chronological` is an assumption; the reference shows only the default. */
export type ListOrder = 'chronological' | 'reverse_chronological' | (string & {});

/** Null is the empty string. Source: API reference, "Shared list parameters". */
export interface ListParams {
  /** Lower bound of creation, ISO 8601 or a `Date`. Default: 1970. */
  from?: string | Date | null | undefined;
  /** Upper bound of creation, ISO 8601 or a `Date`. Default: none. */
  to?: string | Date | null | undefined;
  /** Default 0. */
  offset?: number | null | undefined;
  /** Page size. Default 20; above 100 it is lowered to 100 (assumption). */
  limit?: number | null | undefined;
  /** Default `chronological`. */
  order?: ListOrder | null | undefined;
}

/** One page. Source: API reference, "List envelope". */
export interface List<T> {
  object?: string | null | undefined;
  data: T[];
  /** Page size in effect. */
  limit?: number | null | undefined;
  offset?: number | null | undefined;
  /** Number of records in all pages. */
  total?: number | null | undefined;
  location?: string | null | undefined;
  order?: ListOrder | null | undefined;
  /** ISO 8601, UTC. */
  from?: string | null | undefined;
  /** ISO 8601, UTC. */
  to?: string | null | undefined;
}

/** The list envelope around records of one kind. */
export function listOf<T>(record: z.ZodType<T>): z.ZodType<List<T>> {
  return z.object({ data: z.array(record), limit: z.int().nullish(), total: z.int().nullish() });
}

/** Both in milliseconds. */
interface Clocks {
  /** This machine's clock. */
  now(): number;
  /** How far the provider's clock is ahead of it; 0 when it is not. */
  providerAheadMs(): number;
}

/** Dates of replies have whole seconds: two dates of the same clock may differ by as much. */
const DATE_STEP_MS = 1_000;

/**
 * Reads a list to its end, each record once, while records are being added. It pins the upper bound to the time of the
 * call, moves the offset by what each page really held, and drops a record that came before. `total` alone never ends
 * it. When the first reply shows that the provider's clock is ahead, it reads that page again up to the provider's
 * time: otherwise it would miss what the provider made just before the call.
 * @param clocks give the upper bound where `params.to` gives none
 * @param readPage reads one page; nothing is read ahead
 */
export function iterateList<T extends { id: string }>(
  params: ListParams,
  clocks: Clocks,
  readPage: (params: ListParams, options: RequestOptions) => Promise<List<T>>,
  options: RequestOptions = {},
): Listing<T> {
  const requested = copyParamsForLater(params);
  const pageOptions = { ...options };
  const calledAt = clocks.now();
  let aheadMs = clocks.providerAheadMs();
  let isFirst = true;
  return new Listing(async function* pages() {
    const { to: upTo, offset: first, limit: pageSize, ...others } = requested();
    const limit = Math.min(pageSize ?? MAX_PAGE_SIZE, MAX_PAGE_SIZE);
    for (let offset = first ?? 0; ;) {
      const to = upTo ?? new Date(calledAt + aheadMs);
      const page = await readPage({ ...others, to, limit, offset }, pageOptions);
      if (isFirst && (upTo ?? null) === null && clocks.providerAheadMs() > aheadMs + DATE_STEP_MS) {
        aheadMs = clocks.providerAheadMs();
        isFirst = false;
        continue;
      }
      isFirst = false;
      yield page.data;
      offset += page.data.length;
      if (page.data.length === 0 || (page.data.length < (page.limit ?? limit) && page.total === offset)) return;
    }
  });
}
