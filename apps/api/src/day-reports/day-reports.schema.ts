import { dayToCsv, isCalendarDate } from '@tillflow/domain';
import { z } from 'zod';
import { storeId, terminal } from '../checkouts/checkouts.schema.js';
import { breakReply, reconciliationId } from '../reconciliations/reconciliations.schema.js';
import { amount, currency, time } from '../shared/fields.schema.js';

const date = z
  .string()
  .refine(isCalendarDate, 'must be a date of the calendar, such as 2026-11-20')
  .meta({ pattern: '^\\d{4}-\\d{2}-\\d{2}$', format: 'date', examples: ['2026-11-20'] });

export const dayReportPath = z.object({
  date: date.meta({
    description: 'The date on which the business day begins. No report: a day in the future, or before 1970',
  }),
});
export type DayReportPath = z.output<typeof dayReportPath>;

export const readDayReport = z.strictObject({
  store: storeId.optional().meta({ description: 'Only this store, by its `id`' }),
  terminal: terminal.optional().meta({ description: 'Only this till' }),
});
export type ReadDayReport = z.output<typeof readDayReport>;

const counted = z.object({ count: z.int().nonnegative(), amount });

const tillTotals = z
  .object({
    currency,
    store: z.string().nullable().meta({ description: 'The `id` of the store. Null: the payments name none' }),
    terminal: z.string().nullable().meta({ description: 'The till. Null: the payments name none' }),
    sales: counted.meta({ description: 'Payments of the day' }),
    refunds: counted.meta({
      description:
        'Refunds of the day. A final report also counts those of earlier payments, an open or provisional one only those of the day',
    }),
    voids: counted.meta({ description: 'Voids of the day, as refunds' }),
    fees: amount.nullable().meta({
      description: "Of the day's payments, with VAT, less what voids of the day returned. Null: not known yet",
    }),
    net: amount
      .nullable()
      .meta({ description: 'Sales less refunds, voids and fees. Null: the fees are not known yet' }),
    settlements: z
      .array(
        z.object({
          date: z.string().nullable().meta({ description: "In the shop's zone. Null: the provider does not say" }),
          amount,
        }),
      )
      .meta({ description: 'What the provider pays out when, as far as it is known. Less than 0: it is deducted' }),
    others: z
      .literal(true)
      .optional()
      .meta({ description: 'The sum of tills that the report does not list. A filter does not leave it out' }),
  })
  .meta({ id: 'TillTotals' });

const example = {
  date: '2026-11-20',
  from: '2026-11-19T17:00:00.000Z',
  to: '2026-11-20T17:00:00.000Z',
  state: 'final' as const,
  reconciliation_id: 'rec_daily-2026-11-20T17:30:00Z_01993f5e-8a52-7f4e-9c58-2f1d7f3a9a10',
  totals: [
    {
      currency: 'THB',
      store: 'silom',
      terminal: 'till-7',
      sales: { count: 3, amount: 450_000 },
      refunds: { count: 1, amount: 50_000 },
      voids: { count: 0, amount: 0 },
      fees: 7_944,
      net: 392_056,
      settlements: [{ date: '2026-11-27', amount: 392_056 }],
    },
  ],
  breaks: [],
  breaks_omitted: 0,
};

/** The example as its CSV. */
export const dayReportCsvExample = dayToCsv(example);

export const dayReportReply = z
  .object({
    date,
    from: time,
    to: time.meta({ description: 'The end of the day, which is not part of it' }),
    state: z.enum(['open', 'provisional', 'final']).meta({
      description:
        "`open`: the day still runs. `provisional`: it is over and not reconciled. Both are from Tillflow's own records. `final`: reconciled with the provider's",
    }),
    reconciliation_id: reconciliationId.nullable().meta({ description: 'What made it final. Null before' }),
    totals: z.array(tillTotals).meta({ description: 'In the order of currency, store and till' }),
    breaks: z.array(breakReply).meta({ description: 'Of all stores and tills. Empty until the report is final' }),
    breaks_omitted: z.int().meta({ description: 'Breaks that the reconciliation has counted and does not list' }),
  })
  .meta({ id: 'DayReport', examples: [example] });
export type DayReportReply = z.output<typeof dayReportReply>;
