import { performance } from 'node:perf_hooks';
import { setTimeout as sleep } from 'node:timers/promises';
import { RECONCILE_WORKFLOW, type ReconcileInput, type ReconcileResult } from '@tillflow/workflows';
import type { MeasuredProcess } from '../measured-process.js';
import { print, report } from '../report.js';
import { median } from '../statistics.js';
import { makePayments, type Span } from './books.js';
import { ReconcileStack } from './stack.js';

type Options = { readonly quick: boolean };

const FULL = { few: 10_000, many: 100_000, rounds: 3 } as const;
const QUICK = { few: 1_000, many: 10_000, rounds: 2 } as const;
const LOOK_EVERY_MS = 100;
const MEGABYTE = 1_000_000;

/**
 * Time of a payment and memory of the worker, at many payments to at few: linear and bounded. History in events.
 * Source: issue "All resources at work": what must hold.
 */
const TARGETS = { timeRatio: 1.5, memoryRatio: 1.5, events: 200 } as const;

type Round = {
  readonly seconds: number;
  readonly cpuSeconds: number;
  readonly peakBytes: number;
  readonly events: number;
  readonly bytes: number;
};

/** One reconciliation of many payments against one of few, in turn, on one stack. */
export async function benchReconcile({ quick }: Options): Promise<boolean> {
  const { few, many, rounds } = quick ? QUICK : FULL;
  const stack = await ReconcileStack.start();
  try {
    print(`reconcile: ${few} and ${many} payments in both books`);
    const spans = { few: await makePayments(stack, few, 'few'), many: await makePayments(stack, many, 'many') };
    const measured: { few: Round[]; many: Round[] } = { few: [], many: [] };
    for (let round = 1; round <= rounds; round += 1) {
      for (const size of ['few', 'many'] as const) {
        const one = await measureByNewWorker(stack, spans.few, spans[size]);
        measured[size].push(one);
        print(
          `round ${round} of ${rounds}: ${spans[size].payments} payments in ${one.seconds.toFixed(1)} s, ` +
            `worker at most ${(one.peakBytes / MEGABYTE).toFixed(0)} MB`,
        );
      }
    }
    const of = (size: 'few' | 'many', value: (round: Round) => number): number => median(measured[size].map(value));
    const perPayment = (size: 'few' | 'many', value: (round: Round) => number): number =>
      (of(size, value) / spans[size].payments) * 1_000;
    const seconds = ({ seconds }: Round): number => seconds;
    const cpu = ({ cpuSeconds }: Round): number => cpuSeconds;
    const peak = ({ peakBytes }: Round): number => peakBytes;
    return await report(
      'reconcile',
      [
        {
          name: `time of a payment at ${many} to ${few} payments`,
          value: perPayment('many', seconds) / perPayment('few', seconds),
          unit: '×',
          digits: 2,
          target: { atMost: TARGETS.timeRatio },
        },
        { name: `  at ${few}`, value: perPayment('few', seconds), unit: 'ms', digits: 2 },
        { name: `  at ${many}`, value: perPayment('many', seconds), unit: 'ms', digits: 2 },
        { name: `  CPU of the worker at ${few}`, value: perPayment('few', cpu), unit: 'ms', digits: 2 },
        { name: `  CPU of the worker at ${many}`, value: perPayment('many', cpu), unit: 'ms', digits: 2 },
        {
          name: `memory of the worker, at most, at ${many} to ${few} payments`,
          value: of('many', peak) / of('few', peak),
          unit: '×',
          digits: 2,
          target: { atMost: TARGETS.memoryRatio },
        },
        { name: `  at ${few}`, value: of('few', peak) / MEGABYTE, unit: 'MB RSS' },
        { name: `  at ${many}`, value: of('many', peak) / MEGABYTE, unit: 'MB RSS' },
        {
          name: `history at ${many} payments`,
          value: of('many', ({ events }) => events),
          unit: 'events',
          target: { atMost: TARGETS.events },
        },
        { name: '  its size', value: of('many', ({ bytes }) => bytes) / 1_000, unit: 'KB' },
        { name: `${many} payments, in all`, value: of('many', seconds), unit: 's', digits: 1 },
      ],
      { rounds: measured },
    );
  } finally {
    await stack.stop();
  }
}

/** What a worker takes for its first run is not what a run takes: it compares the few before it is measured. */
async function measureByNewWorker(stack: ReconcileStack, few: Span, span: Span): Promise<Round> {
  const worker = await stack.startWorker();
  try {
    await measure(stack, worker, few);
    return await measure(stack, worker, span);
  } finally {
    await worker.stop();
  }
}

async function measure(stack: ReconcileStack, worker: MeasuredProcess, { from, to, payments }: Span): Promise<Round> {
  const { client } = stack.temporal;
  let peakBytes = 0;
  const done = new AbortController();
  const before = (await worker.usage()).cpuSeconds;
  const watch = async (): Promise<void> => {
    while (!done.signal.aborted) {
      peakBytes = Math.max(peakBytes, (await worker.usage()).rssBytes);
      await sleep(LOOK_EVERY_MS);
    }
  };
  const began = performance.now();
  // What was paid a moment ago is compared too.
  const input: ReconcileInput = { account: 'default', from, to, dry_run: true, policy: { youngMs: 0 } };
  const handle = await client.workflow.start<(input: ReconcileInput) => Promise<ReconcileResult>>(RECONCILE_WORKFLOW, {
    workflowId: `reconcile/default/bench-${from}-${began}`,
    taskQueue: stack.taskQueue,
    args: [input],
  });
  const watching = watch();
  const result = await handle.result();
  const seconds = (performance.now() - began) / 1_000;
  done.abort();
  await watching;
  const cpuSeconds = (await worker.usage()).cpuSeconds - before;
  mustAgree(result, payments);
  const { historyLength, historySize } = await handle.describe();
  return { seconds, cpuSeconds, peakBytes, events: historyLength, bytes: historySize ?? 0 };
}

/** @throws {Error} when not all was compared, or something differs: then nothing was measured. */
function mustAgree({ totals, found }: ReconcileResult, payments: number): void {
  const [total] = totals;
  if (total?.checkouts === payments && total.charges === payments && total.breaks === 0) return;
  throw new Error(`The books should agree: ${JSON.stringify(totals)} ${JSON.stringify(found.slice(0, 3))}`);
}
