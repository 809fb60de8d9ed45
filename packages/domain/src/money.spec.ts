import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  chargeLimits,
  CURRENCIES,
  decimalsOf,
  formatMoney,
  isCurrency,
  isWithinChargeLimits,
  minorUnitDecimals,
} from './money.js';

const anyMoney = fc.record({ amount: fc.integer({ min: 0, max: 10 ** 12 }), currency: fc.constantFrom(...CURRENCIES) });

describe('money', () => {
  it.each([
    ['THB', 2_000, 15_000_000],
    ['SGD', 100, 2_000_000],
    ['MYR', 100, 3_000_000],
  ] as const)('in %s may be charged from %i to %i, both included', (currency, min, max) => {
    const isAllowed = (amount: number): boolean => isWithinChargeLimits({ amount, currency });
    expect([min - 1, min, max, max + 1].map(isAllowed)).toEqual([false, true, true, false]);
    expect(chargeLimits(currency)).toEqual({ min, max });
  });

  it('has two decimals in every currency', () => {
    expect(CURRENCIES.map(decimalsOf)).toEqual([2, 2, 2]);
  });

  it.each(['thb', 'USD', '', 'THB '])('has no currency "%s"', (currency) => {
    expect(isCurrency(currency)).toBe(false);
  });

  it.each([
    [150_000, 'THB 1,500.00'],
    [5, 'THB 0.05'],
    [100, 'THB 1.00'],
    [123_456_789, 'THB 1,234,567.89'],
  ])('formats %i satang as %s', (amount, text) => {
    expect(formatMoney({ amount, currency: 'THB' })).toBe(text);
  });

  it('has the same amount after formatting and parsing', () => {
    fc.assert(
      fc.property(anyMoney, (money) => {
        const [code, digits] = formatMoney(money).split(' ');
        expect(code).toBe(money.currency);
        expect(Number(digits?.replace(/[,.]/g, ''))).toBe(money.amount);
      }),
    );
  });
});

it.each([
  ['JPY', 0],
  ['VND', 0],
  ['BHD', 3],
  ['TND', 3],
  ['USD', 2],
  ['THB', 2],
])("a customer's currency %s has %i decimals", (currency, decimals) => {
  expect(minorUnitDecimals(currency)).toBe(decimals);
});
