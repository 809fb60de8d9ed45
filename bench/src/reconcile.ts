import { performance } from 'node:perf_hooks';
import { setTimeout as sleep } from 'node:timers/promises';
import { DEFAULT_ACCOUNT } from '@tillflow/domain';
import { RECONCILE_WORKFLOW, type ReconcileInput, type ReconcileResult } from '@tillflow/workflows';
import { makePayments, TILLS, type Window } from './payments.js';
import type { MeasuredProcess } from './processes.js';
import { print, report, type Result } from './report.js';
import { Engine, TASK_QUEUE } from './stack.js';
import { median } from './statistics.js';

const FULL = { few: 10_000, many: 100_000, rounds: 3 } as const;
const QUICK = { few: 1_000, many: 10_000, rounds: 2 } as const;
const MEMORY_READ_EVERY_MS = 100;
const MEGABYTE = 1_000_000;

/**
 * Time per payment and memory of the worker for many payments, relative to few. Source: issue "All resources at work".
 */
const BOUNDS = { timeRatio: { atMost: 1.5 }, memoryRatio: { atMost: 1.5 }, events: { atMost: 200 } } as const;

type Round = {
  readonly seconds: number;
  readonly cpuSeconds: number;
  readonly peakBytes: number;
  readonly events: number;
  readonly bytes: number;
};
type Rounds = Readonly<Record<'few' | 'many', Round[]>>;

/** Compares a reconciliation of many payments with one of few, in turn, on one engine. */
export async function benchReconcile({ quick }: { readonly quick: boolean }): Promise<boolean> {
  const { few, many, rounds } = quick ? QUICK : FULL;
  const engine = await Engine.start();
  try {
    print(`reconcile: making ${few} and ${many} payments`);
    const windows = { few: await makePayments(engine, few, 'few'), many: await makePayments(engine, many, 'many') };
    const measured: Rounds = { few: [], many: [] };
    for (let round = 1; round <= rounds; round += 1) {
      for (const size of ['few', 'many'] as const) {
        const one = await measureWithNewWorker(engine, windows.few, windows[size]);
        measured[size].push(one);
        print(
          `round ${round} of ${rounds}: ${windows[size].payments} payments in ${one.seconds.toFixed(1)} s, ` +
            `worker at most ${(one.peakBytes / MEGABYTE).toFixed(0)} MB`,
        );
      }
    }
    return await report('reconcile', resultsOf(measured, { few, many }), { rounds: measured });
  } finally {
    await engine.stop();
  }
}

function resultsOf(measured: Rounds, counts: Readonly<Record<keyof Rounds, number>>): Result[] {
  const { few, many } = counts;
  const of = (size: keyof Rounds, value: keyof Round): number => median(measured[size].map((round) => round[value]));
  const msPerPayment = (size: keyof Rounds, value: 'seconds' | 'cpuSeconds'): number =>
    (of(size, value) / counts[size]) * 1_000;
  const each = (name: string, unit: string, digits: number, value: (size: keyof Rounds) => number): Result[] =>
    (['few', 'many'] as const).map((size) => ({
      name: `  ${name}at ${counts[size]}`,
      value: value(size),
      unit,
      digits,
    }));
  return [
    {
      name: `time of a payment at ${many} to ${few} payments`,
      value: msPerPayment('many', 'seconds') / msPerPayment('few', 'seconds'),
      unit: '×',
      digits: 2,
      bound: BOUNDS.timeRatio,
    },
    ...each('', 'ms', 2, (size) => msPerPayment(size, 'seconds')),
    ...each('CPU of the worker ', 'ms', 2, (size) => msPerPayment(size, 'cpuSeconds')),
    {
      name: `memory of the worker, at most, at ${many} to ${few} payments`,
      value: of('many', 'peakBytes') / of('few', 'peakBytes'),
      unit: '×',
      digits: 2,
      bound: BOUNDS.memoryRatio,
    },
    ...each('', 'MB RSS', 0, (size) => of(size, 'peakBytes') / MEGABYTE),
    { name: `history at ${many} payments`, value: of('many', 'events'), unit: 'events', bound: BOUNDS.events },
    { name: '  its size', value: of('many', 'bytes') / 1_000, unit: 'KB' },
    { name: `${many} payments together`, value: of('many', 'seconds'), unit: 's', digits: 1 },
  ];
}

/** The worker first compares the few payments: the memory of its first run is not that of a later run. */
async function measureWithNewWorker(engine: Engine, few: Window, window: Window): Promise<Round> {
  const worker = await engine.startWorker();
  try {
    await measure(engine, worker, few);
    return await measure(engine, worker, window);
  } finally {
    await worker.stop();
  }
}

async function measure(engine: Engine, worker: MeasuredProcess, { from, to, payments }: Window): Promise<Round> {
  const { client } = engine.temporal;
  let peakBytes = 0;
  const done = new AbortController();
  const watchMemory = async (): Promise<void> => {
    while (!done.signal.aborted) {
      peakBytes = Math.max(peakBytes, (await worker.usage()).rssBytes);
      await sleep(MEMORY_READ_EVERY_MS);
    }
  };
  const before = (await worker.usage()).cpuSeconds;
  const began = performance.now();
  // `youngMs` 0: the payments are seconds old, and would be left to the next run otherwise.
  const input: ReconcileInput = { account: DEFAULT_ACCOUNT, from, to, dry_run: true, policy: { youngMs: 0 } };
  const handle = await client.workflow.start<(input: ReconcileInput) => Promise<ReconcileResult>>(RECONCILE_WORKFLOW, {
    workflowId: `reconcile/default/bench-${from}-${began}`,
    taskQueue: TASK_QUEUE,
    args: [input],
  });
  const watching = watchMemory();
  const { totals, found, days = [] } = await handle.result();
  const seconds = (performance.now() - began) / 1_000;
  done.abort();
  await watching;
  const cpuSeconds = (await worker.usage()).cpuSeconds - before;
  const [total] = totals;
  if (total?.checkouts !== payments || total.charges !== payments || total.breaks !== 0) {
    throw new Error(`Not everything agrees: ${JSON.stringify(totals)} ${JSON.stringify(found.slice(0, 3))}`);
  }
  // The payments may fall on two days.
  const tills = days.flatMap((day) => day.totals);
  const places = new Set(tills.map(({ store, terminal }) => `${store} ${terminal}`)).size;
  const [sales, paid] = [sum(tills.map((row) => row.sales.count)), sum(tills.map((row) => row.sales.amount))];
  if (places !== TILLS || sales !== payments || paid !== total.paid_there) {
    throw new Error(`The sums of ${places} tills are ${sales} payments and ${paid}, not those of the totals`);
  }
  const { historyLength, historySize } = await handle.describe();
  return { seconds, cpuSeconds, peakBytes, events: historyLength, bytes: historySize ?? 0 };
}

function sum(values: readonly number[]): number {
  return values.reduce((a, b) => a + b, 0);
}
