import { expect, it } from 'vitest';
import { toCsv } from './csv.js';

const found = (status: string) =>
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
        actual: { status, amount: 150_000, currency: 'THB' },
        age_seconds: 60,
        suggested_action: 'pnpm tillflow show chk_default_a',
        healed: false,
      },
    ],
  }).split('\r\n')[1];

it('toCsv writes a cell for each column, empty without a value', () => {
  expect(found('failed')).toBe(
    'break,status,chk_default_a,chrg_1,,,,paid,150000,THB,failed,150000,THB,60,,false,pnpm tillflow show chk_default_a',
  );
});

it('toCsv says what the table leaves out', () => {
  const omitted = { breaks: 1_000, foreign: 0 };
  const not_compared = [{ what: 'receipts', code: 'not_authorized' }];
  const lines = toCsv({ breaks: [], foreign: [], totals: [], omitted, not_compared }).split('\r\n');
  expect(lines.slice(1)).toEqual([
    'omitted,breaks,,,,,,,,,,1000,,,,,',
    'not_compared,receipts,,,,,,,,,not_authorized,,,,,,',
    '',
  ]);
});

it.each([
  ['a, b', ',"a, b",'],
  ['say "x"', ',"say ""x""",'],
  ['two\nlines', ',"two\nlines",'],
  ['=1+1', ",'=1+1,"],
  ['@cmd', ",'@cmd,"],
])('toCsv writes the text %j as one cell that is no formula', (status, cell) => {
  expect(found(status)).toContain(cell);
});
