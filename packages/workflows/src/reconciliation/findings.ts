import {
  compareBreaks,
  DaySums,
  formatInstant,
  instant,
  tillsPerDay,
  Totals,
  withAcknowledgement,
  type Break,
  type CurrencyTotals,
  type Foreign,
  type Instant,
  type Window,
} from '@tillflow/domain';
import type { ComparedPage, Room } from './activities.js';
import {
  emptySummary,
  type NotCompared,
  type ReconcileInput,
  type ReconcilePolicy,
  type ReconcileResult,
  type ReconcileSummary,
} from './messages.js';

/** The result of one run so far. */
export class Findings {
  readonly #totals = new Totals();
  /** Null when a part was compared by a worker that does not know the tills: the sums would be too low. */
  #days: DaySums | null;
  #breaks: Break[] = [];
  #foreign: Foreign[] = [];
  #notCompared: NotCompared[] = [];

  constructor(
    private readonly input: ReconcileInput,
    /** The part of the input's window that is old enough. */
    private readonly window: Window,
    private readonly policy: ReconcilePolicy,
    /** When the run began. */
    private readonly now: Instant,
  ) {
    this.#days = new DaySums(tillsPerDay(window));
  }

  get room(): Room {
    return {
      breaks: this.policy.mostBreaks - this.#breaks.length,
      foreign: this.policy.mostForeign - this.#foreign.length,
    };
  }

  get breaks(): readonly Break[] {
    return this.#breaks;
  }

  add({ totals, days, breaks, foreign }: Omit<ComparedPage, 'next'>): void {
    this.#totals.addAll(totals);
    if (days === undefined) this.#days = null;
    else this.#days?.addAll(days);
    this.#breaks = [...this.#breaks, ...breaks].toSorted(compareBreaks);
    this.#foreign = [...this.#foreign, ...foreign].toSorted(compareForeign);
  }

  addNotCompared(records: NotCompared): void {
    this.#notCompared = [...this.#notCompared, records];
  }

  /** @param breaks that no total counts yet */
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
    const { from, to } = this.window;
    return {
      ...emptySummary(this.input),
      compared_until: formatInstant(instant(Math.max(from, to))),
      totals: this.#totals.list(),
      breaks: this.#breaks.length,
      healed: this.#breaks.filter(({ healed }) => healed).length,
      outside: this.#breaks.filter(({ type }) => type === 'refund_made_outside').length,
      acknowledged: this.#breaks.filter(({ acknowledged }) => acknowledged !== undefined).length,
      ...(this.#notCompared.length === 0 ? {} : { not_compared: this.#notCompared }),
    };
  }

  result(): ReconcileResult {
    const summary = this.summary();
    const counted = (figure: 'breaks' | 'foreign'): number =>
      summary.totals.reduce((sum, total: CurrencyTotals) => sum + total[figure], 0);
    return {
      ...summary,
      compared_at: formatInstant(this.now),
      ...(this.#days === null ? {} : { days: this.#days.list() }),
      // Readers look up who has acknowledged a break, and a result with 2,000 reasons would be too long for one
      // payload.
      found: this.#breaks.map((one) => withAcknowledgement(one, null)),
      foreign: this.#foreign,
      omitted: {
        breaks: counted('breaks') - this.#breaks.length,
        foreign: counted('foreign') - this.#foreign.length,
      },
    };
  }
}

/** The order of lists does not depend on how the run was divided. */
function compareForeign(a: Foreign, b: Foreign): number {
  if (a.paid_at !== b.paid_at) return a.paid_at < b.paid_at ? -1 : 1;
  return a.charge_id < b.charge_id ? -1 : 1;
}

function currencyOf({ actual, expected }: Break): string {
  return actual?.currency ?? expected?.currency ?? '';
}
