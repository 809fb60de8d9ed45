import { performance } from 'node:perf_hooks';
import { setTimeout as sleep } from 'node:timers/promises';
import { print } from '../report.js';
import { median, shuffled } from '../statistics.js';
import type { ApiClient } from './api-client.js';
import {
  bareLane,
  checkoutLane,
  noopLane,
  terminateAll,
  twoActivitiesLane,
  type BareForm,
  type Lane,
} from './lanes.js';
import type { Plan } from './plan.js';
import { runRound, type Round } from './round.js';
import type { BenchStack } from './stack.js';

/** What was measured under one set of conditions, over all repeats. */
export type Cell = {
  readonly lane: string;
  readonly concurrency: number;
  /** Of the provider, for each call, in ms; for lanes without provider 0. */
  readonly delayMs: number;
  readonly rounds: Round[];
};

export type Speed = {
  readonly cells: readonly Cell[];
  /** What the provider takes for a source and a charge together, called directly, in ms: by delay, all repeats. */
  readonly providerMs: ReadonlyMap<number, number>;
};

type Condition = { readonly lane: Lane; readonly delayMs: number };

/**
 * All lanes under all conditions, again and again, each time in another order. What is compared is measured one right
 * after the other: a machine is not the same a minute later.
 */
export async function measureSpeed(
  stack: BenchStack,
  api: ApiClient,
  form: BareForm,
  plan: Plan,
  random: () => number,
): Promise<Speed> {
  const [fast = 0, ...slow] = plan.delaysMs;
  const checkoutAndBare = (delayMs: number): Condition[] => [
    { lane: bareLane(stack, form, delayMs), delayMs },
    { lane: checkoutLane(stack, api), delayMs },
  ];
  const compared: readonly (readonly Condition[])[] = [
    [{ lane: noopLane(stack), delayMs: 0 }],
    [{ lane: twoActivitiesLane(stack), delayMs: 0 }, ...checkoutAndBare(fast)],
    ...slow.map(checkoutAndBare),
  ];
  const cells = plan.rounds.flatMap(({ concurrency }) =>
    compared.flat().map(({ lane, delayMs }): Cell => ({ lane: lane.name, concurrency, delayMs, rounds: [] })),
  );
  const provider = new Map<number, number[]>(plan.delaysMs.map((delayMs) => [delayMs, []]));

  const began = performance.now();
  for (let repeat = 1; repeat <= plan.repeats; repeat += 1) {
    const elapsed = (performance.now() - began) / 1_000;
    if (repeat > 1 && (elapsed * repeat) / (repeat - 1) > plan.halfSeconds) {
      print(`  only ${repeat - 1} of ${plan.repeats} repeats: the machine is slow`);
      break;
    }
    for (const size of shuffled(
      plan.rounds.flatMap((each) => Array.from({ length: each.times }, () => each)),
      random,
    )) {
      print(`  repeat ${repeat} of ${plan.repeats}, ${size.concurrency} at once`);
      for (const { lane, delayMs } of shuffled(compared, random).flatMap((lanes) => shuffled(lanes, random))) {
        await delayProvider(stack, delayMs);
        if (size.concurrency === 1 && lane.name === 'checkout') {
          provider.get(delayMs)?.push(...(await timeProvider(stack)));
        }
        const seconds = lane.leavesOpen ? size.seconds : size.floorSeconds;
        const round = await runRound(stack, lane, { ...size, seconds });
        if (lane.leavesOpen) await terminateAll(stack.temporal.client, round.workflowIds);
        await untilQuiet(stack);
        cells
          .find((cell) => cell.lane === lane.name && cell.concurrency === size.concurrency && cell.delayMs === delayMs)
          ?.rounds.push(round);
      }
    }
  }
  await delayProvider(stack, 0);
  return { cells, providerMs: new Map([...provider].map(([delayMs, times]) => [delayMs, median(times)])) };
}

/** Each lane for a moment, so that every process has compiled what it will run. Not counted. */
export async function warmUp(stack: BenchStack, api: ApiClient, form: BareForm, plan: Plan): Promise<void> {
  for (const lane of [noopLane(stack), twoActivitiesLane(stack), bareLane(stack, form, 0), checkoutLane(stack, api)]) {
    const { workflowIds } = await runRound(stack, lane, plan.warmUp);
    if (lane.leavesOpen) await terminateAll(stack.temporal.client, workflowIds);
  }
  await untilQuiet(stack);
}

async function delayProvider({ sandbox }: BenchStack, delayMs: number): Promise<void> {
  await sandbox.control('DELETE', '/faults');
  if (delayMs > 0) await sandbox.control('POST', '/faults', [{ action: 'delay', delay_ms: delayMs }]);
}

const PROVIDER_CALLS = 10;
const PAYMENT = 'amount=150000&currency=THB';

/** A source and a charge, one after the other, as the worker makes them. */
async function timeProvider({ sandbox }: BenchStack): Promise<number[]> {
  const times: number[] = [];
  for (let i = 0; i < PROVIDER_CALLS; i += 1) {
    const began = performance.now();
    const { id } = JSON.parse(await sandbox.call('POST', '/sources', `${PAYMENT}&type=wallet_mpm`)) as { id: string };
    await sandbox.call('POST', '/charges', `${PAYMENT}&source=${id}`);
    times.push(performance.now() - began);
  }
  return times;
}

const QUIET_CORES = 0.1;
const QUIET_STEP_MS = 250;
const QUIET_WITHIN_MS = 10_000;

/** Waits until the server has nothing left to do, or for ten seconds. @returns whether it has nothing left to do. */
export async function untilQuiet(stack: BenchStack): Promise<boolean> {
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
