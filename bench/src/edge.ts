import { fork } from 'node:child_process';
import { once } from 'node:events';
import { performance } from 'node:perf_hooks';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { ATTACKS } from './attacks.js';
import { newReference, TERMINAL, Till } from './checkout/till.js';
import { print, printTable, report, type Result } from './report.js';
import { Stack } from './stack.js';
import { median, percentile } from './statistics.js';

const ATTACKER = fileURLToPath(new URL('attacker.js', import.meta.url));

/** The pause between two requests of the till. */
const PAUSE_MS = 10;
const MEASURE_MS = 8_000;
const QUICK_MS = 1_500;
/** The time in which an attack opens its connections. */
const WARM_UP_MS = 1_000;
const EXPIRES_IN_S = 86_400;

/** One request shows a till that starts again how its checkout stands. Source: issue "What a shop needs". */
const RECOVERY = { atMost: 10 } as const;
/** The attacker and the API share the machine, so a till is slower during any attack. */
const MOST_TIMES_SLOWER = 10;

/** The times of the till's GET in milliseconds, and its failed requests. */
type Times = { readonly p50: number; readonly p99: number; readonly failed: number };
type Row = { readonly attack: string; readonly calm: Times; readonly attacked: Times; readonly answers: object };

/** Measures a till's GET, and how much a caller without a key slows it down. */
export async function benchEdge({ quick }: { readonly quick: boolean }): Promise<boolean> {
  const ms = quick ? QUICK_MS : MEASURE_MS;
  const stack = await Stack.start();
  const till = new Till(stack.apiUrl);
  try {
    const { id, events_url: eventsUrl } = await till.create(newReference(), { expiresIn: EXPIRES_IN_S });
    const { pathname, search } = new URL(eventsUrl);
    const path = `/v1/checkouts/${id}`;
    const newest = `/v1/checkouts?terminal=${TERMINAL}&limit=1`;
    await measure(till, path, ms);
    const recovery = [
      recoveryResult('GET of its checkout', await measure(till, path, ms)),
      recoveryResult('GET of its newest checkout', await measure(till, newest, ms)),
    ];
    const rows: Row[] = [];
    for (const attack of Object.keys(ATTACKS)) {
      const calm = await measure(till, path, ms);
      const under = await measureDuring(attack, stack.apiUrl, pathname + search, () => measure(till, path, ms));
      rows.push({ attack, calm, ...under });
      print(`${attack}: ${calm.p50.toFixed(1)} ms, attacked ${under.attacked.p50.toFixed(1)} ms`);
    }
    printRows(rows);
    return await report('edge', [...recovery, ...rows.flatMap(resultsOf)], { rows });
  } finally {
    await till.close();
    await stack.stop();
  }
}

function recoveryResult(name: string, { p50 }: Times): Result {
  return { name: `a till that starts again: ${name}, p50`, value: p50, unit: 'ms', digits: 1, bound: RECOVERY };
}

/** Reads again and again, as a till does. */
async function measure(till: Till, path: string, ms: number): Promise<Times> {
  const took: number[] = [];
  let failed = 0;
  const end = performance.now() + ms;
  while (performance.now() < end) {
    const began = performance.now();
    if ((await till.get(path)) !== 200) failed += 1;
    took.push(performance.now() - began);
    await sleep(PAUSE_MS);
  }
  return { p50: median(took), p99: percentile(took, 0.99), failed };
}

async function measureDuring(
  attack: string,
  url: string,
  link: string,
  measure: () => Promise<Times>,
): Promise<{ readonly attacked: Times; readonly answers: object }> {
  const attacker = fork(ATTACKER, [attack, url, link], { stdio: 'inherit' });
  await sleep(WARM_UP_MS);
  const attacked = await measure();
  const ended = once(attacker, 'message');
  attacker.send('stop');
  const [answers] = (await ended) as [object];
  return { attacked, answers };
}

function resultsOf({ attack, calm, attacked }: Row): Result[] {
  return [
    {
      name: `${attack}: p50 to calm`,
      value: attacked.p50 / calm.p50,
      unit: '×',
      digits: 1,
      bound: { atMost: MOST_TIMES_SLOWER },
    },
    { name: '  failed requests of the till', value: attacked.failed, unit: '', bound: { atMost: 0 } },
  ];
}

function printRows(rows: readonly Row[]): void {
  print("\nA till's GET in milliseconds, calm and during the attack of a caller without a key\n");
  const cells = rows.map(({ attack, calm, attacked, answers }) => [
    attack,
    ...[calm.p50, calm.p99, attacked.p50, attacked.p99].map((ms) => ms.toFixed(1)),
    JSON.stringify(answers),
  ]);
  const header = ['attack', 'p50', 'p99', 'attacked p50', 'p99', 'answers by status'];
  printTable([header, ...cells], (column) => column > 0 && column < 5);
}
