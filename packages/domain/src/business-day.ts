import { formatInstant, instant, plus, type Instant } from './instant.js';

// Uses `Intl`, whose zones depend on the machine: never call it from a workflow.

/** How a shop divides time into business days. */
export type BusinessDayRule = {
  /** An IANA name, such as `Asia/Bangkok`. */
  readonly timeZone: string;
  /** `HH:MM` on the zone's clock: when a business day begins. */
  readonly start: string;
};

/** A business day: the instants at or after `from` and before `to`. */
export type BusinessDay = {
  /** `YYYY-MM-DD`: the date on which it begins. */
  readonly date: string;
  readonly from: Instant;
  readonly to: Instant;
};

/** The calendar's days in UTC. */
export const UTC_DAYS: BusinessDayRule = { timeZone: 'UTC', start: '00:00' };

const MINUTE = 60_000;
const DAY = 24 * 60 * MINUTE;
/**
 * The clock of every zone differs from UTC by less than this, also when a zone skips a whole day. Source: the tz
 * database.
 */
const FARTHEST = 1.5 * DAY;
const PROBE = DAY / 2;
const DATE = /^\d{4}-\d{2}-\d{2}$/;

/**
 * Whether this is the IANA name of a time zone. `Intl` also accepts offsets such as +07:00, which follow no daylight
 * saving.
 */
export function isTimeZone(name: string): boolean {
  if (!/^[A-Za-z]/.test(name)) return false;
  try {
    return new Intl.DateTimeFormat('en', { timeZone: name }).resolvedOptions().timeZone !== '';
  } catch {
    return false;
  }
}

/** Whether this is a `HH:MM` from 00:00 to 23:59. */
export function isTimeOfDay(text: string): boolean {
  return /^(?:[01]\d|2[0-3]):[0-5]\d$/.test(text);
}

/** Whether this is a `YYYY-MM-DD` of the calendar, from 1970 to 9998. */
export function isBusinessDate(text: string): boolean {
  return text >= '1970-01-01' && text < '9999' && isCalendarDate(text);
}

/** Whether this is a `YYYY-MM-DD` of the calendar. */
export function isCalendarDate(text: string): boolean {
  if (!DATE.test(text)) return false;
  const midnight = new Date(`${text}T00:00:00Z`);
  return !Number.isNaN(midnight.getTime()) && midnight.toISOString().startsWith(text);
}

/**
 * A business day begins at the first instant at which the zone's clock shows its date and start, or later. So a start
 * that the clock skips begins the day at the end of the gap, and of a start that the clock shows twice the first one
 * counts. A day ends where the next one begins: it has 23 or 25 hours when the clock changes. A date that the zone
 * skips (Pacific/Apia, 2011-12-30) is an empty day: `from` equals `to`.
 * @param date satisfies {@link isBusinessDate}
 */
export function businessDay(date: string, rule: BusinessDayRule): BusinessDay {
  return { date, from: beginningOf(date, rule), to: beginningOf(addDays(date, 1), rule) };
}

/** The business day that contains an instant. No skipped date is ever the answer. */
export function businessDayOf(at: Instant, rule: BusinessDayRule): BusinessDay {
  // A day later than the calendar's can only have begun where the clock went back over midnight.
  const local = dateOf(at + offsetAt(rule.timeZone, at));
  for (let date = addDays(local, 1); ; date = addDays(date, -1)) {
    const day = businessDay(date, rule);
    if (day.from <= at && at < day.to) return day;
  }
}

/** Finds the business days of many instants. Instants of the same few days cost no call of `Intl`. */
export function businessDayFinder(rule: BusinessDayRule): (at: Instant) => BusinessDay {
  let known: readonly BusinessDay[] = [];
  return (at) => {
    const found = known.find(({ from, to }) => from <= at && at < to);
    if (found !== undefined) return found;
    const day = businessDayOf(at, rule);
    known = [day, ...known].slice(0, 8);
    return day;
  };
}

/** The last business day that has ended at `at`. */
export function lastEndedDay(at: Instant, rule: BusinessDayRule): BusinessDay {
  return businessDayOf(plus(businessDayOf(at, rule).from, -1), rule);
}

/**
 * The latest time of a UTC day, in milliseconds after midnight, at which a business day begins in the year that begins
 * at `at`: the clocks of summer and winter differ.
 */
export function latestBeginning({ timeZone, start }: BusinessDayRule, at: Instant): number {
  const offsets = Array.from({ length: 366 }, (_, days) => offsetAt(timeZone, at + days * DAY));
  const latest = minutesOf(start) * MINUTE - Math.min(...offsets);
  return ((latest % DAY) + DAY) % DAY;
}

/** @param days may be negative */
export function addDays(date: string, days: number): string {
  return dateOf(Date.parse(`${date}T00:00:00Z`) + days * DAY);
}

function beginningOf(date: string, { timeZone, start }: BusinessDayRule): Instant {
  const shown = Date.parse(`${date}T00:00:00Z`) + minutesOf(start) * MINUTE;
  const offsets = new Set<number>();
  for (let at = shown - FARTHEST; at <= shown + FARTHEST; at += PROBE) offsets.add(offsetAt(timeZone, at));
  const exact = [...offsets].map((offset) => shown - offset).filter((at) => at + offsetAt(timeZone, at) === shown);
  if (exact.length > 0) return instant(Math.min(...exact));
  // The clock skips the start: search the instant after the gap.
  let before = shown - FARTHEST;
  let after = shown + FARTHEST;
  while (after - before > 1) {
    const middle = Math.floor((before + after) / 2);
    if (middle + offsetAt(timeZone, middle) < shown) before = middle;
    else after = middle;
  }
  return instant(after);
}

const formats = new Map<string, Intl.DateTimeFormat>();

/** What a zone's clock shows minus UTC, in milliseconds. */
function offsetAt(timeZone: string, at: number): number {
  if (timeZone === 'UTC') return 0;
  const format =
    formats.get(timeZone) ??
    new Intl.DateTimeFormat('en-US', {
      timeZone,
      calendar: 'gregory',
      numberingSystem: 'latn',
      hourCycle: 'h23',
      era: 'short',
      year: 'numeric',
      month: 'numeric',
      day: 'numeric',
      hour: 'numeric',
      minute: 'numeric',
      second: 'numeric',
    });
  formats.set(timeZone, format);
  const second = Math.floor(at / 1_000) * 1_000;
  const parts = new Map(format.formatToParts(second).map(({ type, value }) => [type, Number(value)]));
  const part = (type: Intl.DateTimeFormatPartTypes): number => parts.get(type) ?? 0;
  const shown = Date.UTC(part('year'), part('month') - 1, part('day'), part('hour'), part('minute'), part('second'));
  return shown - second;
}

function minutesOf(start: string): number {
  return Number(start.slice(0, 2)) * 60 + Number(start.slice(3, 5));
}

function dateOf(at: number): string {
  return formatInstant(instant(at)).slice(0, 10);
}
