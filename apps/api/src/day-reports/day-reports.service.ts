import { Injectable } from '@nestjs/common';
import { instant, isBusinessDate } from '@tillflow/domain';
import {
  businessDayRule,
  Checkouts,
  DayReports,
  Reconciliations,
  type CheckoutFilters,
  type DayReport,
  type Till,
} from '@tillflow/temporal';
import { Problem } from '../problems/problem.js';
import { Settings } from '../providers.js';
import { toBreakReply } from '../reconciliations/reconciliations.service.js';
import { retryAfterSeconds, unavailable } from '../temporal/failures.js';
import { timeLeft } from '../temporal/request-budget.js';
import { TemporalAccess } from '../temporal/temporal.provider.js';
import type { DayReportReply, ReadDayReport } from './day-reports.schema.js';
import { Readings } from './readings.js';

/** The time for one read of a page. */
const READ_WITHIN_MS = 5_000;
/** The answer still has to be sent. */
const ANSWER_IN_MS = 200;
/** A report of many payments waits this long for the request that asks again. */
const KEEP_MS = 30_000;
/** Reports that one process adds up at a time. Each of them makes one call to Temporal after the other. */
const AT_ONCE = 2;
/** The tills of a store share a report of this age. Milliseconds. */
const FRESH_MS = 2_000;

/** The rules of the API for reports of business days. */
@Injectable()
export class DayReportsService {
  readonly #reports: DayReports;
  readonly #readings = new Readings<DayReport>({ keepMs: KEEP_MS, atOnce: AT_ONCE });
  /** A long report of an operator does not delay the tills. */
  readonly #ofStores = new Readings<DayReport>({ keepMs: KEEP_MS, freshMs: FRESH_MS, atOnce: AT_ONCE });

  constructor(temporal: TemporalAccess, settings: Settings) {
    const { values } = settings;
    const taskQueue = values.TEMPORAL_TASK_QUEUE;
    // A report of many payments takes longer than a request, so it does not end with the request that began it. Its
    // calls take no place of other background calls, such as the read of the pause: `AT_ONCE` limits them.
    const reads = { readWithinMs: READ_WITHIN_MS };
    this.#reports = new DayReports(
      new Checkouts(temporal, reads),
      new Reconciliations(temporal, { ...reads, taskQueue }),
      { taskQueue, businessDays: businessDayRule(values) },
    );
  }

  /**
   * @throws {Problem} `not_found` for a day that has not begun, and before 1970; `overloaded` while the report is not
   * ready, or while this process adds up other ones.
   */
  async read(date: string, filters: ReadDayReport): Promise<DayReportReply> {
    const report = await this.#from(this.#readings, date, filters);
    return {
      ...report,
      totals: report.totals.map(toReply),
      breaks: report.breaks.map(({ n, ...one }) => toBreakReply(one, n - 1)),
    };
  }

  /** The totals of one till, some seconds old at most. @throws {Problem} as {@link read} */
  async ofTill(date: string, till: Till): Promise<DayReport['totals']> {
    const store = till.store?.id ?? null;
    const { totals } = await this.#from(this.#ofStores, date, { store });
    return totals.filter((row) => row.others === undefined && row.store === store && row.terminal === till.terminal);
  }

  async #from(
    readings: Readings<DayReport>,
    date: string,
    filters: Pick<CheckoutFilters, 'store' | 'terminal'>,
  ): Promise<DayReport> {
    const now = instant(Date.now());
    if (!isBusinessDate(date)) throw new Problem('not_found', `There is no report of ${date}`);
    const day = this.#reports.dayOf(date);
    if (now < day.from) {
      throw new Problem('not_found', `${date} has not begun: it begins at ${new Date(day.from).toISOString()}`);
    }
    const subject = JSON.stringify([date, filters]);
    const report = await readings
      .read(subject, () => this.#reports.read(day, filters, now), Math.max(timeLeft() - ANSWER_IN_MS, ANSWER_IN_MS))
      .catch((error: unknown) => {
        throw unavailable(error);
      });
    if (report === 'full') throw overloaded('Other reports are being added up. Ask again');
    if (report === null) throw overloaded('The day has many payments: its report is being added up. Ask again');
    return report;
  }
}

function overloaded(detail: string): Problem {
  return new Problem('overloaded', detail, { retryAfterSeconds: retryAfterSeconds() });
}

function toReply({ settlements, ...totals }: DayReport['totals'][number]): DayReportReply['totals'][number] {
  return { ...totals, settlements: [...settlements] };
}
