import type { BusinessDay } from '../business-day.js';
import { formatInstant } from '../instant.js';
import { compareTexts } from './breaks.js';

/** Where a payment was made: the id of a store, and a till. Null where the checkout has none. */
export type Till = { readonly store: string | null; readonly terminal: string | null };

type Counted = { readonly count: number; readonly amount: number };

/**
 * What the provider pays out on a date, in the smallest currency unit. Negative: refunds take more than payments bring.
 */
type Settlement = {
  /** `YYYY-MM-DD` in the shop's zone; null when the provider does not say. */
  readonly date: string | null;
  readonly amount: number;
};

/** The sums of one till, business day and currency. Amounts are in the smallest unit of the currency. Wire names. */
export type TillTotals = Till & {
  readonly currency: string;
  /** Payments of the day. */
  readonly sales: Counted;
  /** Made on the day, also of payments of earlier days. */
  readonly refunds: Counted;
  readonly voids: Counted;
  /** Of the day's payments, VAT included, less what voids of the day returned. Null: not known yet. */
  readonly fees: number | null;
  /** Sales less refunds, voids and fees. Null: the fees are not known yet. */
  readonly net: number | null;
  /** In the order of the dates. */
  readonly settlements: readonly Settlement[];
  /** The sum of the tills beyond the limit of a result. */
  readonly others?: true;
};

/** What left the balance in one currency by refunds and voids. Wire names. */
export type Returned = {
  readonly currency: string;
  /** For the customers, in the smallest currency unit. */
  readonly amount: number;
  /** Fees that the provider returned, VAT included: the balance lost this much less. */
  readonly fees: number;
};

/** The sums of one business day. Wire names. */
export type DayTotals = {
  /** `YYYY-MM-DD`. */
  readonly date: string;
  /** ISO 8601 UTC. `to` is not part of the day. */
  readonly from: string;
  readonly to: string;
  /** In the order of currency, store and terminal. */
  readonly totals: readonly TillTotals[];
  /** Refunds and voids of the day, in the order of the currencies. */
  readonly returned: readonly Returned[];
};

/** What is added to the sums of a till. */
export type TillFigures = Partial<
  Pick<TillTotals, 'sales' | 'refunds' | 'voids' | 'fees' | 'settlements'> & Pick<TillTotals, 'others'>
>;

type Sums = {
  readonly till: Till;
  readonly currency: string;
  readonly others: boolean;
  sales: Counted;
  refunds: Counted;
  voids: Counted;
  fees: number | null;
  readonly settlements: Map<string | null, number>;
};

type Day = Pick<DayTotals, 'date' | 'from' | 'to'> & {
  readonly tills: Map<string, Sums>;
  /** What further tills have, by currency. */
  readonly others: Map<string, Sums>;
  readonly returned: Map<string, Returned>;
};

const NONE: Counted = { count: 0, amount: 0 };
/** Also of money whose till is not known. */
export const NO_TILL: Till = { store: null, terminal: null };
const DAY_MS = 86_400_000;
/** A row has some 300 bytes. A result is one payload of 2 MB, and its breaks may need most of it. */
const MOST_TILLS = 1_500;

/**
 * How many tills of each day the result of a window lists. A result adds up further ones in one row of their currency.
 */
export function tillsPerDay({ from, to }: { readonly from: number; readonly to: number }): number {
  return Math.floor(MOST_TILLS / Math.max(1, Math.round((to - from) / DAY_MS)));
}

/** Sums by business day, till and currency. Memory grows with the number of tills, not of payments. */
export class DaySums {
  readonly #days = new Map<string, Day>();

  /**
   * @param mostTills of each day: those with the smallest keys of all that were ever added, in any order. So a listed
   * till has all of its money, also when the sums of several parts with the same limit are added up. Further ones are
   * added up in one row of their currency.
   */
  constructor(private readonly mostTills = Number.POSITIVE_INFINITY) {}

  add(day: BusinessDay, till: Till, currency: string, figures: TillFigures): void {
    this.#add(named(day), till, currency, figures);
  }

  addReturned(day: BusinessDay, returned: Returned): void {
    addTo(this.#dayOf(named(day)).returned, returned);
  }

  addAll(days: readonly DayTotals[]): void {
    for (const { totals, returned, ...day } of days) {
      for (const one of returned) addTo(this.#dayOf(day).returned, one);
      for (const { store, terminal, currency, ...figures } of totals)
        this.#add(day, { store, terminal }, currency, figures);
    }
  }

  /** In the order of the dates. */
  list(): DayTotals[] {
    return [...this.#days.values()]
      .toSorted((a, b) => compareTexts(a.date, b.date))
      .map(({ date, from, to, tills, others, returned }) => {
        const totals = [...tills.values(), ...others.values()].toSorted(compareSums).map(toTotals);
        return { date, from, to, totals, returned: listOf(returned) };
      });
  }

  #add(day: Pick<DayTotals, 'date' | 'from' | 'to'>, till: Till, currency: string, figures: TillFigures): void {
    const { tills, others } = this.#dayOf(day);
    if (figures.others === true) {
      addFigures(others, currency, emptySums(NO_TILL, currency, true), figures);
      return;
    }
    const { store, terminal } = till;
    const key = JSON.stringify([currency, store, terminal]);
    addFigures(tills, key, emptySums({ store, terminal }, currency), figures);
    if (tills.size <= this.mostTills) return;
    const [largest, sums] = [...tills].reduce((a, b) => (a[0] > b[0] ? a : b));
    tills.delete(largest);
    addFigures(others, sums.currency, emptySums(NO_TILL, sums.currency, true), toTotals(sums));
  }

  #dayOf({ date, from, to }: Pick<DayTotals, 'date' | 'from' | 'to'>): Day {
    const known = this.#days.get(date);
    if (known !== undefined) return known;
    const day = { date, from, to, tills: new Map(), others: new Map(), returned: new Map() };
    this.#days.set(date, day);
    return day;
  }
}

function emptySums(till: Till, currency: string, others = false): Sums {
  return { till, currency, others, sales: NONE, refunds: NONE, voids: NONE, fees: 0, settlements: new Map() };
}

/** Adds figures to a row, which is `empty` when it is new. */
function addFigures(rows: Map<string, Sums>, key: string, empty: Sums, figures: TillFigures): void {
  const sums = rows.get(key) ?? empty;
  rows.set(key, sums);
  const { fees = 0, settlements = [] } = figures;
  sums.sales = plus(sums.sales, figures.sales);
  sums.refunds = plus(sums.refunds, figures.refunds);
  sums.voids = plus(sums.voids, figures.voids);
  sums.fees = sums.fees === null || fees === null ? null : sums.fees + fees;
  for (const { date, amount } of settlements) sums.settlements.set(date, (sums.settlements.get(date) ?? 0) + amount);
}

/** What left the balance on all of these days, in the order of the currencies. */
export function returnedOn(days: readonly DayTotals[]): Returned[] {
  const sums = new Map<string, Returned>();
  for (const one of days.flatMap(({ returned }) => returned)) addTo(sums, one);
  return listOf(sums);
}

function addTo(sums: Map<string, Returned>, { currency, amount, fees }: Returned): void {
  const sum = sums.get(currency) ?? { currency, amount: 0, fees: 0 };
  sums.set(currency, { currency, amount: sum.amount + amount, fees: sum.fees + fees });
}

function listOf(sums: ReadonlyMap<string, Returned>): Returned[] {
  return [...sums.values()].toSorted((a, b) => compareTexts(a.currency, b.currency));
}

function named({ date, from, to }: BusinessDay): Pick<DayTotals, 'date' | 'from' | 'to'> {
  return { date, from: formatInstant(from), to: formatInstant(to) };
}

function plus(a: Counted, b: Counted = NONE): Counted {
  return { count: a.count + b.count, amount: a.amount + b.amount };
}

function toTotals({ till, currency, others, sales, refunds, voids, fees, settlements }: Sums): TillTotals {
  return {
    currency,
    ...till,
    sales,
    refunds,
    voids,
    fees,
    net: fees === null ? null : sales.amount - refunds.amount - voids.amount - fees,
    settlements: [...settlements]
      .toSorted(([a], [b]) => compareOrNull(a, b))
      .map(([date, amount]) => ({ date, amount })),
    ...(others ? { others } : {}),
  };
}

function compareSums(a: Sums, b: Sums): number {
  return (
    compareTexts(a.currency, b.currency) ||
    Number(a.others) - Number(b.others) ||
    compareOrNull(a.till.store, b.till.store) ||
    compareOrNull(a.till.terminal, b.till.terminal)
  );
}

/** Null comes last. */
function compareOrNull(a: string | null, b: string | null): number {
  if (a === null || b === null) return Number(a === null) - Number(b === null);
  return compareTexts(a, b);
}
