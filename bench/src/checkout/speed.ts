import { performance } from 'node:perf_hooks';
import { setTimeout as sleep } from 'node:timers/promises';
import { print } from '../report.js';
import type { Stack } from '../stack.js';
import { shuffled, type Random } from '../statistics.js';
import { runRound, takeTurns, type Round, type RoundSize } from './round.js';
import type { Till } from './till.js';
import {
  bareVariant,
  checkoutVariant,
  providerVariant,
  terminateAll,
  twoActivitiesVariant,
  type Variant,
} from './variants.js';

/** How long a run measures what. */
export type Plan = {
  /** Repeats of all measurements, with none and with many open. */
  readonly repeats: number;
  /** No repeat begins that would end later than this: the run stays bounded on a slow machine. */
  readonly halfSeconds: number;
  /** How long the variants take turns, one operation at a time, in each repeat and with each delay. */
  readonly turnSeconds: number;
  readonly rounds: readonly RoundSize[];
  readonly warmUp: RoundSize;
  /** The sandbox's delays of each answer, in milliseconds. */
  readonly delaysMs: readonly number[];
  /** Open paid checkouts in the second half. */
  readonly open: number;
  /** Paid checkouts whose histories are counted. */
  readonly counted: number;
};

export const FULL: Plan = {
  repeats: 4,
  halfSeconds: 720,
  turnSeconds: 16,
  rounds: [
    { concurrency: 20, seconds: 5 },
    { concurrency: 50, seconds: 7 },
  ],
  warmUp: { concurrency: 20, seconds: 5 },
  delaysMs: [0, 50],
  open: 10_000,
  counted: 3,
};

/** Shows that the bench works. Its figures mean little. */
export const QUICK: Plan = {
  ...FULL,
  repeats: 1,
  turnSeconds: 5,
  rounds: [{ concurrency: 20, seconds: 3 }],
  warmUp: { concurrency: 10, seconds: 2 },
  open: 300,
  counted: 2,
};

/** The rounds of one variant under one set of conditions, over all repeats. */
export type Cell = {
  readonly variant: Variant['name'];
  readonly concurrency: number;
  /** The provider's delay of each answer, in milliseconds. */
  readonly delayMs: number;
  /** Variants that were measured side by side have their rounds in the same order. */
  readonly rounds: Round[];
};

/**
 * Measures all variants under all conditions, several times, each time in a new order. What is compared is measured in
 * direct succession or operation by operation, because a machine changes within a minute.
 */
export async function measureSpeed(stack: Stack, till: Till, plan: Plan, random: Random): Promise<readonly Cell[]> {
  const cells: Cell[] = [];
  const compared = (delayMs: number): Variant[] => [bareVariant(stack, delayMs), checkoutVariant(stack, till)];
  const keep = async (variant: Variant, concurrency: number, delayMs: number, rounds: readonly Round[]) => {
    cellOf(cells, variant.name, concurrency, delayMs).rounds.push(...rounds);
    await clear(stack, variant, rounds);
  };
  const oneAtATime = async (delayMs: number): Promise<void> => {
    await delayProvider(stack, delayMs);
    const variants = [twoActivitiesVariant(stack), providerVariant(stack), ...compared(delayMs)];
    const rounds = await takeTurns(stack, variants, plan.turnSeconds, random);
    for (const variant of variants) await keep(variant, 1, delayMs, rounds.get(variant) ?? []);
  };
  const manyAtOnce = async (delayMs: number, size: RoundSize): Promise<void> => {
    await delayProvider(stack, delayMs);
    for (const variant of shuffled(compared(delayMs), random)) {
      await keep(variant, size.concurrency, delayMs, [await runRound(stack, variant, size)]);
    }
  };
  const measurements = plan.delaysMs.flatMap((delayMs) => [
    () => oneAtATime(delayMs),
    ...plan.rounds.map((size) => () => manyAtOnce(delayMs, size)),
  ]);

  const began = performance.now();
  for (let repeat = 1; repeat <= plan.repeats; repeat += 1) {
    const elapsed = (performance.now() - began) / 1_000;
    if (repeat > 1 && (elapsed * repeat) / (repeat - 1) > plan.halfSeconds) {
      print(`  only ${repeat - 1} of ${plan.repeats} repeats, because the machine is slow`);
      break;
    }
    print(`  repeat ${repeat} of ${plan.repeats}`);
    for (const measured of shuffled(measurements, random)) await measured();
  }
  await delayProvider(stack, 0);
  return cells.toSorted(
    (one, other) =>
      one.concurrency - other.concurrency ||
      one.delayMs - other.delayMs ||
      one.variant.localeCompare(other.variant, 'en'),
  );
}

/** The cell for these conditions, which is added if it is missing. */
function cellOf(cells: Cell[], variant: Variant['name'], concurrency: number, delayMs: number): Cell {
  const found = findCell(cells, variant, concurrency, delayMs);
  if (found !== undefined) return found;
  const cell: Cell = { variant, concurrency, delayMs, rounds: [] };
  cells.push(cell);
  return cell;
}

export function findCell(
  cells: readonly Cell[],
  variant: Variant['name'],
  concurrency: number,
  delayMs: number,
): Cell | undefined {
  return cells.find((cell) => cell.variant === variant && cell.concurrency === concurrency && cell.delayMs === delayMs);
}

/** Terminates what rounds left open, so that the next rounds have as many open workflows as these. */
export async function clear(
  stack: Stack,
  variant: Variant,
  rounds: readonly Pick<Round, 'workflowIds'>[],
): Promise<void> {
  const left = variant.leavesOpen ? rounds.flatMap(({ workflowIds }) => workflowIds) : [];
  await terminateAll(stack.temporal.client, left);
  await untilQuiet(stack);
}

/** Runs each variant for a short time, so that every process has compiled its code. Not counted. */
export async function warmUp(stack: Stack, till: Till, plan: Plan): Promise<void> {
  for (const variant of [twoActivitiesVariant(stack), bareVariant(stack, 0), checkoutVariant(stack, till)]) {
    await clear(stack, variant, [await runRound(stack, variant, plan.warmUp)]);
  }
}

export async function delayProvider({ sandbox }: Stack, delayMs: number): Promise<void> {
  await sandbox.control('DELETE', '/faults');
  if (delayMs > 0) await sandbox.control('POST', '/faults', [{ action: 'delay', delay_ms: delayMs }]);
}

const QUIET_CORES = 0.1;
const QUIET_STEP_MS = 250;
const QUIET_WITHIN_MS = 10_000;

/** Waits up to ten seconds until the server uses no CPU. @returns whether it does not. */
export async function untilQuiet(stack: Pick<Stack, 'usage'>): Promise<boolean> {
  const end = performance.now() + QUIET_WITHIN_MS;
  let { server } = await stack.usage();
  while (performance.now() < end) {
    await sleep(QUIET_STEP_MS);
    const now = (await stack.usage()).server;
    if (now.cpuSeconds - server.cpuSeconds < (QUIET_CORES * QUIET_STEP_MS) / 1_000) return true;
    server = now;
  }
  return false;
}
