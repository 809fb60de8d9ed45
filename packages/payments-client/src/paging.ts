import { z } from 'zod';
import { MAX_PAGE_SIZE } from './assumptions.js';
import { Listing } from './listing.js';
import type { RequestOptions } from './options.js';
import { snapshotForLater } from './params.js';

/** Page order. `reverse_chronological` is an assumption; the reference shows only the default. */
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

/** Whose clock bounds a list. Both in milliseconds. */
interface Time {
  now(): number;
  /** 0 when the provider's clock is not ahead. */
  ahead(): number;
}

/** A reply is dated in whole seconds: two of one clock may differ by as much. */
const DATE_STEP_MS = 1_000;

/**
 * Reads a list to its end, each record once, while records are being added: the upper bound is pinned to `now`, the
 * offset moves by what each page really held, and a record that came before is dropped. `total` alone never ends it.
 * A provider whose clock turns out to be ahead is asked for the first page once more, up to its own time: what it made
 * just before the call would lie in our future.
 * @param time the caller's clock, and how far the provider's is ahead of it; the upper bound where `params.to` gives none
 * @param readPage reads one page; nothing is read ahead
 */
export function iteratePages<T extends { id: string }>(
  params: ListParams,
  time: Time,
  readPage: (params: ListParams, options: RequestOptions) => Promise<List<T>>,
  options: RequestOptions = {},
): Listing<T> {
  const asked = snapshotForLater(params);
  const optionsThen = { ...options };
  const calledAt = time.now();
  let ahead = time.ahead();
  let isFirst = true;
  return new Listing(async function* pages() {
    const { to: upTo, offset: first, limit: pageSize, ...others } = asked();
    const limit = Math.min(pageSize ?? MAX_PAGE_SIZE, MAX_PAGE_SIZE);
    for (let offset = first ?? 0; ;) {
      const to = upTo ?? new Date(calledAt + ahead);
      const page = await readPage({ ...others, to, limit, offset }, optionsThen);
      if (isFirst && (upTo ?? null) === null && time.ahead() > ahead + DATE_STEP_MS) {
        ahead = time.ahead();
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
