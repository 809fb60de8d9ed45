import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  daysAfter,
  formatDay,
  inWords,
  monthAfter,
  nextOn,
  ORDINALS,
  parseDay,
  upcoming,
  WEEKDAYS,
  type Day,
  type Rule,
} from './calendar.js';

const day = (text: string): Day => {
  const read = parseDay(text);
  if (read === null) throw new Error(text);
  return read;
};
const daysOf = (rule: Rule, from = rule.startOn, most = 30): string[] => upcoming(rule, from, most).map(formatDay);
const within = { startOn: day('2026-03-10'), endOn: day('2027-03-10') };

describe('a rule', () => {
  it('ends with its last day, that one included', () => {
    const rule: Rule = { startOn: day('2026-03-10'), endOn: day('2026-03-12'), every: 1, period: 'day' };
    expect(daysOf(rule)).toEqual(['2026-03-10', '2026-03-11', '2026-03-12']);
    expect(nextOn(rule, day('2026-03-13'))).toBeNull();
  });

  const startOn = fc.integer({ min: 20_000, max: 21_000 }).map((number) => number as Day);
  const rules: fc.Arbitrary<Rule> = fc
    .oneof(
      fc.record({ period: fc.constant('day' as const), every: fc.integer({ min: 1, max: 20 }), startOn }),
      fc.record({
        period: fc.constant('week' as const),
        every: fc.integer({ min: 1, max: 4 }),
        startOn,
        weekdays: fc.uniqueArray(fc.constantFrom(...WEEKDAYS), { minLength: 1 }),
      }),
      fc.record({
        period: fc.constant('month' as const),
        every: fc.integer({ min: 1, max: 12 }),
        startOn,
        daysOfMonth: fc.uniqueArray(fc.integer({ min: 1, max: 31 }), { minLength: 1, maxLength: 4 }),
      }),
      fc.record({
        period: fc.constant('month' as const),
        every: fc.integer({ min: 1, max: 12 }),
        startOn,
        ordinal: fc.constantFrom(...ORDINALS),
        weekday: fc.constantFrom(...WEEKDAYS),
      }),
    )
    .map((rule) => Object.assign(rule, { endOn: daysAfter(rule.startOn, 800) }));

  /** The same by looking at each day on its own. */
  const runsOn = (rule: Rule, on: Day): boolean => {
    const [date, start] = [new Date(on * 86_400_000), new Date(rule.startOn * 86_400_000)];
    const weekday = WEEKDAYS[(date.getUTCDay() + 6) % 7];
    if (rule.period === 'day') return (on - rule.startOn) % rule.every === 0;
    if (rule.period === 'week') {
      const weekOf = (each: Date): number => Math.floor((each.getTime() / 86_400_000 + 3) / 7);
      return (weekOf(date) - weekOf(start)) % rule.every === 0 && rule.weekdays.some((name) => name === weekday);
    }
    const months = (date.getUTCFullYear() - start.getUTCFullYear()) * 12 + date.getUTCMonth() - start.getUTCMonth();
    if (months % rule.every !== 0) return false;
    if ('daysOfMonth' in rule) return rule.daysOfMonth.includes(date.getUTCDate());
    const isLast = on + 7 >= monthAfter(on, 1);
    const nth = Math.ceil(date.getUTCDate() / 7);
    return weekday === rule.weekday && (rule.ordinal === 'last' ? isLast : rule.ordinal.startsWith(String(nth)));
  };

  it('runs on exactly the days that match it', () => {
    fc.assert(
      fc.property(rules, (rule) => {
        const expected: Day[] = [];
        for (let on = rule.startOn; on <= rule.endOn; on = daysAfter(on, 1)) if (runsOn(rule, on)) expected.push(on);
        expect(upcoming(rule, rule.startOn, 1_000)).toEqual(expected);
      }),
      { numRuns: 400 },
    );
  });

  it.each<[Rule, string]>([
    [{ ...within, every: 1, period: 'day' }, 'Every day'],
    [{ ...within, every: 3, period: 'day' }, 'Every 3 days'],
    [{ ...within, every: 1, period: 'week', weekdays: ['monday'] }, 'Every week on Monday'],
    [
      { ...within, every: 2, period: 'week', weekdays: ['monday', 'friday', 'sunday'] },
      'Every 2 weeks on Monday, Friday and Sunday',
    ],
    [
      { ...within, every: 1, period: 'month', daysOfMonth: [1, 2, 3, 11, 21, 30] },
      'Every month on the 1st, 2nd, 3rd, 11th, 21st and 30th',
    ],
    [{ ...within, every: 6, period: 'month', ordinal: 'last', weekday: 'friday' }, 'Every 6 months on the last Friday'],
  ])('says in words %#', (rule, words) => {
    expect(inWords(rule)).toBe(words);
  });
});

describe('a date', () => {
  it.each(['2026-02-29', '2026-13-01', '2026-3-1', '2026-03-10T00:00:00Z', '', 'x'])('is not read from %j', (text) => {
    expect(parseDay(text)).toBeNull();
  });

  it('is read and written alike', () => {
    expect(formatDay(day('2028-02-29'))).toBe('2028-02-29');
  });
});
