import { countOne, costOf, type Counted } from '../checkout/counts.js';
import { answeredMs, cpuOf, paidMs, rateOf } from '../checkout/round.js';
import { machineLine, print, printTable, report, type Result } from '../report.js';
import { THIS_TREE } from '../sandbox-process.js';
import type { Part } from '../stack.js';
import { percentile, randomOf, type Interval } from '../statistics.js';
import { comparisonsOf, costResults, failureResult, FIGURES, ratioResults, type Figure } from './bounds.js';
import {
  conditionsOf,
  findCell,
  FULL,
  Measurement,
  nameOf,
  QUICK,
  type Cell,
  type Condition,
  type Plan,
} from './conditions.js';
import { endTheDay, openPaid } from './day.js';
import { buildReference } from './reference.js';
import { SIDES, startSides, stopSides, type Side, type SideName } from './sides.js';

const CPU_PARTS: readonly Part[] = ['server', 'worker', 'api', 'sandbox'];

type Options = { readonly quick: boolean; readonly seed: number; readonly ref: string };

/** Measures this tree and a commit side by side. A quick run judges nothing. */
export async function benchCompare({ quick, seed, ref }: Options): Promise<boolean> {
  const plan = quick ? QUICK : FULL;
  const random = randomOf(seed);
  print(`compare: ${machineLine()}, seed ${seed}${quick ? ', quick: the figures mean little' : ''}`);
  const { tree, commit } = await buildReference(ref);
  const began = Date.now();
  const sides = await startSides({ 'this tree': THIS_TREE, reference: tree });
  try {
    const measurement = new Measurement(sides, random);
    const counted = await measure(measurement, plan, began);
    const costs = { 'this tree': costOf(counted['this tree']), reference: costOf(counted.reference) };
    const { cells } = measurement;
    const comparisons = comparisonsOf(cells, random);
    printCells(cells);
    printComparisons(comparisons);
    const results = [...ratioResults(cells, random), ...costResults(costs), failureResult(cells)];
    const details = { commit, seed, plan, cells: cells.map(summaryOf), comparisons, costs };
    return await report('compare', quick ? withoutBounds(results) : results, details);
  } finally {
    await stopSides(sides);
  }
}

async function measure(
  measurement: Measurement,
  plan: Plan,
  began: number,
): Promise<Readonly<Record<SideName, readonly Counted[]>>> {
  print('warming up');
  await measurement.warmUp(plan);
  const counted = { 'this tree': [] as Counted[], reference: [] as Counted[] };
  for (const side of measurement.sides) counted[side.name].push(...(await countSome(side, plan.counted)));
  print('customers who pay at once');
  await measurement.repeat(plan, plan.repeats, 'none');
  printCells(measurement.cells);
  print('\ncustomers who pay later');
  for (let repeat = 1; repeat <= plan.slow.repeats; repeat += 1) await measurement.slow(plan.slow);
  printCells(measurement.cells);
  print(`\n${plan.open} paid checkouts on each side`);
  const open = await openPaid(measurement.sides, plan.open);
  const [busy] = plan.rounds;
  const many = { ...plan, delaysMs: [0], rounds: busy === undefined ? [] : [{ ...busy, delaysMs: [0] }] };
  await measurement.repeat(many, plan.manyRepeats, 'many open');
  printCells(measurement.cells);
  for (const [side, ids] of open) {
    print(`\nthe end of the day of ${side.name}`);
    await endTheDay(measurement, side, ids, plan.day, began);
  }
  return counted;
}

function countSome({ stack, till }: Side, count: number): Promise<Counted[]> {
  return Promise.all(Array.from({ length: count }, () => countOne(stack, till)));
}

function withoutBounds(results: readonly Result[]): Result[] {
  return results.map(({ name, value, unit, digits, interval }) => ({
    name,
    value,
    unit,
    ...(digits !== undefined && { digits }),
    ...(interval && { interval }),
  }));
}

/** The summary of a cell, for the file. */
function summaryOf({ side, condition, rounds }: Cell): object {
  return {
    side,
    ...condition,
    operations: rounds.flatMap(({ samples }) => samples).length,
    perSecond: rateOf(rounds),
    answeredMs: percentilesOf(answeredMs(rounds)),
    paidMs: percentilesOf(paidMs(rounds)),
    cpuMs: Object.fromEntries(CPU_PARTS.map((part) => [part, cpuOf(rounds, [part])])),
    failures: rounds.flatMap(({ failures }) => failures),
    othersCores: rounds.map(({ othersCores }) => othersCores),
  };
}

function percentilesOf(sample: readonly number[]): { readonly p50: number; readonly p99: number } | null {
  return sample.length === 0 ? null : { p50: percentile(sample, 0.5), p99: percentile(sample, 0.99) };
}

function printCells(cells: readonly Cell[]): void {
  print('\nTimes in ms, CPU in ms per paid checkout. The server contains its database.\n');
  const header = ['', '', 'per s', 'n', 'QR p50', 'p99', 'paid p50', 'p99', ...CPU_PARTS.map((part) => `${part} CPU`)];
  const rows = conditionsOf(cells).flatMap((condition) => SIDES.map((side) => rowOf(cells, side, condition)));
  printTable([header, ...rows], (column) => column > 1);
}

function rowOf(cells: readonly Cell[], side: SideName, condition: Condition): string[] {
  const { rounds = [] } = findCell(cells, side, condition) ?? {};
  const times = [answeredMs(rounds), paidMs(rounds)].map(percentilesOf);
  return [
    nameOf(condition),
    side,
    rateOf(rounds).toFixed(1),
    String(answeredMs(rounds).length),
    ...times.flatMap((ms) => [ms?.p50, ms?.p99].map((value) => value?.toFixed(1) ?? '')),
    ...CPU_PARTS.map((part) => cpuOf(rounds, [part]).toFixed(1)),
  ];
}

function printComparisons(comparisons: ReturnType<typeof comparisonsOf>): void {
  print('\nThis tree relative to the reference, with 95 % intervals\n');
  const figures = Object.keys(FIGURES) as Figure[];
  const text = ({ value, low, high }: Interval): string =>
    `${value.toFixed(2)} (${low.toFixed(2)} to ${high.toFixed(2)})`;
  const rows = comparisons.map(({ condition, ratios }) => [
    condition,
    ...figures.map((figure) => text(ratios[figure])),
  ]);
  printTable([['', ...figures], ...rows], () => false);
}
