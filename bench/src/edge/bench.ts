import { fork } from 'node:child_process';
import { once } from 'node:events';
import { performance } from 'node:perf_hooks';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { ApiClient } from '../checkout/api-client.js';
import { BenchStack } from '../checkout/stack.js';
import { machineLine, print, printTable, writeResult } from '../report.js';
import { median, percentile } from '../statistics.js';
import { isMet, type Verdict } from '../verdicts.js';
import { ATTACKS } from './attacks.js';

const ATTACKER = fileURLToPath(new URL('attacker.js', import.meta.url));

/** A till asks so often. Milliseconds. */
const PAUSE_MS = 10;
const MEASURE_MS = 8_000;
const QUICK_MS = 1_500;
/** An attack needs a moment to open its connections. */
const WARM_UP_MS = 1_000;

/**
 * The attacker and the API share the machine, so a till is slower beside an attack whatever the API does. While the API
 * parsed bodies before it asked for a key, the ratio of deep JSON was 105.
 */
const MOST_TIMES_SLOWER = 10;

type Side = { readonly p50: number; readonly p99: number; readonly failed: number };
type Row = { readonly attack: string; readonly calm: Side; readonly attacked: Side; readonly answers: object };

/** How much slower a till's GET is while a caller without a key attacks. Prints a table and writes JSON. */
export async function benchEdge({ quick }: { readonly quick: boolean }): Promise<boolean> {
  const forMs = quick ? QUICK_MS : MEASURE_MS;
  const stack = await BenchStack.start();
  const till = new ApiClient(stack.apiUrl);
  try {
    const { path, link } = await openCheckout(till);
    await askFor(till, path, forMs);
    const rows: Row[] = [];
    for (const attack of Object.keys(ATTACKS)) {
      const calm = await askFor(till, path, forMs);
      const { attacked, answers } = await beside(attack, stack.apiUrl, link, () => askFor(till, path, forMs));
      rows.push({ attack, calm, attacked, answers });
      print(`${attack}: ${calm.p50.toFixed(1)} ms, attacked ${attacked.p50.toFixed(1)} ms`);
    }
    return await conclude(rows);
  } finally {
    await till.close();
    await stack.stop();
  }
}

async function openCheckout(till: ApiClient): Promise<{ readonly path: string; readonly link: string }> {
  const { status, body } = await till.post<{ id: string; events_url: string }>('/v1/checkouts', {
    reference: 'bench-edge',
    amount: 150_000,
    currency: 'THB',
    expires_in: 86_400,
  });
  if (status !== 201) throw new Error(`The checkout was answered with ${status}`);
  const { pathname, search } = new URL(body.events_url);
  return { path: `/v1/checkouts/${body.id}`, link: pathname + search };
}

/** A till that asks for its checkout, one request after the other. */
async function askFor(till: ApiClient, path: string, forMs: number): Promise<Side> {
  const times: number[] = [];
  let failed = 0;
  const until = performance.now() + forMs;
  while (performance.now() < until) {
    const began = performance.now();
    if ((await till.get(path)).status !== 200) failed += 1;
    times.push(performance.now() - began);
    await sleep(PAUSE_MS);
  }
  return { p50: median(times), p99: percentile(times, 0.99), failed };
}

async function beside<T>(
  attack: string,
  url: string,
  link: string,
  measure: () => Promise<T>,
): Promise<{ readonly attacked: T; readonly answers: object }> {
  const attacker = fork(ATTACKER, [attack, url, link], { stdio: 'inherit' });
  await sleep(WARM_UP_MS);
  const attacked = await measure();
  const ended = once(attacker, 'message');
  attacker.send('stop');
  const [answers] = (await ended) as [object];
  return { attacked, answers };
}

async function conclude(rows: readonly Row[]): Promise<boolean> {
  print(`\nedge: ${machineLine()}. A till's GET, in milliseconds, calm and while a caller without a key attacks\n`);
  const cells = rows.map(({ attack, calm, attacked, answers }) => [
    attack,
    calm.p50.toFixed(1),
    calm.p99.toFixed(1),
    attacked.p50.toFixed(1),
    attacked.p99.toFixed(1),
    (attacked.p50 / calm.p50).toFixed(1),
    String(attacked.failed),
    JSON.stringify(answers),
  ]);
  printTable(
    [['attack', 'p50', 'p99', 'attacked p50', 'p99', 'ratio', 'failed', 'answers by status'], ...cells],
    (column) => column > 0 && column < 7,
  );
  const verdicts = rows.flatMap(({ attack, calm, attacked }): Verdict[] => [
    { what: `${attack}: p50 to calm`, value: attacked.p50 / calm.p50, bound: { atMost: MOST_TIMES_SLOWER } },
    { what: `${attack}: failed requests of the till`, value: attacked.failed, bound: { atMost: 0 } },
  ]);
  await writeResult('edge', { rows, verdicts });
  return verdicts.every(isMet);
}
