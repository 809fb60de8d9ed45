declare const instantBrand: unique symbol;

/** A point in time: whole milliseconds since 1970-01-01T00:00:00.000Z. */
export type Instant = number & { readonly [instantBrand]: true };

/** The bounds of an ISO 8601 date with a four-digit year. */
const EARLIEST = Date.parse('0001-01-01T00:00:00.000Z');
const LATEST = Date.parse('9999-12-31T23:59:59.999Z');

/** @throws {RangeError} when `milliseconds` is not a whole number within the years 1 to 9999. */
export function instant(milliseconds: number): Instant {
  if (!Number.isSafeInteger(milliseconds) || milliseconds < EARLIEST || milliseconds > LATEST) {
    throw new RangeError(`Not an instant: ${milliseconds}`);
  }
  return milliseconds as Instant;
}

const ISO_DATE_TIME = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}(?::\d{2}(?:\.\d{1,9})?)?(?:Z|[+-]\d{2}:\d{2})$/;

/**
 * Reads an ISO 8601 date-time with a zone.
 * @throws {RangeError} for any other text: a date-time without a zone would depend on the machine.
 */
export function parseInstant(text: string): Instant {
  const milliseconds = ISO_DATE_TIME.test(text) && isCalendarDay(text.slice(0, 10)) ? Date.parse(text) : Number.NaN;
  if (Number.isNaN(milliseconds)) throw new RangeError(`Not an ISO 8601 date-time with a zone: ${text}`);
  return instant(milliseconds);
}

/** Whether {@link parseInstant} reads the text. */
export function isInstant(text: string): boolean {
  try {
    parseInstant(text);
    return true;
  } catch {
    return false;
  }
}

/** JavaScript reads 30 February as 2 March. */
function isCalendarDay(day: string): boolean {
  const midnight = new Date(`${day}T00:00:00Z`);
  return !Number.isNaN(midnight.getTime()) && midnight.toISOString().startsWith(day);
}

/** ISO 8601 in UTC with milliseconds, as the API writes every time. */
export function formatInstant(at: Instant): string {
  return new Date(at).toISOString();
}

/** @throws {RangeError} when the result leaves the years 1 to 9999. */
export function plus(at: Instant, milliseconds: number): Instant {
  return instant(at + milliseconds);
}
