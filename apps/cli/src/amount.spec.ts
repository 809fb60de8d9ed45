import { CURRENCIES, formatMoney } from '@tillflow/domain';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { readAmount } from './amount.js';
import { UsageError } from './command.js';

const inTHB = (text: string): number => readAmount('--amount', text).smallestUnitsIn('THB');

describe('an amount on the command line', () => {
  it.each([
    ['500.00', 50_000],
    ['0.01', 1],
    ['1500.00', 150_000],
    ['1,500.00', 150_000],
    ['THB 500.00', 50_000],
    ['thb 500.00', 50_000],
    ['THB 1,500.00', 150_000],
    ['99999999999.99', 9_999_999_999_999],
  ])('%s is %d in the smallest unit', (text, amount) => {
    expect(inTHB(text)).toBe(amount);
  });

  it('is read back from the text that formatMoney prints', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 9_999_999_999_999 }),
        fc.constantFrom(...CURRENCIES),
        (amount, currency) => {
          const printed = formatMoney({ amount, currency });
          expect(readAmount('--amount', printed).smallestUnitsIn(currency)).toBe(amount);
          expect(readAmount('--amount', printed.slice(4).replaceAll(',', '')).smallestUnitsIn(currency)).toBe(amount);
        },
      ),
    );
  });

  it.each(['1500', '1,500', 'THB 1500'])('%s has two readings, and is refused with both', (text) => {
    const read = () => inTHB(text);
    expect(read).toThrow(UsageError);
    expect(read).toThrow(`${text} can mean THB 1,500.00 (write 1500.00) or THB 15.00 (write 15.00)`);
  });

  it('with two readings is refused with both when its currency is unknown', () => {
    expect(() => readAmount('--amount', '1500').refuseWholeNumber()).toThrow(
      '1500 can mean 1,500.00 (write 1500.00) or 15.00 (write 15.00)',
    );
    expect(() => readAmount('--amount', '7').refuseWholeNumber()).toThrow('7.00 (write 7.00) or 0.07 (write 0.07)');
    expect(() => readAmount('--amount', '15.00').refuseWholeNumber()).not.toThrow();
  });

  it('in another currency than the checkout is refused', () => {
    const read = () => inTHB('SGD 500.00');
    expect(read).toThrow(UsageError);
    expect(read).toThrow('--amount is in SGD, and the checkout is in THB');
  });

  it.each([
    ['nothing', ''],
    ['words', 'all'],
    ['a sign', '-5.00'],
    ['a plus', '+5.00'],
    ['one digit after the point', '5.0'],
    ['three digits after the point', '5.000'],
    ['no digit before the point', '.50'],
    ['no digit after the point', '5.'],
    ['a comma for the point', '5,00'],
    ['groups of other sizes', '15,00.00'],
    ['an unknown currency', 'USD 5.00'],
    ['the currency after the number', '5.00 THB'],
    ['an exponent', '5e2'],
    ['other digits', '٥.٠٠'],
    ['two lines', '5.00\n'],
    ['zero', '0.00'],
    ['a bare zero', '0'],
    ['more than arithmetic keeps exact', '999999999999.99'],
  ])('that is %s is refused before any request', (_case, text) => {
    expect(() => readAmount('--amount', text)).toThrow(UsageError);
    expect(() => readAmount('--amount', text)).toThrow('--amount must be');
  });
});
