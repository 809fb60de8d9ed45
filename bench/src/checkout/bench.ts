import { machineLine, print, printTable, report } from '../report.js';
import { byPart, Stack, type Part } from '../stack.js';
import { percentile, randomOf, sum, type Random } from '../statistics.js';
import { countResults, growthResults, speedResults, validityResults } from './bounds.js';
import { countOne, type Counted } from './counts.js';
import { openPaidCheckouts } from './open-checkouts.js';
import { answeredMs, cpuOf, hasCpu, rateOf } from './round.js';
import { FULL, measureSpeed, QUICK, warmUp, type Cell, type Plan } from './speed.js';
import { Till } from './till.js';

const SHARES = [0.5, 0.95, 0.99] as const;
const CPU_PARTS: readonly Part[] = ['server', 'worker', 'baseline', 'api', 'sandbox', 'load'];

/** Compares checkouts with their baselines, among none and among many open ones, in one run on one server. */
export async function benchCheckout({ quick, seed }: { quick: boolean; seed: number }): Promise<boolean> {
  const plan = quick ? QUICK : FULL;
  const random = randomOf(seed);
  print(`checkout: ${machineLine()}, seed ${seed}${quick ? ', quick: the figures mean little' : ''}`);
  const stack = await Stack.start({ hasBaseline: true });
  const till = new Till(stack.apiUrl);
  try {
    print('warming up');
    await warmUp(stack, till, plan);
    const counted = await Promise.all(Array.from({ length: plan.counted }, () => countOne(stack, till)));

    print('speed with none open');
    const none = await measureSpeed(stack, till, plan, random);
    printSpeed(none, 0);
    const many = await measureAmongMany(stack, till, counted, plan, random);
    const results = [
      ...speedResults(none, 0, random),
      ...speedResults(many, plan.open, random),
      ...growthResults(none, many, plan.open, random),
      ...countResults(counted),
      ...validityResults([...none, ...many]),
    ];
    return await report('checkout', results, { seed, plan, none: none.map(summaryOf), many: many.map(summaryOf) });
  } finally {
    await till.close();
    await stack.stop();
  }
}

async function measureAmongMany(
  stack: Stack,
  till: Till,
  counted: readonly Counted[],
  plan: Plan,
  random: Random,
): Promise<readonly Cell[]> {
  const model = counted[0]?.dayAfter.at(-1);
  if (model === undefined || !model.isOpen) throw new Error('A paid checkout has no open run the day after');
  print(`\nstarting ${plan.open} runs of ${model.type}`);
  await openPaidCheckouts(stack, model, plan.open);
  print(`speed with ${plan.open} open`);
  const cells = await measureSpeed(stack, till, plan, random);
  printSpeed(cells, plan.open);
  return cells;
}

/** The summary of a cell, for the file. */
function summaryOf({ rounds, ...conditions }: Cell): object {
  return {
    ...conditions,
    perSecond: rateOf(rounds),
    answeredMs: percentilesOf(answeredMs(rounds)),
    cpuMs: hasCpu(rounds) ? byPart((part) => cpuOf(rounds, [part])) : null,
    rounds: rounds.map((round) => ({
      operations: round.samples.length,
      perSecond: rateOf([round]),
      othersCores: round.othersCores,
      failures: round.failures,
    })),
  };
}

function printSpeed(cells: readonly Cell[], open: number): void {
  print(`\nSpeed with ${open} open. Times in ms, CPU in ms per operation. One at a time, the variants took turns.\n`);
  const header = ['', 'provider', 'at once', 'per s', 'n', 'QR p50', 'p95', 'p99'];
  const rows = cells.map(({ variant, delayMs, concurrency, rounds }) => [
    variant,
    `${delayMs} ms`,
    String(concurrency),
    rateOf(rounds).toFixed(1),
    String(answeredMs(rounds).length),
    ...percentilesOf(answeredMs(rounds)).map((ms) => ms.toFixed(1)),
    ...CPU_PARTS.map((part) => (hasCpu(rounds) ? cpuOf(rounds, [part]).toFixed(1) : '')),
  ]);
  printTable([[...header, ...CPU_PARTS.map((part) => `${part} CPU`)], ...rows], (column) => column > 0);
  const others = cells.flatMap(({ rounds }) => rounds.flatMap(({ othersCores }) => othersCores ?? []));
  if (others.length === 0) return;
  const mean = sum(others) / others.length;
  print(`  other processes used ${mean.toFixed(2)} cores on average, at most ${Math.max(...others).toFixed(2)}`);
}

function percentilesOf(sample: readonly number[]): readonly number[] {
  return sample.length === 0 ? [] : SHARES.map((share) => percentile(sample, share));
}
