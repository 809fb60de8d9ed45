import { instant, type Instant } from '@tillflow/domain';

declare const dayBrand: unique symbol;

/** A calendar date: whole days since 1970-01-01. */
export type Day = number & { readonly [dayBrand]: true };

const MS_OF_DAY = 86_400_000;
const DAYS_OF_WEEK = 7;

export const WEEKDAYS = ['monday', 'tuesday', 'wednesday', 'thursday', 'friday', 'saturday', 'sunday'] as const;
type Weekday = (typeof WEEKDAYS)[number];

export const ORDINALS = ['1st', '2nd', '3rd', '4th', 'last'] as const;
type Ordinal = (typeof ORDINALS)[number];

/** The days on which a schedule runs. Source: assumption, "Schedules and occurrences". */
export type Rule = {
  readonly every: number;
  readonly startOn: Day;
  readonly endOn: Day;
} & (
  | { readonly period: 'day' }
  | { readonly period: 'week'; readonly weekdays: readonly Weekday[] }
  | { readonly period: 'month'; readonly daysOfMonth: readonly number[] }
  | { readonly period: 'month'; readonly ordinal: Ordinal; readonly weekday: Weekday }
);

/** The date of an instant, in UTC. */
export function dayOf(at: Instant): Day {
  return Math.floor(at / MS_OF_DAY) as Day;
}

/** 00:00 UTC of the day. */
export function startOf(day: Day): Instant {
  return instant(day * MS_OF_DAY);
}

/** The day that is `days` days later. */
export function daysAfter(day: Day, days: number): Day {
  return (day + days) as Day;
}

/** `2026-03-10`. */
export function formatDay(day: Day): string {
  return new Date(day * MS_OF_DAY).toISOString().slice(0, 10);
}

/** Null when the text is not a calendar date. */
export function parseDay(text: string): Day | null {
  if (!/^\d{4}-\d{2}-\d{2}$/.test(text)) return null;
  const day = (Date.parse(`${text}T00:00:00Z`) / MS_OF_DAY) as Day;
  return Number.isNaN(day) || formatDay(day) !== text ? null : day;
}

/** The first day of a month, `months` months after the month of `day`. */
export function monthAfter(day: Day, months: number): Day {
  const date = new Date(day * MS_OF_DAY);
  return (Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + months) / MS_OF_DAY) as Day;
}

/** The first day on or after `from` on which the rule runs; null when there is none before its end. */
export function nextOn(rule: Rule, from: Day): Day | null {
  const first = Math.max(from, rule.startOn) as Day;
  for (let unit = unitOf(rule, first); ; unit += 1) {
    const days = daysOfUnit(rule, unit * rule.every);
    if (days.start > rule.endOn) return null;
    const day = days.days.find((each) => each >= first);
    if (day !== undefined) return day <= rule.endOn ? day : null;
  }
}

/** The next days on which the rule runs, at most `most`. */
export function upcoming(rule: Rule, from: Day, most: number): Day[] {
  const days: Day[] = [];
  for (let day = nextOn(rule, from); day !== null && days.length < most; day = nextOn(rule, daysAfter(day, 1))) {
    days.push(day);
  }
  return days;
}

/** The index of the group of `every` periods, counted from the start, that contains the day. */
function unitOf(rule: Rule, day: Day): number {
  const start = rule.startOn;
  switch (rule.period) {
    case 'day':
      return Math.floor((day - start) / rule.every);
    case 'week':
      return Math.floor((mondayOf(day) - mondayOf(start)) / DAYS_OF_WEEK / rule.every);
    case 'month':
      return Math.floor((monthsOf(day) - monthsOf(start)) / rule.every);
  }
}

/** The days of the period that is `periods` periods after the first one, in order. */
function daysOfUnit(rule: Rule, periods: number): { readonly start: Day; readonly days: readonly Day[] } {
  switch (rule.period) {
    case 'day': {
      const day = daysAfter(rule.startOn, periods);
      return { start: day, days: [day] };
    }
    case 'week': {
      const start = daysAfter(mondayOf(rule.startOn), periods * DAYS_OF_WEEK);
      const offsets = rule.weekdays.map((weekday) => WEEKDAYS.indexOf(weekday)).toSorted((a, b) => a - b);
      return { start, days: offsets.map((offset) => daysAfter(start, offset)) };
    }
    case 'month': {
      const start = monthAfter(rule.startOn, periods);
      const end = monthAfter(start, 1);
      if ('ordinal' in rule) return { start, days: [weekdayOfMonth(start, end, rule.ordinal, rule.weekday)] };
      // A month without the day is skipped.
      const days = rule.daysOfMonth.map((number) => daysAfter(start, number - 1)).filter((day) => day < end);
      return { start, days: days.toSorted((a, b) => a - b) };
    }
  }
}

function weekdayOfMonth(start: Day, end: Day, ordinal: Ordinal, weekday: Weekday): Day {
  const offset = WEEKDAYS.indexOf(weekday);
  if (ordinal === 'last') {
    const last = daysAfter(end, -1);
    return daysAfter(last, -((weekdayOf(last) - offset + DAYS_OF_WEEK) % DAYS_OF_WEEK));
  }
  const first = daysAfter(start, (offset - weekdayOf(start) + DAYS_OF_WEEK) % DAYS_OF_WEEK);
  return daysAfter(first, ORDINALS.indexOf(ordinal) * DAYS_OF_WEEK);
}

/** 0 for Monday. 1970-01-01 was a Thursday. */
function weekdayOf(day: Day): number {
  return (((day + 3) % DAYS_OF_WEEK) + DAYS_OF_WEEK) % DAYS_OF_WEEK;
}

function mondayOf(day: Day): Day {
  return daysAfter(day, -weekdayOf(day));
}

function monthsOf(day: Day): number {
  const date = new Date(day * MS_OF_DAY);
  return date.getUTCFullYear() * 12 + date.getUTCMonth();
}

/** The rule in words: `Every 2 weeks on Monday and Friday`. */
export function inWords(rule: Rule): string {
  const every = rule.every === 1 ? `Every ${rule.period}` : `Every ${rule.every} ${rule.period}s`;
  switch (rule.period) {
    case 'day':
      return every;
    case 'week':
      return `${every} on ${listed(rule.weekdays.map(capital))}`;
    case 'month':
      if ('ordinal' in rule) return `${every} on the ${rule.ordinal} ${capital(rule.weekday)}`;
      return `${every} on the ${listed(rule.daysOfMonth.map(ordinalOf))}`;
  }
}

function listed(words: readonly string[]): string {
  return words.length < 2 ? words.join('') : `${words.slice(0, -1).join(', ')} and ${words.at(-1)}`;
}

function capital(word: string): string {
  return word.slice(0, 1).toUpperCase() + word.slice(1);
}

function ordinalOf(number: number): string {
  const teen = number > 10 && number < 14;
  const suffix = teen ? 'th' : (['th', 'st', 'nd', 'rd'][number % 10] ?? 'th');
  return `${number}${suffix}`;
}
