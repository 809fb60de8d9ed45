import { performance } from 'node:perf_hooks';
import { setTimeout as sleep } from 'node:timers/promises';
import { fastForward } from '@tillflow/tools';
import { times } from '../processes.js';
import { print } from '../report.js';
import { untilQuiet } from '../checkout/speed.js';
import type { Measurement, Plan } from './conditions.js';
import { cutOffOf, type Side } from './sides.js';

const AT_ONCE = 20;
const PRINTED_EVERY = 1_000;
/** Fast-forwards at one time. The server takes a second for each. */
const FORWARDED_AT_ONCE = 100;
const MOST_FAILURES = 20;
/** The measurement before the cut-off ends so long before it. */
const MARGIN_SECONDS = 2;

/** The ids of paid checkouts that stay open, of each side. */
export type OpenCheckouts = ReadonlyMap<Side, readonly string[]>;

/** Pays `count` checkouts on each side, as tills and customers do. Both sides work at the same time. */
export async function openPaid(sides: readonly Side[], count: number): Promise<OpenCheckouts> {
  const open = new Map<Side, string[]>(sides.map((side) => [side, []]));
  await Promise.all(
    [...open].map(async ([side, ids]) => {
      const failures: string[] = [];
      await times(count, AT_ONCE, async (number) => {
        if (number % PRINTED_EVERY === 0) print(`  ${side.name}: ${number} of ${count} paid`);
        try {
          const { workflowId } = await side.variant.once(AT_ONCE);
          if (workflowId !== null) ids.push(workflowId);
        } catch (error) {
          failures.push(String(error));
          if (failures.length > MOST_FAILURES) throw error;
        }
      });
    }),
  );
  for (const { stack } of sides) await untilQuiet(stack);
  return open;
}

/**
 * The end of the day of one side, so that what the other side does then does not disturb it. The server moves each paid
 * checkout ahead in time, so that the void cut-off of all of them comes at one moment soon. Their timers are those that
 * the product has set, and fire then. One caller measures until that moment, and after it.
 * @throws {Error} when the machine is too slow to move all of them before the cut-off.
 */
export async function endTheDay(
  measurement: Measurement,
  side: Side,
  ids: readonly string[],
  { before, after }: Plan['day'],
  began: number,
): Promise<void> {
  const start = performance.now();
  const left = (): number => before - (performance.now() - start) / 1_000;
  // Each checkout has its own clock, which is ahead of the real one by this much.
  const aheadMs = cutOffOf(began) - (Date.now() + before * 1_000);
  await times(ids.length, FORWARDED_AT_ONCE, (number) =>
    fastForward(side.stack.temporal, ids[number - 1] ?? '', aheadMs),
  );
  await untilQuiet(side.stack);
  print(`  ${left().toFixed(0)} s until the cut-off`);
  if (left() < before / 8) throw new Error('The machine is too slow to move all paid checkouts before the cut-off');
  await measurement.turns(left() - MARGIN_SECONDS, 0, 'before the cut-off', [side]);
  await sleep(Math.max(0, left()) * 1_000);
  await measurement.turns(after, 0, 'after the cut-off', [side]);
}
