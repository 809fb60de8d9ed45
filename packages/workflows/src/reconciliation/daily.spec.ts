import { describe, expect, it } from 'vitest';
import { dailyInput, endOfDay } from './daily.js';

const at = (text: string): number => Date.parse(text);
const MIDNIGHT = at('2026-11-21T00:00:00Z');
const DAY_MS = 86_400_000;

describe('the daily reconciliation', () => {
  it.each([
    ['on schedule', '2026-11-21T00:30:00Z', '2026-11-21T00:00:00Z'],
    ['a little later', '2026-11-21T23:59:59Z', '2026-11-21T00:00:00Z'],
    ['as soon as the last payments of the day are old enough', '2026-11-21T00:15:00Z', '2026-11-21T00:00:00Z'],
    ['before they are old enough', '2026-11-21T00:14:59.999Z', '2026-11-20T00:00:00Z'],
  ])('compares complete days when it starts %s', (_, due, end) => {
    expect(new Date(endOfDay(at(due))).toISOString()).toBe(new Date(at(end)).toISOString());
  });

  it.each([
    ['one day when there was no earlier run', null, 1],
    ['one day when the earlier run compared as much', MIDNIGHT, 1],
    ['one day when the earlier run compared up to it', MIDNIGHT - DAY_MS, 1],
    ['every day since the earlier run', MIDNIGHT - 5 * DAY_MS, 5],
    ['at most 31 days since the earlier run', MIDNIGHT - 40 * DAY_MS, 31],
  ])('compares %s', (_, comparedUntil, days) => {
    expect(dailyInput(MIDNIGHT, comparedUntil)).toMatchObject({ from: MIDNIGHT - days * DAY_MS, to: MIDNIGHT });
  });
});
