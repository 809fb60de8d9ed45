import { print } from '../report.js';
import { shuffled } from '../statistics.js';
import type { ContestantProcess } from './contestant-process.js';
import type { ContestantName } from './contestants.js';
import type { LapResult } from './lap.js';
import { OPERATIONS, type Operation } from './operations.js';
import type { Plan } from './plan.js';

export const CONCURRENCIES = [1, 64] as const;

/** What one contestant did under one condition, over all rounds. */
export type Cell = {
  readonly contestant: ContestantName;
  readonly operation: Operation;
  readonly concurrency: number;
  readonly laps: LapResult[];
};

/** One lap of every contestant under every condition, again and again, each time in another order. */
export async function race(
  contestants: readonly ContestantProcess[],
  plan: Plan,
  random: () => number,
): Promise<readonly Cell[]> {
  const conditions = OPERATIONS.flatMap((operation) =>
    CONCURRENCIES.map((concurrency) => ({ operation, concurrency })),
  );
  const cells = conditions.flatMap((condition) =>
    contestants.map(({ name }): Cell => ({ contestant: name, ...condition, laps: [] })),
  );
  for (let round = 0; round <= plan.rounds; round += 1) {
    const isWarmUp = round === 0;
    print(isWarmUp ? 'warming up' : `round ${round} of ${plan.rounds}`);
    for (const { operation, concurrency } of shuffled(conditions, random)) {
      for (const contestant of shuffled(contestants, random)) {
        const { leadInMs } = plan;
        const ms = isWarmUp ? plan.warmUpMs : plan.lapMs;
        const lap = await contestant.run({ operation, concurrency, leadInMs, ms });
        if (isWarmUp) continue;
        cells
          .find(
            (cell) =>
              cell.contestant === contestant.name && cell.operation === operation && cell.concurrency === concurrency,
          )
          ?.laps.push(lap);
      }
    }
  }
  return cells;
}
