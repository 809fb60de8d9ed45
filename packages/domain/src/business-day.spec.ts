import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  addDays,
  businessDay,
  businessDayFinder,
  businessDayOf,
  isBusinessDate,
  isTimeOfDay,
  isTimeZone,
  lastEndedDay,
  latestBeginning,
  UTC_DAYS,
} from './business-day.js';
import { formatInstant, parseInstant, plus } from './instant.js';

const HOUR = 3_600_000;
const rule = (timeZone: string, start = '00:00') => ({ timeZone, start });
const shown = (date: string, timeZone: string, start?: string): [string, string] => {
  const { from, to } = businessDay(date, rule(timeZone, start));
  return [formatInstant(from), formatInstant(to)];
};

describe('isTimeZone', () => {
  it.each(['UTC', 'Asia/Bangkok', 'asia/bangkok', 'Europe/Berlin', 'America/Argentina/Buenos_Aires'])(
    'accepts %s',
    (name) => {
      expect(isTimeZone(name)).toBe(true);
    },
  );
  it.each(['', 'Mars/Olympus', '+07:00', '-0330', 'GMT+25', ' UTC', 'Asia/Bangkok ', 'Asia', '7'])(
    'refuses %j',
    (name) => {
      expect(isTimeZone(name)).toBe(false);
    },
  );
});

it.each([
  ['00:00', true],
  ['23:59', true],
  ['24:00', false],
  ['4:00', false],
  ['04:60', false],
  ['04:00:00', false],
  ['', false],
])('the start of a day %j is accepted: %s', (text, expected) => {
  expect(isTimeOfDay(text)).toBe(expected);
});

it.each([
  ['2026-11-20', true],
  ['2028-02-29', true],
  ['1970-01-01', true],
  ['2026-02-29', false],
  ['2026-13-01', false],
  ['1969-12-31', false],
  ['9999-01-01', false],
  ['2026-1-1', false],
  ['2026-11-20T00:00:00Z', false],
  ['today', false],
])('the date %j is accepted: %s', (text, expected) => {
  expect(isBusinessDate(text)).toBe(expected);
});

describe('a business day', () => {
  it.each<[string, string, string, string, string, string]>([
    ['has 24 hours', '2026-11-20', 'Asia/Bangkok', '00:00', '2026-11-19T17:00', '2026-11-20T17:00'],
    ['begins at its start', '2026-11-20', 'Asia/Bangkok', '04:30', '2026-11-19T21:30', '2026-11-20T21:30'],
    [
      'has 23 hours when the clock goes forward',
      '2026-03-29',
      'Europe/Berlin',
      '00:00',
      '2026-03-28T23:00',
      '2026-03-29T22:00',
    ],
    [
      'has 25 hours when the clock goes back',
      '2026-10-25',
      'Europe/Berlin',
      '00:00',
      '2026-10-24T22:00',
      '2026-10-25T23:00',
    ],
    [
      'has the change of the next morning',
      '2026-10-24',
      'Europe/Berlin',
      '04:00',
      '2026-10-24T02:00',
      '2026-10-25T03:00',
    ],
    [
      'begins after a gap that contains its start',
      '2026-03-29',
      'Europe/Berlin',
      '02:30',
      '2026-03-29T01:00',
      '2026-03-30T00:30',
    ],
    [
      'begins at the first of two equal starts',
      '2026-10-25',
      'Europe/Berlin',
      '02:30',
      '2026-10-25T00:30',
      '2026-10-26T01:30',
    ],
    [
      'begins after a midnight that the clock skips',
      '2018-11-04',
      'America/Sao_Paulo',
      '00:00',
      '2018-11-04T03:00',
      '2018-11-05T02:00',
    ],
    [
      'has the hour before midnight twice',
      '2018-02-17',
      'America/Sao_Paulo',
      '00:00',
      '2018-02-17T02:00',
      '2018-02-18T03:00',
    ],
    ['follows a zone of 45 minutes', '2026-11-20', 'Asia/Kathmandu', '00:00', '2026-11-19T18:15', '2026-11-20T18:15'],
    [
      'follows a change of half an hour',
      '2026-10-04',
      'Australia/Lord_Howe',
      '00:00',
      '2026-10-03T13:30',
      '2026-10-04T13:00',
    ],
    ['is far east of UTC', '2026-11-20', 'Pacific/Kiritimati', '00:00', '2026-11-19T10:00', '2026-11-20T10:00'],
    ['is far west of UTC', '2026-11-20', 'Pacific/Pago_Pago', '00:00', '2026-11-20T11:00', '2026-11-21T11:00'],
    ['is empty when the zone skips it', '2011-12-30', 'Pacific/Apia', '00:00', '2011-12-30T10:00', '2011-12-30T10:00'],
    ['follows a skipped day', '2011-12-31', 'Pacific/Apia', '00:00', '2011-12-30T10:00', '2011-12-31T10:00'],
    ['comes before a skipped day', '2011-12-29', 'Pacific/Apia', '04:00', '2011-12-29T14:00', '2011-12-30T10:00'],
  ])('%s: %s in %s from %s', (_, date, timeZone, start, from, to) => {
    expect(shown(date, timeZone, start)).toEqual([`${from}:00.000Z`, `${to}:00.000Z`]);
  });

  const ZONES = [
    'UTC',
    'Asia/Bangkok',
    'Europe/Berlin',
    'America/Havana',
    'America/Sao_Paulo',
    'Australia/Lord_Howe',
    'Pacific/Apia',
    'Pacific/Kiritimati',
    'Africa/Casablanca',
    'America/St_Johns',
  ];
  const dates = fc.integer({ min: 0, max: 25_000 }).map((days) => addDays('1972-01-02', days));
  const rules = fc.record({
    timeZone: fc.constantFrom(...ZONES),
    start: fc.integer({ min: 0, max: 1_439 }).map((minutes) => new Date(minutes * 60_000).toISOString().slice(11, 16)),
  });

  it('ends where the next day begins, and contains its own instants and no others', () => {
    fc.assert(
      fc.property(dates, rules, fc.double({ min: 0, max: 1, noNaN: true, maxExcluded: true }), (date, days, part) => {
        const day = businessDay(date, days);
        expect(businessDay(addDays(date, 1), days).from).toBe(day.to);
        if (day.from === day.to) return;
        expect(day.to - day.from).toBeGreaterThanOrEqual(22 * HOUR);
        expect(day.to - day.from).toBeLessThanOrEqual(48 * HOUR);
        for (const at of [day.from, plus(day.to, -1), plus(day.from, Math.floor((day.to - day.from) * part))]) {
          expect(businessDayOf(at, days)).toEqual(day);
        }
      }),
      { numRuns: 300 },
    );
  });
});

it('businessDayFinder gives the same days, in any order of the instants', () => {
  const find = businessDayFinder(rule('Europe/Berlin', '05:00'));
  for (const hours of [0, 1, 30, 400, 2, 31, 9_000, 0]) {
    const at = plus(parseInstant('2026-03-28T03:00:00Z'), hours * HOUR);
    expect(find(at)).toEqual(businessDayOf(at, rule('Europe/Berlin', '05:00')));
  }
});

it.each([
  ['2026-11-21T00:00:00Z', '2026-11-20'],
  ['2026-11-20T23:59:59.999Z', '2026-11-19'],
])('the last day that has ended at %s is %s', (at, date) => {
  expect(lastEndedDay(parseInstant(at), UTC_DAYS).date).toBe(date);
});

it('the last day that has ended is never a skipped one', () => {
  const at = parseInstant('2011-12-30T12:00:00Z');
  expect(lastEndedDay(at, rule('Pacific/Apia')).date).toBe('2011-12-29');
});

it.each<[string, string, number]>([
  ['UTC', '00:00', 0],
  ['UTC', '05:30', 5.5],
  ['Asia/Bangkok', '00:00', 17],
  ['Europe/Berlin', '00:00', 23],
  ['Europe/London', '00:00', 0],
  ['America/New_York', '04:00', 9],
  ['Pacific/Kiritimati', '00:00', 10],
])('in %s, a day from %s begins at %s hours UTC at the latest', (timeZone, start, hours) => {
  expect(latestBeginning(rule(timeZone, start), parseInstant('2026-11-20T00:00:00Z'))).toBe(hours * HOUR);
});
