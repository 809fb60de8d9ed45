import { table, type ExportedBreak } from './csv.js';
import type { TillTotals } from './day-totals.js';

/** The exported report of a business day. */
export type ExportedDay = {
  readonly date: string;
  readonly state: string;
  readonly totals: readonly TillTotals[];
  readonly breaks: readonly (Pick<
    ExportedBreak,
    | 'type'
    | 'checkout_id'
    | 'charge_id'
    | 'refund_id'
    | 'expected'
    | 'actual'
    | 'healed'
    | 'suggested_action'
    | 'acknowledged'
  > & {
    /** In its reconciliation, from 1. */
    readonly n: number;
  })[];
  /** How many more breaks the reconciliation has counted and not listed. */
  readonly breaks_omitted: number;
};

const COLUMNS = [
  'record',
  'date',
  'state',
  'currency',
  'store',
  'terminal',
  'sales_count',
  'sales_amount',
  'refunds_count',
  'refunds_amount',
  'voids_count',
  'voids_amount',
  'fees',
  'net',
  'settlement_date',
  'settlement_amount',
  'n',
  'break_type',
  'checkout_id',
  'charge_id',
  'refund_id',
  'expected_amount',
  'actual_amount',
  'healed',
  'acknowledged_by',
  'suggested_action',
] as const;

/**
 * One table according to RFC 4180. It has a line for each till (`total`; `others` for the tills that are not listed),
 * for each payout of a till (`settlement`) and for each break. A further line (`omitted`) says in `actual_amount` how
 * many breaks the reconciliation does not list. Amounts are in the smallest unit. A cell without a value is empty.
 */
export function dayToCsv({ date, state, totals, breaks, breaks_omitted: omitted }: ExportedDay): string {
  return table(COLUMNS, [
    ...totals.map(({ currency, store, terminal, sales, refunds, voids, fees, net, others }) => ({
      record: others === true ? 'others' : 'total',
      date,
      state,
      currency,
      store,
      terminal,
      sales_count: sales.count,
      sales_amount: sales.amount,
      refunds_count: refunds.count,
      refunds_amount: refunds.amount,
      voids_count: voids.count,
      voids_amount: voids.amount,
      fees,
      net,
    })),
    ...totals.flatMap(({ currency, store, terminal, settlements }) =>
      settlements.map((settlement) => ({
        record: 'settlement',
        date,
        state,
        currency,
        store,
        terminal,
        settlement_date: settlement.date,
        settlement_amount: settlement.amount,
      })),
    ),
    ...breaks.map(({ type, expected, actual, acknowledged, n, checkout_id, charge_id, refund_id, ...rest }) => ({
      record: 'break',
      date,
      state,
      currency: actual?.currency ?? expected?.currency,
      n,
      break_type: type,
      checkout_id,
      charge_id,
      refund_id,
      expected_amount: expected?.amount,
      actual_amount: actual?.amount,
      healed: rest.healed,
      acknowledged_by: acknowledged?.by,
      suggested_action: rest.suggested_action,
    })),
    ...(omitted === 0 ? [] : [{ record: 'omitted', date, state, break_type: 'breaks', actual_amount: omitted }]),
  ]);
}
