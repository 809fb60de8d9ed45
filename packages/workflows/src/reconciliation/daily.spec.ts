import { describe, expect, it } from 'vitest';
import { dailyInput, endOfDay } from './daily.js';

const at = (text: string): number => Date.parse(text);
const MIDNIGHT = at('2026-11-21T00:00:00Z');
const DAY_MS = 86_400_000;

describe('a daily run', () => {
  it.each([
    ['when the Schedule starts it', '2026-11-21T00:30:00Z', '2026-11-21T00:00:00Z'],
    ['a little later', '2026-11-21T23:59:59Z', '2026-11-21T00:00:00Z'],
    ['when the last payments of the day have just become old enough', '2026-11-21T00:15:00Z', '2026-11-21T00:00:00Z'],
    ['by hand, before they have', '2026-11-21T00:14:59.999Z', '2026-11-20T00:00:00Z'],
  ])('%s compares up to the end of a day that can be compared as a whole', (_, due, end) => {
    expect(new Date(endOfDay(at(due))).toISOString()).toBe(new Date(at(end)).toISOString());
  });

  it.each([
    ['nothing, when there was no earlier run', null, 1],
    ['nothing, when that one came as far', MIDNIGHT, 1],
    ['the day before, when that was compared', MIDNIGHT - DAY_MS, 1],
    ['what was left out', MIDNIGHT - 5 * DAY_MS, 5],
    ['31 days at most, when more was left out', MIDNIGHT - 40 * DAY_MS, 31],
  ])('goes on from %s', (_, comparedUntil, days) => {
    expect(dailyInput(MIDNIGHT, comparedUntil)).toMatchObject({ from: MIDNIGHT - days * DAY_MS, to: MIDNIGHT });
  });
});
