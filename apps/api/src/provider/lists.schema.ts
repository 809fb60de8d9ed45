import { z } from 'zod';
import { cursor, nextCursor, readableTime, timeBetween, wholeNumber } from '../shared/fields.schema.js';

/** The provider's list parameters, and Tillflow's cursor. Source: reference, "Shared list parameters". */
export const listFields = {
  from: readableTime.optional().meta({ description: 'Created at this time or later. Not after `to`' }),
  to: readableTime.optional().meta({ description: 'Created before this time' }),
  offset: wholeNumber(0, 1_000_000).optional().meta({ description: 'Records to skip. Not together with `cursor`' }),
  limit: wholeNumber(1, 100).optional().meta({ description: 'Page size. Default: 20' }),
  order: z.enum(['chronological', 'reverse_chronological']).optional(),
  cursor: cursor.optional().meta({
    description:
      'The `next_cursor` of the page before, with the same other parameters. Records that were added after the first page do not appear',
  }),
};

type Bounds = {
  readonly from?: string | undefined;
  readonly to?: string | undefined;
  readonly offset?: number | undefined;
  readonly cursor?: string | undefined;
};

/** Refuses two places in one list, and an end before the beginning. */
export const asList = <T extends z.ZodType<Bounds>>(query: T) =>
  query
    .refine(({ offset, cursor: place }) => offset === undefined || place === undefined, {
      error: 'cannot be sent with a cursor',
      path: ['offset'],
    })
    .refine(({ from, to }) => from === undefined || to === undefined || (timeBetween(from, to) ?? 0) >= 0, {
      error: 'must not be before from',
      path: ['to'],
    });

export const listQuery = asList(z.strictObject(listFields));
export type ListQuery = z.output<typeof listQuery>;

const NOT_SEARCHED = ['from', 'to', 'offset', 'limit'] as const;

/** Refuses parameters that the provider's search does not have. */
export const asSearchableList = <T extends z.ZodType<Bounds & { readonly limit?: number | undefined }>>(
  query: T,
  isSearch: (given: z.output<T>) => boolean,
) =>
  asList(query).refine((given) => !isSearch(given) || NOT_SEARCHED.every((name) => given[name] === undefined), {
    error: 'from, to, offset and limit cannot be sent with a search',
    path: ['limit'],
  });

/** One page of the provider's records. Each record is passed on as it came, with fields that are not described here. */
export const pageOf = <T extends z.ZodType>(record: T, id: string) =>
  z
    .object({
      data: z.array(record),
      next_cursor: nextCursor,
      total: z.int().nullable().meta({ description: 'Records on all pages, as the provider counts them' }),
    })
    .meta({ id });

/** One page of records, and how to read on. */
export type Page<T> = {
  readonly data: readonly T[];
  readonly next_cursor: string | null;
  readonly total: number | null;
};
