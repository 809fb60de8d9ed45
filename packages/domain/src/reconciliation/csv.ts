import type { Break, Stated } from './breaks.js';
import type { Foreign } from './reconcile.js';
import { FIGURES, type CurrencyTotals } from './totals.js';

/** A break as the API answers it: null where {@link Break} has no field. */
export type ExportedBreak = Omit<Break, 'made_by' | 'acknowledged'> & {
  readonly made_by?: Break['made_by'] | null;
  readonly acknowledged?: Break['acknowledged'] | null;
};

/** The exported result of a reconciliation. */
export type Exported = {
  readonly breaks: readonly ExportedBreak[];
  readonly foreign: readonly Foreign[];
  readonly totals: readonly CurrencyTotals[];
  /** Counts of breaks and foreign charges that the result leaves out. */
  readonly omitted: { readonly breaks: number; readonly foreign: number };
  /** Records that could not be read, and why. */
  readonly not_compared: readonly { readonly what: string; readonly code: string }[];
};

const COLUMNS = [
  'record',
  'type',
  'checkout_id',
  'charge_id',
  'refund_id',
  'transaction_id',
  'receipt_id',
  'expected_status',
  'expected_amount',
  'expected_currency',
  'actual_status',
  'actual_amount',
  'actual_currency',
  'age_seconds',
  'paid_at',
  'healed',
  'suggested_action',
  'made_by_actor',
  'made_by_user',
  'made_by_team',
  'acknowledged_by',
  'acknowledged_at',
  'acknowledged_reason',
] as const;

type RowOf<Column extends string> = Partial<Record<Column, string | number | boolean | null | undefined>>;
type Row = RowOf<(typeof COLUMNS)[number]>;

/**
 * One table according to RFC 4180. It has a line for each break, each foreign charge (`actual_amount`), and each total
 * of a currency (its name in `type`, its value in `actual_amount`). Further lines say how many breaks and foreign
 * charges are left out, and which records could not be read (the reason in `actual_status`). Amounts are in the
 * smallest unit.
 */
export function toCsv({ breaks, foreign, totals, omitted, not_compared }: Exported): string {
  const rows: Row[] = [
    ...breaks.map(rowOfBreak),
    ...foreign.map(({ charge_id, amount, currency, paid_at }) => ({
      record: 'foreign',
      charge_id,
      actual_amount: amount,
      actual_currency: currency,
      paid_at,
    })),
    ...totals.flatMap((total) =>
      FIGURES.map((figure) => ({
        record: 'total',
        type: figure,
        actual_amount: total[figure],
        actual_currency: total.currency,
      })),
    ),
    ...Object.entries(omitted)
      .filter(([, count]) => count > 0)
      .map(([type, count]) => ({ record: 'omitted', type, actual_amount: count })),
    ...not_compared.map(({ what, code }) => ({ record: 'not_compared', type: what, actual_status: code })),
  ];
  return table(COLUMNS, rows);
}

/** A table according to RFC 4180, with the names of its columns. A column without a value is empty. */
export function table<Column extends string>(columns: readonly Column[], rows: readonly RowOf<Column>[]): string {
  const lines = [columns.join(','), ...rows.map((row) => columns.map((column) => cell(row[column])).join(','))];
  return lines.map((line) => `${line}\r\n`).join('');
}

function rowOfBreak({ expected, actual, made_by, acknowledged, ...rest }: ExportedBreak): Row {
  return {
    record: 'break',
    ...rest,
    ...statedAs('expected', expected),
    ...statedAs('actual', actual),
    made_by_actor: made_by?.actor_uid,
    made_by_user: made_by?.user_uid,
    made_by_team: made_by?.team_uid,
    acknowledged_by: acknowledged?.by,
    acknowledged_at: acknowledged?.at,
    acknowledged_reason: acknowledged?.reason,
  };
}

function statedAs(side: 'expected' | 'actual', stated: Stated | null): Row {
  if (stated === null) return {};
  const { status, amount, currency } = stated;
  return { [`${side}_status`]: status, [`${side}_amount`]: amount, [`${side}_currency`]: currency };
}

function cell(value: string | number | boolean | null | undefined): string {
  if (value === null || value === undefined) return '';
  if (typeof value !== 'string') return String(value);
  // A spreadsheet would run a text that begins like a formula, and ids and statuses come from the provider.
  const text = /^[=+\-@\t\r]/.test(value) ? `'${value}` : value;
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
