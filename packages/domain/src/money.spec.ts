import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { addMoney, CURRENCIES, formatMoney, isWithinChargeLimits, money, subtractMoney } from './money.js';

const anyMoney = fc.tuple(fc.integer({ min: 0, max: 10 ** 12 }), fc.constantFrom(...CURRENCIES));

describe('money', () => {
  it.each([
    ['THB', 2_000, 15_000_000],
    ['SGD', 100, 2_000_000],
    ['MYR', 100, 3_000_000],
  ] as const)('in %s may be charged from %i to %i, both included', (currency, min, max) => {
    expect(isWithinChargeLimits(money(min, currency))).toBe(true);
    expect(isWithinChargeLimits(money(max, currency))).toBe(true);
    expect(isWithinChargeLimits(money(min - 1, currency))).toBe(false);
    expect(isWithinChargeLimits(money(max + 1, currency))).toBe(false);
  });

  it.each([-1, 0.5, Number.NaN, Number.POSITIVE_INFINITY, 2 ** 53])('refuses the amount %s', (amount) => {
    expect(() => money(amount, 'THB')).toThrow(RangeError);
  });

  it.each(['thb', 'USD', '', 'THB '])('refuses the currency "%s"', (currency) => {
    expect(() => money(100, currency)).toThrow(RangeError);
  });

  it.each([
    [150_000, 'THB 1,500.00'],
    [5, 'THB 0.05'],
    [100, 'THB 1.00'],
    [123_456_789, 'THB 1,234,567.89'],
  ])('of %i satang reads %s', (amount, text) => {
    expect(formatMoney(money(amount, 'THB'))).toBe(text);
  });

  it('reads back to the same amount from its text', () => {
    fc.assert(
      fc.property(anyMoney, ([amount, currency]) => {
        const [code, digits] = formatMoney(money(amount, currency)).split(' ');
        expect(code).toBe(currency);
        expect(Number(digits?.replace(/[,.]/g, ''))).toBe(amount);
      }),
    );
  });

  it('added and subtracted again is the same, and never mixes currencies', () => {
    fc.assert(
      fc.property(anyMoney, anyMoney, ([a, currencyA], [b, currencyB]) => {
        const first = money(a, currencyA);
        const second = money(b, currencyB);
        if (currencyA !== currencyB) expect(() => addMoney(first, second)).toThrow(RangeError);
        else expect(subtractMoney(addMoney(first, second), second)).toEqual(first);
      }),
    );
  });

  it('never becomes negative', () => {
    expect(() => subtractMoney(money(1, 'THB'), money(2, 'THB'))).toThrow(RangeError);
  });
});
