import { parseInstant } from '@tillflow/domain';
import { z } from 'zod';

/** ISO 8601. */
export const time = z.iso.datetime({ offset: true });

/** A time that every part of the system can read. */
export const readableTime = time.refine(isReadable, 'is not a time from the years 1 to 9999');

/** A lone half of a character pair, or a control character, is no text that a provider could keep. */
const UNREADABLE_TEXT = /[\p{Cs}\p{Cc}]/u;

export const text = (max: number) =>
  z
    .string()
    .max(max)
    .refine((value) => !UNREADABLE_TEXT.test(value), 'must be text without control characters');

/** How who asked is spelt. */
export const ASKER =
  'the name of an API key, `cli:<user>` for the command line, `auto:<why>` for Tillflow itself, `temporal:cancel` for a cancellation in Temporal';

const MAX_METADATA = 20;
/** Brackets would nest in the provider's forms. */
const METADATA_NAME = /^[A-Za-z0-9._-]{1,64}$/;

/** The caller's own values on a record of the provider's. @param ours names that only the product sets */
export const metadataFields = (ours: readonly string[]) =>
  z
    .record(z.string().regex(METADATA_NAME, '1 to 64 of A-Z a-z 0-9 . _ -'), text(200))
    .refine((entries) => Object.keys(entries).length <= MAX_METADATA, `at most ${MAX_METADATA} values`)
    .refine((entries) => !Object.keys(entries).some((name) => ours.includes(name)), {
      error: `the names ${ours.join(', ')} are ours`,
    });

/**
 * From `from` to `to`, in milliseconds; null when one of them is not a time. A refinement of an object also runs on
 * fields that were refused already.
 */
export function timeBetween(from: string, to: string): number | null {
  try {
    return parseInstant(to) - parseInstant(from);
  } catch {
    return null;
  }
}

function isReadable(value: string): boolean {
  return timeBetween(value, value) !== null;
}
