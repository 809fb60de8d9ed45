import {
  businessDay,
  businessDayFinder,
  DaySums,
  formatInstant,
  idsOf,
  parseInstant,
  type Break,
  type BusinessDay,
  type BusinessDayRule,
  type Instant,
  type TillFigures,
  type TillTotals,
} from '@tillflow/domain';
import type { ReconcileResult } from '@tillflow/workflows';
import type { StoredCheckout } from './checkouts/checkout-workflow.js';
import type { Checkouts } from './checkouts/checkouts.js';
import { PaidCheckouts } from './checkouts/paid-checkouts.js';
import type { PaidFilters } from './checkouts/queries.js';
import { toTillflowCheckout } from './checkouts/tillflow-checkout.js';
import type { Reconciliations } from './reconciliations.js';

/** A break, and its number in its reconciliation, from 1. */
type NumberedBreak = Break & { readonly n: number };

/** The totals of one business day. Wire names. */
export type DayReport = {
  /** `YYYY-MM-DD`. */
  readonly date: string;
  /** ISO 8601 UTC. `to` is not part of the day. */
  readonly from: string;
  readonly to: string;
  /** `open`: the day still runs. `provisional`: it is over and not reconciled. Both are from our own checkouts. */
  readonly state: 'open' | 'provisional' | 'final';
  /** The reconciliation that made it final; null before. */
  readonly reconciliation_id: string | null;
  readonly totals: readonly TillTotals[];
  /** Of every store and till. Empty until the report is final. */
  readonly breaks: readonly NumberedBreak[];
  /** How many more breaks the reconciliation has counted and not listed. */
  readonly breaks_omitted: number;
};

const AGE_UNIT_MS = 1_000;

/**
 * Reads the reports of business days from Temporal. Needs no worker. Every method throws what Temporal's client throws.
 */
export class DayReports {
  constructor(
    private readonly checkouts: Checkouts,
    private readonly reconciliations: Reconciliations,
    private readonly options: { readonly taskQueue: string; readonly businessDays: BusinessDayRule },
  ) {}

  /** The day that a date names. It may begin in the future. @param date satisfies `isBusinessDate` */
  dayOf(date: string): BusinessDay {
    return businessDay(date, this.options.businessDays);
  }

  /**
   * A final report costs two searches and two reads, and two more reads when a newer run contains the day. Any other
   * one costs a search for each 200 payments.
   * @throws {UnreadablePayloadError} when a checkout cannot be decrypted: it would be missing from the sums.
   */
  async read(day: BusinessDay, filters: PaidFilters, now: Instant): Promise<DayReport> {
    const { date, from, to } = day;
    const names = { date, from: formatInstant(from), to: formatInstant(to) };
    const reconciled = now < to ? null : await this.#reconciled(day);
    if (reconciled === null) {
      const totals = await this.#ownTotals(day, filters);
      const state = now < to ? 'open' : 'provisional';
      return { ...names, state, reconciliation_id: null, totals, breaks: [], breaks_omitted: 0 };
    }
    const { id, result, newest } = reconciled;
    const totals = (result.days ?? []).filter((one) => one.date === date).flatMap((one) => one.totals);
    return {
      ...names,
      state: 'final',
      reconciliation_id: id,
      totals: totals.filter((row) => isAt(row, filters)),
      breaks: result.found
        .map((one, index) => ({ ...one, n: index + 1 }))
        .filter((one) => mayContain(day, timeOf(one, result)))
        .flatMap((one) => asFoundBy(newest, one)),
      breaks_omitted: result.omitted.breaks,
    };
  }

  /**
   * The reconciliation with the shortest window that contains the day, of several the newest; and what the newest of
   * all found.
   */
  async #reconciled(
    day: BusinessDay,
  ): Promise<{ readonly id: string; readonly result: ReconcileResult; readonly newest: ReconcileResult } | null> {
    const runs = await this.reconciliations.covering(day);
    for (const { id } of runs) {
      const { result } = await this.reconciliations.get(id);
      if (result === null || !hasSumsOf(day, result)) continue;
      const [newest] = runs.toSorted((a, b) => Date.parse(b.createdAt) - Date.parse(a.createdAt));
      const later = newest === undefined || newest.id === id ? null : await this.reconciliations.get(newest.id);
      return { id, result, newest: later?.result ?? result };
    }
    return null;
  }

  /** What Tillflow's checkouts show: payments of the day, and what was returned of them on the same day. */
  async #ownTotals(day: BusinessDay, filters: PaidFilters): Promise<readonly TillTotals[]> {
    const { taskQueue, businessDays } = this.options;
    const sums = new DaySums();
    const calendarDayOf = businessDayFinder({ ...businessDays, start: '00:00' });
    const paid = new PaidCheckouts(this.checkouts, taskQueue, filters);
    for await (const stored of paid.between(day.from, day.to)) {
      const { till, currency } = { ...toTillflowCheckout(stored), currency: stored.intent.currency };
      for (const figures of figuresOf(stored, day, (at) => calendarDayOf(at).date))
        sums.add(day, till, currency, figures);
    }
    return sums.list().flatMap(({ totals }) => totals);
  }
}

/** A report's row for tills that are not listed may contain any till. */
function isAt(row: TillTotals, { store, terminal }: PaidFilters): boolean {
  if (row.others === true) return true;
  return (store === undefined || row.store === store) && (terminal === undefined || row.terminal === terminal);
}

/** The run has sums of the tills, and its worker had the same days. */
function hasSumsOf({ date, from, to }: BusinessDay, { days }: ReconcileResult): boolean {
  if (days === undefined) return false;
  const overlapping = days.filter((one) => parseInstant(one.from) < to && parseInstant(one.to) > from);
  return overlapping.every(
    (one) => one.date === date && one.from === formatInstant(from) && one.to === formatInstant(to),
  );
}

function contains({ from, to }: BusinessDay, at: number): boolean {
  return at >= from && at < to;
}

/** Ages are whole seconds, rounded down. So a break next to the end of a day is on both days, and never on none. */
function mayContain({ from, to }: BusinessDay, latest: number): boolean {
  return latest >= from && latest - (AGE_UNIT_MS - 1) < to;
}

/**
 * A break of an earlier run as the newest one found it. A break that the newest run does not find is gone, unless that
 * run did not list all breaks or compare all records, or the break had healed: a run reports a healed break once.
 */
function asFoundBy({ found, omitted, not_compared }: ReconcileResult, one: NumberedBreak): NumberedBreak[] {
  const same = found.find((other) => idsOf(other) === idsOf(one));
  const listsAll = omitted.breaks === 0 && not_compared === undefined;
  if (same === undefined) return one.healed || !listsAll ? [one] : [];
  return [{ ...one, healed: one.healed || same.healed }];
}

/**
 * The latest time at which the payment or refund of a break was made. A receipt may be younger than the compared
 * payments.
 */
function timeOf({ age_seconds }: Break, { from, to, compared_at = to }: ReconcileResult): number {
  const at = parseInstant(compared_at) - age_seconds * 1_000;
  return Math.min(Math.max(at, parseInstant(from)), parseInstant(to) - 1);
}

/** What a checkout adds to the sums of a day. As soon as the fee is known, the payouts add up to its net amount. */
function figuresOf(stored: StoredCheckout, day: BusinessDay, dateOf: (at: Instant) => string): TillFigures[] {
  const { intent, state, refunds } = stored;
  const { charges } = toTillflowCheckout(stored);
  const { fees: stated, payout } = state.payment ?? {};
  const [fee = null, vat = null] = stated ?? [];
  const paid = charges.filter(({ status }) => status === 'successful');
  // Only the payment that counts has details.
  const fees = paid.length === 1 && fee !== null && vat !== null ? fee + vat : null;
  const settled = (date: string | null, amount: number) => (fees === null ? [] : [{ date, amount }]);
  const returned = refunds.filter(
    ({ status, created_at }) => status === 'succeeded' && contains(day, parseInstant(created_at)),
  );
  const paidOut = payout === undefined ? null : dateOf(parseInstant(payout));
  return [
    ...paid.map(() => ({
      sales: { count: 1, amount: intent.amount },
      fees,
      settlements: settled(paidOut, intent.amount - (fees ?? 0)),
    })),
    // A void returns the fee. A checkout does not contain when the provider deducts what was returned.
    ...returned.map(({ kind, amount }) =>
      kind === 'void'
        ? {
            voids: { count: 1, amount },
            fees: fees === null ? null : -fees,
            settlements: settled(null, (fees ?? 0) - amount),
          }
        : { refunds: { count: 1, amount }, settlements: settled(null, -amount) },
    ),
  ];
}
