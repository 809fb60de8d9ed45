import { businessDay, formatInstant, parseInstant, UTC_DAYS, type BusinessDayRule } from '@tillflow/domain';
import { expect, it } from 'vitest';
import { dailyWindow } from './daily-window.js';

const BANGKOK: BusinessDayRule = { timeZone: 'Asia/Bangkok', start: '00:00' };
const BERLIN: BusinessDayRule = { timeZone: 'Europe/Berlin', start: '02:30' };

it.each<[string, BusinessDayRule, string, string | null, string, string]>([
  ['the day before, without an earlier run', UTC_DAYS, '2026-11-21T00:15:00Z', null, '2026-11-20', '2026-11-20'],
  [
    'the day before, while the last day is not over',
    UTC_DAYS,
    '2026-11-20T23:59:59Z',
    null,
    '2026-11-19',
    '2026-11-19',
  ],
  [
    'the day before, after a run until it',
    UTC_DAYS,
    '2026-11-21T00:15:00Z',
    '2026-11-20T00:00:00Z',
    '2026-11-20',
    '2026-11-20',
  ],
  [
    'every day since the last run',
    UTC_DAYS,
    '2026-11-21T00:15:00Z',
    '2026-11-16T00:00:00Z',
    '2026-11-16',
    '2026-11-20',
  ],
  ['at most 31 days', UTC_DAYS, '2026-11-21T00:15:00Z', '2026-09-01T00:00:00Z', '2026-10-21', '2026-11-20'],
  ['a day of the zone', BANGKOK, '2026-11-20T17:15:00Z', null, '2026-11-20', '2026-11-20'],
  ['a day of the zone, when the run is late', BANGKOK, '2026-11-21T16:59:59Z', null, '2026-11-20', '2026-11-20'],
  [
    'whole days after the zone has changed',
    BANGKOK,
    '2026-11-20T17:15:00Z',
    '2026-11-20T00:00:00Z',
    '2026-11-20',
    '2026-11-20',
  ],
  [
    'whole days after a run that ended within one',
    BANGKOK,
    '2026-11-20T17:15:00Z',
    '2026-11-19T00:00:00Z',
    '2026-11-19',
    '2026-11-20',
  ],
  ['days of 23, 24 and 25 hours', BERLIN, '2026-10-27T02:00:00Z', '2026-10-24T00:30:00Z', '2026-10-24', '2026-10-26'],
])('a daily run compares %s', async (_, rule, oldEnough, comparedUntil, first, last) => {
  const asked: number[] = [];
  const window = await dailyWindow(parseInstant(oldEnough), rule, (before) => {
    asked.push(before);
    return Promise.resolve(comparedUntil === null ? null : parseInstant(comparedUntil));
  });
  const expected = { from: businessDay(first, rule).from, to: businessDay(last, rule).to };
  expect([formatInstant(window.from), formatInstant(window.to)]).toEqual([
    formatInstant(expected.from),
    formatInstant(expected.to),
  ]);
  expect(asked).toEqual([expected.to]);
});
