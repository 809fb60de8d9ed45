import type { Break } from './breaks.js';
import { table } from './csv.js';
import type { TillTotals } from './day-totals.js';

/** The exported report of a business day. */
export type ExportedDay = {
  readonly date: string;
  readonly state: string;
  readonly totals: readonly TillTotals[];
  readonly breaks: readonly Pick<
    Break,
    'type' | 'checkout_id' | 'charge_id' | 'refund_id' | 'healed' | 'suggested_action'
  >[];
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
  'break_type',
  'checkout_id',
  'charge_id',
  'refund_id',
  'healed',
  'suggested_action',
] as const;

/**
 * One table according to RFC 4180. It has a line for each till (`total`; `others` for the tills that are not listed), for
 * each payout of a till (`settlement`) and for each break. Amounts are in the smallest unit. A cell without a value is empty.
 */
export function dayToCsv({ date, state, totals, breaks }: ExportedDay): string {
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
    ...breaks.map(({ type, checkout_id, charge_id, refund_id, healed, suggested_action }) => ({
      record: 'break',
      date,
      state,
      break_type: type,
      checkout_id,
      charge_id,
      refund_id,
      healed,
      suggested_action,
    })),
  ]);
}
