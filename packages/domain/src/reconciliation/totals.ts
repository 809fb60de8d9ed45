import { compareTexts } from './breaks.js';

/** The sums of a reconciliation in one currency. Amounts are in its smallest unit. Wire names. */
export type CurrencyTotals = {
  readonly currency: string;
  /** Tillflow's paid checkouts. */
  readonly checkouts: number;
  readonly paid_here: number;
  readonly refunded_here: number;
  /** The provider's paid charges of Tillflow. */
  readonly charges: number;
  readonly paid_there: number;
  readonly refunded_there: number;
  /** Fees of these charges, VAT included. */
  readonly fees: number;
  /** The credits of these charges in the balance. */
  readonly credited: number;
  /** Paid charges of other systems on the same account. */
  readonly foreign: number;
  readonly foreign_amount: number;
  readonly breaks: number;
};

type Figure = Exclude<keyof CurrencyTotals, 'currency'>;

const ZERO: Readonly<Record<Figure, number>> = {
  checkouts: 0,
  paid_here: 0,
  refunded_here: 0,
  charges: 0,
  paid_there: 0,
  refunded_there: 0,
  fees: 0,
  credited: 0,
  foreign: 0,
  foreign_amount: 0,
  breaks: 0,
};

/** In the order of the export. */
export const FIGURES = Object.keys(ZERO) as readonly Figure[];

/** Sums figures by currency. */
export class Totals {
  readonly #byCurrency = new Map<string, Record<Figure, number>>();

  add(currency: string, figures: Partial<Record<Figure, number>>): void {
    const sums = this.#byCurrency.get(currency) ?? { ...ZERO };
    for (const figure of FIGURES) sums[figure] += figures[figure] ?? 0;
    this.#byCurrency.set(currency, sums);
  }

  addAll(totals: readonly CurrencyTotals[]): void {
    for (const { currency, ...figures } of totals) this.add(currency, figures);
  }

  /** In alphabetical order of the currencies. */
  list(): CurrencyTotals[] {
    return [...this.#byCurrency]
      .toSorted(([a], [b]) => compareTexts(a, b))
      .map(([currency, figures]) => Object.assign({ currency }, figures));
  }
}
