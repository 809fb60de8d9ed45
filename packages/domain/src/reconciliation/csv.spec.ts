import { expect, it } from 'vitest';
import type { Break } from './breaks.js';
import { toCsv } from './csv.js';
import { FIGURES } from './totals.js';

const found = (status: string | null, more: Partial<Break> = {}) =>
  toCsv({
    foreign: [],
    totals: [],
    omitted: { breaks: 0, foreign: 0 },
    not_compared: [],
    breaks: [
      {
        type: 'status',
        checkout_id: 'chk_default_a',
        charge_id: 'chrg_1',
        refund_id: null,
        transaction_id: null,
        receipt_id: null,
        expected: { status: 'paid', amount: 150_000, currency: 'THB' },
        actual: status === null ? null : { status, amount: 150_000, currency: 'THB' },
        age_seconds: 60,
        suggested_action: 'pnpm tillflow show chk_default_a',
        healed: false,
        ...more,
      },
    ],
  }).split('\r\n')[1];

it('toCsv writes a cell for each column, empty without a value', () => {
  expect(found('failed')).toBe(
    'break,status,chk_default_a,chrg_1,,,,paid,150000,THB,failed,150000,THB,60,,false,pnpm tillflow show chk_default_a,,,,,,',
  );
  expect(found(null)).toBe(
    'break,status,chk_default_a,chrg_1,,,,paid,150000,THB,,,,60,,false,pnpm tillflow show chk_default_a,,,,,,',
  );
});

it('toCsv says who made a refund and who acknowledged a break', () => {
  const made_by = { actor_uid: 'user_1', user_uid: 'user_2', team_uid: null };
  const acknowledged = { by: 'cli:nan', at: '2026-03-11T09:00:00.000Z', reason: 'asked, the shop agrees' };
  expect(found('failed', { made_by, acknowledged })).toMatch(
    /,user_1,user_2,,cli:nan,2026-03-11T09:00:00.000Z,"asked, the shop agrees"$/,
  );
});

it('toCsv has a line for each break, charge of another system, figure of a currency, and what the table leaves out', () => {
  const figures = Object.fromEntries(FIGURES.map((figure, n) => [figure, n])) as Record<
    (typeof FIGURES)[number],
    number
  >;
  const lines = toCsv({
    breaks: [],
    foreign: [{ charge_id: 'chrg_2', amount: 2_000, currency: 'THB', paid_at: '2026-03-10T09:00:00.000Z' }],
    totals: [{ ...figures, currency: 'SGD', credited: -5 }],
    omitted: { breaks: 1_000, foreign: 0 },
    not_compared: [{ what: 'receipts', code: 'not_authorized' }],
  }).split('\r\n');
  expect(lines).toEqual([
    'record,type,checkout_id,charge_id,refund_id,transaction_id,receipt_id,expected_status,expected_amount,expected_currency,actual_status,actual_amount,actual_currency,age_seconds,paid_at,healed,suggested_action,made_by_actor,made_by_user,made_by_team,acknowledged_by,acknowledged_at,acknowledged_reason',
    'foreign,,,chrg_2,,,,,,,,2000,THB,,2026-03-10T09:00:00.000Z,,,,,,,,',
    'total,checkouts,,,,,,,,,,0,SGD,,,,,,,,,,',
    'total,paid_here,,,,,,,,,,1,SGD,,,,,,,,,,',
    'total,refunded_here,,,,,,,,,,2,SGD,,,,,,,,,,',
    'total,charges,,,,,,,,,,3,SGD,,,,,,,,,,',
    'total,paid_there,,,,,,,,,,4,SGD,,,,,,,,,,',
    'total,refunded_there,,,,,,,,,,5,SGD,,,,,,,,,,',
    'total,fees,,,,,,,,,,6,SGD,,,,,,,,,,',
    'total,credited,,,,,,,,,,-5,SGD,,,,,,,,,,',
    'total,foreign,,,,,,,,,,8,SGD,,,,,,,,,,',
    'total,foreign_amount,,,,,,,,,,9,SGD,,,,,,,,,,',
    'total,breaks,,,,,,,,,,10,SGD,,,,,,,,,,',
    'omitted,breaks,,,,,,,,,,1000,,,,,,,,,,,',
    'not_compared,receipts,,,,,,,,,not_authorized,,,,,,,,,,,,',
    '',
  ]);
});

it.each([
  ['a, b', ',"a, b",'],
  ['say "x"', ',"say ""x""",'],
  ['two\nlines', ',"two\nlines",'],
  ['=1+1', ",'=1+1,"],
  ['+1', ",'+1,"],
  ['-1', ",'-1,"],
  ['@cmd', ",'@cmd,"],
  ['\tx', ",'\tx,"],
  ['\rx', `,"'\rx",`],
  ['a=1', ',a=1,'],
])('toCsv writes the text %j as one cell that is no formula', (status, cell) => {
  expect(found(status)).toContain(cell);
});
