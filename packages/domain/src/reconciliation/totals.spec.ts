import { expect, it } from 'vitest';
import { FIGURES, Totals } from './totals.js';

it('totals are summed by currency, in the alphabetical order of the currencies', () => {
  const zero = Object.fromEntries(FIGURES.map((figure) => [figure, 0]));
  const totals = new Totals();
  for (const currency of ['SGD', 'THB', 'MYR', 'SGD']) totals.add(currency, { charges: 1, fees: 5 });
  const others = new Totals();
  others.add('THB', { charges: 1, fees: 5 });
  totals.addAll(others.list());
  expect(totals.list()).toEqual([
    { ...zero, currency: 'MYR', charges: 1, fees: 5 },
    { ...zero, currency: 'SGD', charges: 2, fees: 10 },
    { ...zero, currency: 'THB', charges: 2, fees: 10 },
  ]);
});
