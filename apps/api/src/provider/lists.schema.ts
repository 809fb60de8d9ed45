import { z } from 'zod';
import { readableTime, timeBetween } from '../checkouts/fields.js';

/** An id of the provider's, as it may stand in a path: letters, digits, `_` and `-`. */
export const providerId = z.string().regex(/^[A-Za-z0-9_-]{1,64}$/, '1 to 64 of A-Z a-z 0-9 _ -');

const count = (min: number, max: number) =>
  z
    .string()
    .regex(/^\d{1,7}$/, 'must be a whole number')
    .transform(Number)
    .pipe(z.int().min(min).max(max));

const MAX_OFFSET = 1_000_000;

/** The provider's list parameters, and our cursor. Source: reference, "Shared list parameters". */
export const listFields = {
  from: readableTime.optional().meta({ description: 'Lower bound of creation' }),
  to: readableTime.optional().meta({ description: 'Upper bound of creation' }),
  offset: count(0, MAX_OFFSET).optional().meta({ description: 'Records passed over; not together with `cursor`' }),
  limit: count(1, 100).optional().meta({ description: 'Page size, 1 to 100; 20 when left out' }),
  order: z.enum(['chronological', 'reverse_chronological']).optional(),
  cursor: z.string().max(4_096).optional().meta({
    description:
      'The `next_cursor` of the page before, sent with the same other parameters. The upper bound stays what it was then',
  }),
};

type Bounds = {
  readonly from?: string | undefined;
  readonly to?: string | undefined;
  readonly offset?: number | undefined;
  readonly cursor?: string | undefined;
};

/** Refuses what contradicts itself: two places in one list, an end before the beginning. */
export const asList = <T extends z.ZodType<Bounds>>(query: T) =>
  query
    .refine(({ offset, cursor }) => offset === undefined || cursor === undefined, {
      error: 'is not for a request with a cursor',
      path: ['offset'],
    })
    .refine(({ from, to }) => from === undefined || to === undefined || (timeBetween(from, to) ?? 0) >= 0, {
      error: 'must not be before from',
      path: ['to'],
    });

export const listQuery = asList(z.strictObject(listFields));
export type ListQuery = z.output<typeof listQuery>;

/** One page of the provider's records. Each is passed on as it came, with fields that are not documented here. */
export const pageOf = <T extends z.ZodType>(record: T, id: string) =>
  z
    .object({
      data: z.array(record),
      next_cursor: z.string().nullable(),
      total: z.int().nullable().meta({ description: 'Records in all pages, as the provider counts them' }),
    })
    .meta({ id });

/** One page of records, and how to read on. */
export type Page<T> = {
  readonly data: readonly T[];
  readonly next_cursor: string | null;
  readonly total: number | null;
};
