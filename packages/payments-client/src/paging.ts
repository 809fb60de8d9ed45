import { z } from 'zod';
import { MAX_PAGE_SIZE } from './assumptions.js';
import { UnexpectedResponseError } from './errors.js';

/** Page order. `reverse_chronological` is an assumption; the reference shows only the default. */
export type ListOrder = 'chronological' | 'reverse_chronological' | (string & {});

/** Source: API reference, "Shared list parameters". */
export interface ListParams {
  /** Lower bound of creation, ISO 8601 or a `Date`. Default: 1970. */
  from?: string | Date | undefined;
  /** Upper bound of creation, ISO 8601 or a `Date`. Default: none. */
  to?: string | Date | undefined;
  /** Default 0. */
  offset?: number | undefined;
  /** Page size. Default 20; above 100 it is lowered to 100 (assumption). */
  limit?: number | undefined;
  /** Default `chronological`. */
  order?: ListOrder | undefined;
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

/** A list that ignores `offset` would be read for ever. */
const MAX_PAGES_WITHOUT_NEWS = 20;

/**
 * Reads a list to its end, each record once, while records are being added: the upper bound is pinned to `now`, the
 * offset moves by what each page really held, and a record that came before is dropped. `total` alone never ends it.
 * @param now epoch milliseconds; the upper bound where `params.to` gives none
 * @param readPage reads one page; nothing is read ahead
 */
export async function* iteratePages<T extends { id: string }>(
  params: ListParams,
  now: number,
  readPage: (params: ListParams) => Promise<List<T>>,
): AsyncGenerator<T, void, undefined> {
  const limit = Math.min(params.limit ?? MAX_PAGE_SIZE, MAX_PAGE_SIZE);
  const to = params.to ?? new Date(now);
  const seen = new Set<string>();
  let offset = params.offset ?? 0;
  for (let pagesWithoutNews = 0; pagesWithoutNews < MAX_PAGES_WITHOUT_NEWS;) {
    const page = await readPage({ ...params, to, limit, offset });
    const before = seen.size;
    for (const record of page.data) {
      if (seen.has(record.id)) continue;
      seen.add(record.id);
      yield record;
    }
    offset += page.data.length;
    pagesWithoutNews = seen.size === before ? pagesWithoutNews + 1 : 0;
    if (page.data.length === 0 || (page.data.length < (page.limit ?? limit) && page.total === offset)) return;
  }
  throw new UnexpectedResponseError(`The list repeats itself: ${MAX_PAGES_WITHOUT_NEWS} pages brought nothing new.`, {
    code: 'list_does_not_advance',
    outcome: 'unknown',
    retryable: false,
  });
}
