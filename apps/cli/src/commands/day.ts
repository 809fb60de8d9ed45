import {
  dayToCsv,
  formatMoney,
  instant,
  isBusinessDate,
  isCurrency,
  isOpen,
  REFERENCE,
  type TillTotals,
} from '@tillflow/domain';
import { businessDayRule, DayReports, Reconciliations, type DayReport } from '@tillflow/temporal';
import { command, EXIT, UsageError } from '../command.js';
import { daySettings } from '../settings.js';
import { columns, utc } from '../text.js';
import { READ_WITHIN_MS, withTemporal } from '../temporal.js';

export const day = command({
  name: 'day',
  synopsis: '<date> [--store <id>] [--terminal <till>] [--csv]',
  summary: 'Shows the totals of a business day for each store, till and currency.',
  details: [
    '  <date>              YYYY-MM-DD: the business day that begins on this date at BUSINESS_DAY_START, in BUSINESS_TIMEZONE',
    '  --store <id>        only this store',
    '  --terminal <till>   only this till',
    '  --csv               one table for a spreadsheet, with amounts in the smallest unit',
    '',
    "open: the day still runs. provisional: it is over and not reconciled. Both are from Tillflow's own records. final:",
    'reconciled with the provider. Needs no worker.',
    'Exit code 1: the report is final and has an open break, or breaks that it does not list.',
  ],
  takes: 1,
  options: { store: { type: 'string' }, terminal: { type: 'string' }, csv: { type: 'boolean' } },
  async run({ values, positionals: [date = ''], environment }) {
    if (!isBusinessDate(date)) throw new UsageError('The date must be from 1970 on, such as 2026-11-20');
    const { store, terminal, csv } = values;
    if (store !== undefined && !REFERENCE.test(store)) {
      throw new UsageError('--store must be 1 to 64 of A-Z a-z 0-9 . _ -');
    }
    if (terminal !== undefined && !/^[^\p{Cs}\p{Cc}]{1,64}$/u.test(terminal)) {
      throw new UsageError('--terminal must have 1 to 64 characters');
    }
    const settings = daySettings(environment);
    const businessDays = businessDayRule(settings);
    const report = await withTemporal(settings, ({ temporal, checkouts }) => {
      const options = { taskQueue: settings.TEMPORAL_TASK_QUEUE, readWithinMs: READ_WITHIN_MS };
      const reports = new DayReports(checkouts, new Reconciliations(temporal, options), { ...options, businessDays });
      const now = instant(Date.now());
      const wanted = reports.dayOf(date);
      if (now < wanted.from) {
        throw new UsageError(`${date} has not begun: it begins at ${new Date(wanted.from).toISOString()}`);
      }
      return reports.read(wanted, { store, terminal }, now);
    });
    const isFinding = report.breaks.some(isOpen) || report.breaks_omitted > 0;
    return {
      exit: isFinding ? EXIT.finding : EXIT.ok,
      json: report,
      lines: csv === true ? dayToCsv(report).split('\r\n').slice(0, -1) : describe(report, settings.BUSINESS_TIMEZONE),
    };
  },
});

const TITLES = ['STORE', 'TILL', 'SALES', '', 'REFUNDS', '', 'VOIDS', '', 'FEES', 'NET'];

function describe(
  { date, from, to, state, totals, breaks, breaks_omitted: omitted }: DayReport,
  zone: string,
): string[] {
  const payouts = totals.flatMap((row) =>
    row.settlements.map((one) => [
      row.store ?? '-',
      row.terminal ?? '-',
      one.date ?? 'no date yet',
      moneyIn(row, one.amount),
    ]),
  );
  return [
    `${date}: ${state}`,
    `${utc(from)} to ${utc(to)} (${zone})`,
    '',
    ...(totals.length === 0 ? ['No payments and no refunds.'] : columns([TITLES, ...totals.map(rowOf)])),
    ...(payouts.length === 0 ? [] : ['', ...columns([['STORE', 'TILL', 'PAID OUT ON', 'AMOUNT'], ...payouts])]),
    ...(breaks.length === 0
      ? []
      : [
          '',
          ...columns([
            ['BREAK', 'ABOUT', 'TO DO'],
            ...breaks.map((one) => [
              one.type,
              one.checkout_id ?? one.charge_id ?? one.receipt_id ?? '-',
              one.healed ? 'healed' : isOpen(one) ? one.suggested_action : 'acknowledged',
            ]),
          ]),
        ]),
    ...(omitted === 0 ? [] : [`… and ${omitted} more breaks: reconcile a shorter window to see them`]),
  ];
}

function rowOf(row: TillTotals): string[] {
  const { store, terminal, sales, refunds, voids, fees, net, others } = row;
  const counted = ({ count, amount }: TillTotals['sales']): string[] => [String(count), moneyIn(row, amount)];
  return [
    others === true ? 'others' : (store ?? '-'),
    terminal ?? '-',
    ...counted(sales),
    ...counted(refunds),
    ...counted(voids),
    fees === null ? 'not known yet' : moneyIn(row, fees),
    net === null ? 'not known yet' : moneyIn(row, net),
  ];
}

function moneyIn({ currency }: TillTotals, amount: number): string {
  if (!isCurrency(currency)) return `${amount} ${currency}`;
  return `${amount < 0 ? '-' : ''}${formatMoney({ amount: Math.abs(amount), currency })}`;
}
