import { CHECKOUT_ID, CURRENCIES, parseInstant } from '@tillflow/domain';
import { z } from 'zod';

// Fields that several routes share. A rule that zod cannot put into JSON Schema stands in `meta`, beside its check.

/** ISO 8601. */
export const time = z.iso.datetime({ offset: true });

/** Within the years 1 to 9999 with any offset: without the first and the last day of these years. */
const READABLE = /^(?!0000|0001-01-01|9999-12-31)\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(\.\d{1,9})?(Z|[+-]\d{2}:\d{2})$/;

/** A time that every part of the system can read. */
export const readableTime = time
  .refine(
    (value) => READABLE.test(value) && timeBetween(value, value) !== null,
    'is not a time from the years 1 to 9999',
  )
  .meta({
    format: 'date-time',
    pattern: READABLE.source,
    examples: ['2026-11-20T00:00:00Z'],
  });

/** Control characters, in any notation of a JSON Schema pattern. */
const NO_CONTROL = '[^\\u0000-\\u001f\\u007f-\\u009f]';

/**
 * Text without control characters or lone surrogates, which the provider could not store.
 * @param max characters (code points), as JSON Schema counts them
 */
export const text = (max: number, min = 0) =>
  z
    .string()
    .regex(new RegExp(`^.{${min},${max}}$`, 'su'), `must have ${min} to ${max} characters`)
    .refine((value) => !/[\p{Cs}\p{Cc}]/u.test(value), 'must be text without control characters')
    .meta({ minLength: min, maxLength: max, pattern: `^${NO_CONTROL}*$` });

/** An amount of money. The currency stands beside it. */
export const amount = z.int().meta({ description: 'In the smallest currency unit' });

/** A currency of an answer. */
export const currency = z.string().meta({ pattern: '^[A-Z]{3}$' });

/** A currency of a payment. Others are refused with a problem of their own, `unsupported_currency`. */
export const paymentCurrency = z.string().length(3).meta({ enum: CURRENCIES });

/** The id of a checkout. Any other text is an id that no checkout has. */
export const checkoutId = z
  .string()
  .max(128)
  .meta({ pattern: CHECKOUT_ID.source, examples: ['chk_default_till-7-000142'] });

/** An id that the provider gives. It may stand in a path. */
export const providerId = z.string().regex(/^[A-Za-z0-9_-]{1,64}$/, '1 to 64 of A-Z a-z 0-9 _ -');

/** What an `Idempotency-Key` can be. A space or a comma with a space would be two headers in one. */
export const keyText = z.string().regex(/^[\x21-\x7e]{1,128}$/, 'must be 1 to 128 visible ASCII characters');

/**
 * The place where the next page begins. The API signs it: only a cursor that the API made for the same list is valid.
 */
export const cursor = z.string().max(4_096).meta({ pattern: '^\\d\\.[A-Za-z0-9_-]*\\.[A-Za-z0-9_-]{43}$' });

export const nextCursor = cursor
  .nullable()
  .meta({ description: 'Send it as `cursor` for the next page. Null: the last page' });

/** A whole number in a query. */
export const wholeNumber = (min: number, max: number) =>
  z
    .string()
    .regex(/^\d{1,12}$/, 'must be a whole number')
    .transform(Number)
    .pipe(z.int().min(min).max(max));

/** The forms of a requester's name, for descriptions. */
export const ASKER =
  'the name of an API key, `counter:<link>:<till>` for the counter, `cli:<user>` for the command line, `auto:<why>` for Tillflow itself, `temporal:cancel` for a cancellation in Temporal';

const MAX_METADATA = 20;

/** The caller's own values on a record of the provider. Brackets in a name would nest in the provider's forms. */
export const metadataFields = (reserved: readonly string[]) =>
  z
    .record(z.string().regex(/^[A-Za-z0-9._-]{1,64}$/, '1 to 64 of A-Z a-z 0-9 . _ -'), text(200))
    .refine((entries) => Object.keys(entries).length <= MAX_METADATA, `at most ${MAX_METADATA} values`)
    .refine((entries) => !reserved.some((name) => Object.hasOwn(entries, name)), {
      error: `Tillflow sets the names ${reserved.join(', ')} itself`,
    })
    .meta({
      maxProperties: MAX_METADATA,
      propertyNames: { pattern: `^(?!(?:${reserved.join('|')})$)[A-Za-z0-9._-]{1,64}$` },
    });

/** Refuses a change without a field. */
export const withAnyField = <T extends z.ZodType<object>>(change: T) =>
  change.refine((given) => Object.keys(given).length > 0, 'needs at least one field').meta({ minProperties: 1 });

/** Refuses an object that has both or none of two fields. */
export const withOneOf = <T extends z.ZodType<object>>(object: T, one: string, other: string) =>
  object
    .refine((given: object) => Object.hasOwn(given, one) !== Object.hasOwn(given, other), {
      error: `needs ${one} or ${other}, one of them`,
      path: [one],
    })
    .meta({ allOf: [{ oneOf: [{ required: [one] }, { required: [other] }] }] });

/**
 * From `from` to `to`, in milliseconds. Null when one of them is not a time: zod also runs the refinement of an object
 * whose fields it has refused.
 */
export function timeBetween(from: string, to: string): number | null {
  try {
    return parseInstant(to) - parseInstant(from);
  } catch {
    return null;
  }
}
