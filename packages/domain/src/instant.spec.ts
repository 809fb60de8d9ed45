import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { formatInstant, instant, isInstant, parseInstant, plus } from './instant.js';

describe('an instant', () => {
  it('is the same after formatting and parsing', () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: Date.UTC(9999, 11, 31) }), (milliseconds) => {
        expect(parseInstant(formatInstant(instant(milliseconds)))).toBe(milliseconds);
      }),
    );
  });

  it.each([
    ['2026-03-10T09:00:00Z', Date.UTC(2026, 2, 10, 9)],
    ['2026-03-10T16:00:00+07:00', Date.UTC(2026, 2, 10, 9)],
    ['1970-01-01T00:00Z', 0],
  ])('is parsed from %s', (text, milliseconds) => {
    expect(parseInstant(text)).toBe(milliseconds);
  });

  it.each(['2026-03-10', '2026-03-10T09:00:00', '10 March 2026', '', '2026-13-01T00:00:00Z', '2026-02-30T00:00:00Z'])(
    'is not read from "%s", which has no zone or is not a date',
    (text) => {
      const error = new RangeError(`Not an ISO 8601 date-time with a zone: ${text}`);
      expect(() => parseInstant(text)).toThrow(error);
    },
  );

  it.each([0.5, Number.NaN, Number.POSITIVE_INFINITY, 8.64e15])('is not %s milliseconds', (milliseconds) => {
    expect(() => instant(milliseconds)).toThrow(new RangeError(`Not an instant: ${milliseconds}`));
  });

  it('is within the years 1 to 9999, to the millisecond', () => {
    const [first, last] = [Date.parse('0001-01-01T00:00:00.000Z'), Date.parse('9999-12-31T23:59:59.999Z')];
    expect([instant(first), instant(last)]).toEqual([first, last]);
    expect(() => plus(instant(first), -1)).toThrow(RangeError);
    expect(() => plus(instant(last), 1)).toThrow(RangeError);
  });
});

describe('a text', () => {
  it.each([
    ['2026-11-21T05:30:00Z', true],
    ['2026-11-21T05:30:00', false],
    // JavaScript ignores text in brackets.
    ['2026-11-21T05:30:00Z (UTC)', false],
    ['', false],
  ])('%j is an instant: %s', (text, expected) => {
    expect(isInstant(text)).toBe(expected);
  });
});
