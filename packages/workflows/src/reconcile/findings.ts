import { compareBreaks, Totals, type Break, type CurrencyTotals, type Foreign } from '@tillflow/domain';
import type { Compared, Room } from './activities.js';
import { emptySummary, type ReconcileInput, type ReconcilePolicy, type ReconcileResult } from './messages.js';
import type { ReconcileSummary } from './messages.js';

/** Everything that one run has found so far. */
export class Findings {
  readonly #totals = new Totals();
  #breaks: Break[] = [];
  #foreign: Foreign[] = [];

  constructor(
    private readonly input: ReconcileInput,
    private readonly policy: ReconcilePolicy,
  ) {}

  /** How much more can be told. */
  get room(): Room {
    return {
      breaks: this.policy.mostBreaks - this.#breaks.length,
      foreign: this.policy.mostForeign - this.#foreign.length,
    };
  }

  get breaks(): readonly Break[] {
    return this.#breaks;
  }

  add({ totals, breaks, foreign }: Pick<Compared, 'totals' | 'breaks' | 'foreign'>): void {
    this.#totals.addAll(totals);
    this.#breaks = [...this.#breaks, ...breaks].toSorted(compareBreaks);
    this.#foreign = [...this.#foreign, ...foreign];
  }

  /** Of breaks that no total counts yet. */
  addBreaks(breaks: readonly Break[]): void {
    for (const one of breaks) this.#totals.add(currencyOf(one), { breaks: 1 });
    this.#breaks = [...this.#breaks, ...breaks.slice(0, Math.max(this.room.breaks, 0))].toSorted(compareBreaks);
  }

  markHealed(healed: ReadonlySet<Break>): void {
    this.#breaks = this.#breaks.map((one) => (healed.has(one) ? { ...one, healed: true } : one));
  }

  drop(breaks: ReadonlySet<Break>): void {
    for (const one of breaks) this.#totals.add(currencyOf(one), { breaks: -1 });
    this.#breaks = this.#breaks.filter((one) => !breaks.has(one));
  }

  summary(): ReconcileSummary {
    return {
      ...emptySummary(this.input),
      totals: this.#totals.list(),
      breaks: this.#breaks.length,
      healed: this.#breaks.filter(({ healed }) => healed).length,
      outside: this.#breaks.filter(({ type }) => type === 'refund_made_outside').length,
    };
  }

  result(): ReconcileResult {
    const summary = this.summary();
    const counted = (figure: 'breaks' | 'foreign'): number =>
      summary.totals.reduce((sum, total: CurrencyTotals) => sum + total[figure], 0);
    return {
      ...summary,
      found: this.#breaks,
      foreign: this.#foreign,
      omitted: {
        breaks: counted('breaks') - this.#breaks.length,
        foreign: counted('foreign') - this.#foreign.length,
      },
    };
  }
}

function currencyOf({ actual, expected }: Break): string {
  return actual?.currency ?? expected?.currency ?? '';
}
