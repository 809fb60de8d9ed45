import { fileURLToPath } from 'node:url';
import { MeasuredProcess } from '../measured-process.js';
import { machineLine, print, printTable, writeResult } from '../report.js';
import { randomOf } from '../statistics.js';
import { isMet, printVerdicts } from '../verdicts.js';
import { ContestantProcess } from './contestant-process.js';
import { CONTESTANTS, type ContestantName } from './contestants.js';
import { measureCosts, type Costs } from './costs.js';
import { FULL, QUICK } from './plan.js';
import { race, type Cell } from './race.js';
import { repliesOfProvider } from './replies.js';
import { cpuOf, noiseOf, p99Of, raceVerdicts, rateOf } from './targets.js';

const SERVER = fileURLToPath(new URL('server.js', import.meta.url));

type Options = { readonly quick: boolean; readonly seed: number };

/** Our client against raw undici, the floor, fetch and stripe, and what it costs without HTTP. */
export async function benchClient({ quick, seed }: Options): Promise<boolean> {
  const plan = quick ? QUICK : FULL;
  const random = randomOf(seed);
  print(`client: ${machineLine()}, seed ${seed}${quick ? ', quick: the figures mean less' : ''}`);
  const costs = await measureCosts(await repliesOfProvider(), plan.costMs);
  const server = await MeasuredProcess.start(SERVER, /^server ready (\S+)$/, {});
  const contestants = Object.keys(CONTESTANTS).map(
    (name) => new ContestantProcess(name as ContestantName, server.address),
  );
  try {
    const cells = await race(contestants, plan, random);
    printCells(cells);
    printCosts(costs);
    const verdicts = raceVerdicts(cells, random);
    const noise = noiseOf(cells);
    printVerdicts(verdicts);
    for (const { where, difference } of noise) {
      print(`  TOO NOISY  ${where}: raw undici differs from itself by ${(difference * 100).toFixed(1)} %`);
    }
    await writeResult('client', {
      seed,
      plan,
      cells: cells.map(recordOf),
      costs,
      noise,
      verdicts: verdicts.map((verdict) => ({ ...verdict, met: isMet(verdict) })),
    });
    return verdicts.every(isMet);
  } finally {
    for (const contestant of contestants) contestant.stop();
    await server.stop();
  }
}

/** What is kept of a cell, for the file. */
function recordOf(cell: Cell): object {
  return { ...cell, ...summaryOf(cell.laps) };
}

function summaryOf(laps: Cell['laps']): { perSecond: number; p99Ms: number; cpuMsPerRequest: number } {
  return { perSecond: rateOf(laps), p99Ms: p99Of(laps), cpuMsPerRequest: cpuOf(laps) };
}

function printCells(cells: readonly Cell[]): void {
  print("\nMedians of rounds; CPU is the whole contestant's, in µs per request\n");
  const rows = cells.map(({ contestant, operation, concurrency, laps }) => {
    const { perSecond, p99Ms, cpuMsPerRequest } = summaryOf(laps);
    return [
      `${operation}, ${concurrency} at once`,
      contestant,
      perSecond.toFixed(0),
      p99Ms.toFixed(2),
      (cpuMsPerRequest * 1_000).toFixed(0),
    ];
  });
  printTable([['', '', 'requests/s', 'p99 ms', 'CPU µs'], ...rows], (column) => column > 1);
}

function printCosts({ chargeBytes, parse, validate, retrieve, create, webhook }: Costs): void {
  print('\nWithout HTTP\n');
  printTable([
    ['parsing a charge', parse.toFixed(1), `µs (${chargeBytes} bytes)`],
    ['validating a charge', validate.toFixed(2), 'µs'],
    ['retrieve: all the client does but parsing', retrieve.toFixed(1), 'µs'],
    ['create: all the client does but parsing', create.toFixed(1), 'µs'],
    ['webhook verified and read', webhook.toFixed(1), 'µs'],
    ['webhooks', (1_000_000 / webhook).toFixed(0), 'per second and core'],
  ]);
}
