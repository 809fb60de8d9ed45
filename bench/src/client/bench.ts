import { fileURLToPath } from 'node:url';
import { MeasuredProcess } from '../processes.js';
import { machineLine, print, printTable, ratio, report, type Result } from '../report.js';
import { median, randomOf, ratioOf, shuffled, type Random } from '../statistics.js';
import { ImplementationProcess, type RoundResult } from './implementation-process.js';
import { IMPLEMENTATIONS, type ImplementationName } from './implementations.js';
import { OPERATIONS, type Operation } from './operations.js';

const SERVER = fileURLToPath(new URL('server.js', import.meta.url));

/**
 * Rounds of each implementation under each condition, their length, the part before that is not measured, and a
 * warm-up.
 */
const FULL = { rounds: 30, roundMs: 400, leadInMs: 80, warmUpMs: 1_000 } as const;
/** Shows that the bench works. Its figures mean less. */
const QUICK = { rounds: 5, roundMs: 120, leadInMs: 30, warmUpMs: 300 } as const;

const CONCURRENCIES = [1, 64] as const;
/** Source: issue "The client", and issue "Half the cost of a checkout" for the interval. */
const NOT_SLOWER = { atLeast: 1, byInterval: true } as const;
const RAW: readonly ImplementationName[] = ['undici.request', 'undici.request again'];
/** When the two raw implementations differ by more than this share, the run is too noisy. */
const NOISE = 0.05;

type Condition = { readonly operation: Operation; readonly concurrency: number };
/** The rounds of one implementation under one condition. */
type Cell = Condition & { readonly implementation: ImplementationName; readonly rounds: RoundResult[] };

const CONDITIONS: readonly Condition[] = OPERATIONS.flatMap((operation) =>
  CONCURRENCIES.map((concurrency) => ({ operation, concurrency })),
);
const nameOf = ({ operation, concurrency }: Condition): string => `${operation}, ${concurrency} at once`;

/** Compares Tillflow's client with raw undici, fetch and stripe. */
export async function benchClient({ quick, seed }: { quick: boolean; seed: number }): Promise<boolean> {
  const plan = quick ? QUICK : FULL;
  const random = randomOf(seed);
  print(`client: ${machineLine()}, seed ${seed}${quick ? ', quick: the figures mean less' : ''}`);
  const server = await MeasuredProcess.start(SERVER, /^server ready (\S+)$/, {});
  const names = Object.keys(IMPLEMENTATIONS) as ImplementationName[];
  const processes = names.map((name) => new ImplementationProcess(name, server.address));
  try {
    const cells = await measure(processes, plan, random);
    printCells(cells);
    const noise = noiseOf(cells);
    const met = await report('client', resultsOf(cells, random), { seed, plan, cells: cells.map(summaryOf), noise });
    for (const { name, difference } of noise) {
      print(`  TOO NOISY  ${name}: the two runs of raw undici differ by ${(difference * 100).toFixed(1)} %`);
    }
    return met;
  } finally {
    for (const implementation of processes) implementation.stop();
    await server.stop();
  }
}

/** One round of every implementation under every condition, several times, each time in a new order. */
async function measure(
  processes: readonly ImplementationProcess[],
  plan: typeof FULL | typeof QUICK,
  random: Random,
): Promise<readonly Cell[]> {
  const cells = CONDITIONS.flatMap((condition) =>
    processes.map(({ name }): Cell => ({ implementation: name, ...condition, rounds: [] })),
  );
  for (let round = 0; round <= plan.rounds; round += 1) {
    const isWarmUp = round === 0;
    print(isWarmUp ? 'warming up' : `round ${round} of ${plan.rounds}`);
    for (const condition of shuffled(CONDITIONS, random)) {
      for (const process of shuffled(processes, random)) {
        const ms = isWarmUp ? plan.warmUpMs : plan.roundMs;
        const result = await process.run({ ...condition, leadInMs: plan.leadInMs, ms });
        if (!isWarmUp) cellsOf(cells, condition, [process.name])[0]?.rounds.push(result);
      }
    }
  }
  return cells;
}

function cellsOf(cells: readonly Cell[], where: Condition, names: readonly ImplementationName[]): Cell[] {
  return cells.filter(
    ({ implementation, operation, concurrency }) =>
      names.includes(implementation) && operation === where.operation && concurrency === where.concurrency,
  );
}

const rateOf = (rounds: readonly RoundResult[]): number => median(rounds.map(({ perSecond }) => perSecond));
const cpuOf = (rounds: readonly RoundResult[]): number => median(rounds.map(({ cpuMsPerRequest }) => cpuMsPerRequest));

function resultsOf(cells: readonly Cell[], random: Random): Result[] {
  return CONDITIONS.flatMap((condition) => {
    const roundsOf = (...names: ImplementationName[]): RoundResult[] =>
      cellsOf(cells, condition, names).flatMap(({ rounds }) => rounds);
    const [client, raw] = [roundsOf('client'), roundsOf(...RAW)];
    const rateTo = (name: string, other: readonly RoundResult[]): Result =>
      ratio(name, ratioOf(client, other, random, rateOf), NOT_SLOWER);
    return [
      rateTo(`${nameOf(condition)}: requests/s to raw undici's`, raw),
      ratio("  its CPU to raw undici's", ratioOf(client, raw, random, cpuOf)),
      rateTo("  requests/s to fetch's", roundsOf('fetch')),
      rateTo("  requests/s to stripe's", roundsOf('stripe')),
    ];
  });
}

/** The conditions under which the two raw implementations differ by more than {@link NOISE}. */
function noiseOf(cells: readonly Cell[]): { readonly name: string; readonly difference: number }[] {
  return CONDITIONS.flatMap((condition) => {
    const [one = 0, other = 0] = cellsOf(cells, condition, RAW).map(({ rounds }) => rateOf(rounds));
    const difference = Math.abs(one - other) / Math.min(one, other);
    return difference > NOISE ? [{ name: nameOf(condition), difference }] : [];
  });
}

function summaryOf(cell: Cell): object {
  const { rounds } = cell;
  return { ...cell, perSecond: rateOf(rounds), cpuMsPerRequest: cpuOf(rounds) };
}

function printCells(cells: readonly Cell[]): void {
  print('\nMedians of rounds. CPU of the whole process, in µs per request\n');
  const rows = cells.map((cell) => [
    nameOf(cell),
    cell.implementation,
    rateOf(cell.rounds).toFixed(0),
    (cpuOf(cell.rounds) * 1_000).toFixed(0),
  ]);
  printTable([['', '', 'requests/s', 'CPU µs'], ...rows], (column) => column > 1);
}
