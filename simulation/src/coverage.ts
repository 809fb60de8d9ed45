import { FAULTS } from './fault-kinds.js';
import { ACTIONS, MOMENTS, type Beat } from './plan.js';

/** How often each combination of fault, moment and action was drawn. */
export class Coverage {
  readonly #draws = new Map<string, number>();

  add(beats: Iterable<Beat>): void {
    for (const beat of beats) {
      const key = keyOf(beat);
      this.#draws.set(key, (this.#draws.get(key) ?? 0) + 1);
    }
  }

  /** How many combinations there are, also those that never came. */
  get combinations(): number {
    return FAULTS.length * MOMENTS.length * ACTIONS.length;
  }

  get total(): number {
    return [...this.#draws.values()].reduce((sum, count) => sum + count, 0);
  }

  /** How often the rarest combination came. */
  least(): number {
    return Math.min(...this.rows().map(({ least }) => least));
  }

  /** How often each fault came at each moment, all actions together; `least`: its rarest combination. */
  rows(): { readonly fault: string; readonly counts: readonly number[]; readonly least: number }[] {
    return FAULTS.map((fault) => {
      const draws = MOMENTS.map((moment) =>
        ACTIONS.map((action) => this.#draws.get(keyOf({ moment, fault, action })) ?? 0),
      );
      const counts = draws.map((ofActions) => ofActions.reduce((sum, count) => sum + count, 0));
      return { fault, counts, least: Math.min(...draws.flat()) };
    });
  }
}

function keyOf({ moment, fault, action }: Beat): string {
  return `${moment} / ${fault} / ${action}`;
}
