import { expect, it } from 'vitest';
import { dayToCsv } from './day-csv.js';

const NONE = { count: 0, amount: 0 };
const row = {
  currency: 'THB',
  store: 'silom',
  terminal: 'till-1',
  sales: { count: 2, amount: 300_000 },
  refunds: { count: 1, amount: 50_000 },
  voids: NONE,
  fees: 5_297,
  net: 244_703,
  settlements: [{ date: '2026-11-27', amount: 244_703 }],
};
const report = { date: '2026-11-20', state: 'final', totals: [row], breaks: [], breaks_omitted: 0 };
const linesOf = (text: string): string[] => text.split('\r\n').slice(1, -1);

it('dayToCsv has a line for each till, payout and break, and one for the breaks that are not listed', () => {
  const one = {
    n: 2,
    type: 'missing_here' as const,
    checkout_id: 'chk_default_a',
    charge_id: 'chrg_1',
    refund_id: null,
    transaction_id: null,
    receipt_id: null,
    expected: null,
    actual: { status: 'successful', amount: 150_000, currency: 'THB' },
    age_seconds: 60,
    suggested_action: 'pnpm tillflow backfill',
    healed: false,
  };
  const expected = { status: 'paid', amount: 100, currency: 'SGD' };
  const acknowledged = { by: 'cli:ann', at: '2026-11-21T08:00:00.000Z', reason: 'ticket 4711' };
  const known = { ...one, n: 3, expected, actual: null, acknowledged };
  expect(linesOf(dayToCsv({ ...report, breaks: [one, known], breaks_omitted: 7 }))).toEqual([
    'total,2026-11-20,final,THB,silom,till-1,2,300000,1,50000,0,0,5297,244703,,,,,,,,,,,,',
    'settlement,2026-11-20,final,THB,silom,till-1,,,,,,,,,2026-11-27,244703,,,,,,,,,,',
    'break,2026-11-20,final,THB,,,,,,,,,,,,,2,missing_here,chk_default_a,chrg_1,,,150000,false,,pnpm tillflow backfill',
    'break,2026-11-20,final,SGD,,,,,,,,,,,,,3,missing_here,chk_default_a,chrg_1,,100,,false,cli:ann,pnpm tillflow backfill',
    'omitted,2026-11-20,final,,,,,,,,,,,,,,,breaks,,,,,7,,,',
  ]);
});

it('dayToCsv leaves cells empty that are not known, and marks the tills that are not listed', () => {
  const unknown = {
    ...row,
    store: null,
    terminal: null,
    fees: null,
    net: null,
    settlements: [],
    others: true as const,
  };
  expect(linesOf(dayToCsv({ ...report, totals: [unknown] }))).toEqual([
    'others,2026-11-20,final,THB,,,2,300000,1,50000,0,0,,,,,,,,,,,,,,',
  ]);
});

it.each(['=1+1', '+1', '-1', '@SUM(A1)'])(
  'dayToCsv writes the till %s so that a spreadsheet does not run it',
  (terminal) => {
    expect(linesOf(dayToCsv({ ...report, totals: [{ ...row, terminal, settlements: [] }] }))[0]).toContain(
      `,'${terminal},`,
    );
  },
);
