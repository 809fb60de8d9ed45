import { describe, expect, it } from 'vitest';
import { ago, columns, utc } from './text.js';

describe('the text output of the command line', () => {
  it('aligns columns without blanks at the end of a line', () => {
    expect(columns([['a', 'long one', ''], ['longer', 'b', 'c'], []])).toEqual([
      'a       long one',
      'longer  b         c',
      '',
    ]);
    expect(columns([])).toEqual([]);
  });

  it('aligns columns by the escaped form of control characters', () => {
    expect(
      columns([
        ['a\u001b', 'b'],
        ['a', 'b'],
      ]),
    ).toEqual(['a\\u001b  b', 'a        b']);
  });

  it('shows a time to the second in UTC, and a dash for null', () => {
    expect(utc('2026-11-21T08:29:34.123Z')).toBe('2026-11-21 08:29:34 UTC');
    expect(utc('2026-11-21T08:29:34Z')).toBe('2026-11-21 08:29:34 UTC');
    expect(utc(null)).toBe('-');
  });

  it.each([
    [0, '0 s'],
    [119_999, '119 s'],
    [120_000, '2 min'],
    [7_199_000, '119 min'],
    [7_200_000, '2 h'],
    [172_799_000, '47 h'],
    [172_800_000, '2 d'],
    [-5_000, '0 s'],
  ])('shows %i ms as %s', (milliseconds, words) => {
    const since = '2026-11-21T08:00:00.000Z';
    expect(ago(since, Date.parse(since) + milliseconds)).toBe(words);
  });
});
