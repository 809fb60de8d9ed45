import { describe, expect, it } from 'vitest';
import { formatAmount, typed } from './money.js';

/** `Intl` writes spaces that do not break. */
const plain = (text: string): string => text.replaceAll('\u00a0', ' ');

describe('formatAmount', () => {
  it.each([
    [150_000, 'THB', 'en', 'THB 1,500.00'],
    [150_000, 'THB', 'th', '฿1,500.00'],
    [5, 'MYR', 'ms', 'RM 0.05'],
    [1_234, 'JPY', 'zh-Hans', 'JP¥1,234'],
    [1_234, 'KWD', 'en', 'KWD 1.234'],
    [9_999_999_999, 'THB', 'en', 'THB 99,999,999.99'],
  ])('writes %i of %s in %s with the decimals of ISO 4217', (amount, currency, language, text) => {
    expect(plain(formatAmount(amount, currency, language))).toBe(text);
  });
});

describe('typed', () => {
  it.each([
    [0, '7', 7],
    [7, '5', 75],
    [75, '00', 7_500],
    [0, '00', 0],
    [7_500, 'back', 750],
    [7, 'back', 0],
    [7_500, 'clear', 0],
    [9_999_999_999, '1', 9_999_999_999],
    [999_999_999, '00', 999_999_999],
    [75, 'x', 75],
  ])('makes of %i and the key %s %i', (amount, key, result) => {
    expect(typed(amount, key)).toBe(result);
  });
});
