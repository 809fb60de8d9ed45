import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { rmSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { performance } from 'node:perf_hooks';
import { setTimeout as sleep } from 'node:timers/promises';
import { queueOfAccount } from '@tillflow/domain';
import { uniformFloat64 } from 'pure-rand/distribution/uniformFloat64';
import { newReference, Till } from './checkout/till.js';
import { evenly } from './processes.js';
import { print, ratio, report } from './report.js';
import { PROVIDER } from './sandbox-process.js';
import { Engine, TASK_QUEUE } from './stack.js';
import { median, randomOf, ratioOf, type Random } from './statistics.js';

/**
 * Sales a second of the account that is measured, and how many times as many the failing account has. Both together leave
 * most of this machine's two cores idle: the bench is not about the wait for a core, which all accounts share.
 */
const SALES_PER_SECOND = 0.3;
const TIMES_AS_MANY = 10;
const FAILING = 'failing';
const FAILING_KEY = 'key-of-the-failing-account';
/** Pairs of rounds: alone, and beside the failing account. */
const FULL = { pairs: 5, seconds: 40 };
const QUICK = { pairs: 2, seconds: 6 };
const WARM_UP_SECONDS = 10;
/** What the failing account has begun ends before the next round. */
const QUIET_MS = 3_000;

type Round = readonly number[];

/**
 * Measures one account alone, and beside another account with ten times its load whose provider accepts connections and
 * never answers.
 */
export async function benchAccounts({
  quick,
  seed,
}: {
  readonly quick: boolean;
  readonly seed: number;
}): Promise<boolean> {
  const { pairs, seconds } = quick ? QUICK : FULL;
  const random = randomOf(seed);
  const silent = await silentProvider();
  const files = filesFor(silent);
  const engine = await Engine.start();
  const worker = await engine.startWorker(files);
  const api = await engine.startApi(files);
  const till = new Till(api.address);
  const alone: Round[] = [];
  const beside: Round[] = [];
  let refused = 0;
  try {
    // What the programs do for their first checkouts only: loading and compiling.
    await besideFailing(engine, api.address, random, () => sell(till, WARM_UP_SECONDS));
    for (let pair = 0; pair < pairs; pair += 1) {
      print(`accounts: pair ${pair + 1} of ${pairs}`);
      alone.push(await sell(till, seconds));
      const { result, failed } = await besideFailing(engine, api.address, random, () => sell(till, seconds));
      beside.push(result);
      refused += failed;
    }
    const p50 = (rounds: readonly Round[]): number => median(rounds.flat());
    const results = [
      ratio('POST → QR p50 beside a failing account, relative to alone', ratioOf(beside, alone, random, p50), {
        atMost: 1.2,
      }),
      { name: '  alone, p50', value: p50(alone), unit: 'ms' },
      { name: '  beside it, p50', value: p50(beside), unit: 'ms' },
      { name: '  requests of the failing account without a QR code', value: refused, unit: '' },
    ];
    return await report('accounts', results, { pairs, seconds, alone, beside });
  } finally {
    await till.close();
    await api.stop();
    await worker.stop();
    await engine.stop();
    silent.closeAllConnections();
    silent.close();
    for (const path of Object.values(files)) rmSync(path, { force: true });
  }
}

/** Sells evenly. @returns the milliseconds from each POST to its QR code */
async function sell(till: Till, seconds: number): Promise<Round> {
  const sale = async (): Promise<number> => {
    const began = performance.now();
    await till.create(newReference());
    return performance.now() - began;
  };
  return Promise.all(await evenly(seconds * SALES_PER_SECOND, 1_000 / SALES_PER_SECOND, sale));
}

/** Does the work while the failing account sells. @returns also the number of its requests, none of which got a QR code */
async function besideFailing<T>(
  engine: Engine,
  url: string,
  random: Random,
  work: () => Promise<T>,
): Promise<{ readonly result: T; readonly failed: number }> {
  const over = new AbortController();
  const failing = sellFailing(url, over.signal, random);
  const result = await work();
  over.abort();
  const failed = await failing;
  await endFailing(engine);
  return { result, failed };
}

/** @returns the number of requests, none of which got a QR code */
async function sellFailing(url: string, over: AbortSignal, random: Random): Promise<number> {
  const requests: Promise<unknown>[] = [];
  const meanPauseMs = 1_000 / (SALES_PER_SECOND * TIMES_AS_MANY);
  while (!over.aborted) {
    const body = JSON.stringify({ reference: newReference(), amount: 150_000, currency: 'THB' });
    const headers = { authorization: `Bearer ${FAILING_KEY}`, 'content-type': 'application/json' };
    requests.push(fetch(`${url}/v1/checkouts`, { method: 'POST', headers, body }).then((answer) => answer.text()));
    // At an even pace, each sale of the other account would begin at the same moment as one of these.
    await sleep(-Math.log(1 - uniformFloat64(random)) * meanPauseMs);
  }
  await Promise.all(requests);
  return requests.length;
}

/** Ends the checkouts of the failing account, whose lookups would go on into the next round. */
async function endFailing({ temporal: { client } }: Engine): Promise<void> {
  const query = `TaskQueue = '${queueOfAccount(TASK_QUEUE, FAILING)}' AND ExecutionStatus = 'Running'`;
  await sleep(QUIET_MS);
  for await (const { workflowId, type } of client.workflow.list({ query })) {
    if (type === 'checkout') await client.workflow.getHandle(workflowId).terminate('the round is over');
  }
  await sleep(QUIET_MS);
}

/** Accepts every connection and request, and never answers. */
async function silentProvider(): Promise<Server> {
  const server = createServer(() => undefined);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return server;
}

function filesFor(provider: Server): { readonly ACCOUNTS_FILE: string; readonly KEYS_FILE: string } {
  const { port } = provider.address() as AddressInfo;
  const entry = {
    base_url: `http://127.0.0.1:${port}`,
    secret_key: 'skey_test_failing',
    webhook_secret: PROVIDER.webhookSecret,
  };
  const sha256 = createHash('sha256').update(FAILING_KEY).digest('hex');
  const keys = [{ name: FAILING, sha256, account: FAILING, scopes: ['checkouts:read', 'checkouts:write'] }];
  const written = (name: string, content: unknown): string => {
    const path = join(tmpdir(), `tillflow-bench-${process.pid}-${name}.json`);
    writeFileSync(path, JSON.stringify(content));
    return path;
  };
  return { ACCOUNTS_FILE: written('accounts', { [FAILING]: entry }), KEYS_FILE: written('keys', keys) };
}
