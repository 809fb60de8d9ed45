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
import { runRound, takeTurns, type Round, type RoundSize } from './round.js';
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

/** What is compared: the bare shape and the checkout, with a provider that takes so long for each answer. */
type Pair = { readonly delayMs: number; readonly lanes: readonly Lane[] };

/**
 * All lanes under all conditions, again and again, each time in another order. What is compared is measured one right
 * after the other, or operation by operation: a machine is not the same a minute later.
 */
export async function measureSpeed(
  stack: BenchStack,
  api: ApiClient,
  form: BareForm,
  plan: Plan,
  random: () => number,
): Promise<Speed> {
  const floors = [noopLane(stack), twoActivitiesLane(stack)];
  const pairs = plan.delaysMs.map((delayMs): Pair => ({
    delayMs,
    lanes: [bareLane(stack, form, delayMs), checkoutLane(stack, api)],
  }));
  const table = new Table(floors, pairs, [ONE, ...plan.rounds.map(({ concurrency }) => concurrency)]);
  const provider = new Map<number, number[]>(plan.delaysMs.map((delayMs) => [delayMs, []]));

  const oneAtATime = async ({ delayMs, lanes }: Pair): Promise<void> => {
    await delayProvider(stack, delayMs);
    provider.get(delayMs)?.push(...(await timeProvider(stack)));
    const taking = delayMs === 0 ? [...floors, ...lanes] : lanes;
    const rounds = await takeTurns(stack, taking, plan.turnSeconds, random);
    for (const lane of taking) await table.keep(stack, lane, ONE, rounds.get(lane) ?? []);
  };
  const manyAtOnce = async (lanes: readonly Lane[], size: RoundSize): Promise<void> => {
    for (const lane of shuffled(lanes, random)) {
      await table.keep(stack, lane, size.concurrency, [await runRound(stack, lane, size)]);
    }
  };
  const measurements = [
    ...pairs.map((pair) => () => oneAtATime(pair)),
    ...plan.rounds.flatMap(({ concurrency, seconds, floorSeconds }) => [
      () => manyAtOnce(floors, { concurrency, seconds: floorSeconds }),
      ...pairs.map(({ delayMs, lanes }) => async () => {
        await delayProvider(stack, delayMs);
        await manyAtOnce(lanes, { concurrency, seconds });
      }),
    ]),
  ];

  const began = performance.now();
  for (let repeat = 1; repeat <= plan.repeats; repeat += 1) {
    const elapsed = (performance.now() - began) / 1_000;
    if (repeat > 1 && (elapsed * repeat) / (repeat - 1) > plan.halfSeconds) {
      print(`  only ${repeat - 1} of ${plan.repeats} repeats: the machine is slow`);
      break;
    }
    print(`  repeat ${repeat} of ${plan.repeats}`);
    for (const measured of shuffled(measurements, random)) await measured();
  }
  await delayProvider(stack, 0);
  return { cells: table.cells, providerMs: new Map([...provider].map(([delayMs, times]) => [delayMs, median(times)])) };
}

const ONE = 1;

/** The rounds of every lane, by how many operations were under way. */
class Table {
  readonly cells: readonly Cell[];
  readonly #byLane = new Map<Lane, readonly Cell[]>();

  constructor(floors: readonly Lane[], pairs: readonly Pair[], sizes: readonly number[]) {
    const rows = [
      ...floors.map((lane) => ({ lane, delayMs: 0 })),
      ...pairs.flatMap(({ delayMs, lanes }) => lanes.map((lane) => ({ lane, delayMs }))),
    ];
    for (const { lane, delayMs } of rows) {
      this.#byLane.set(
        lane,
        sizes.map((concurrency) => ({ lane: lane.name, delayMs, concurrency, rounds: [] })),
      );
    }
    this.cells = sizes.flatMap((_, size) => rows.flatMap(({ lane }) => this.#byLane.get(lane)?.[size] ?? []));
  }

  /** Ends what the rounds left open, so that the next are measured among as many open ones, and keeps them. */
  async keep(stack: BenchStack, lane: Lane, size: number, rounds: readonly Round[]): Promise<void> {
    this.#byLane
      .get(lane)
      ?.find(({ concurrency }) => concurrency === size)
      ?.rounds.push(...rounds);
    if (lane.leavesOpen) {
      await terminateAll(
        stack.temporal.client,
        rounds.flatMap(({ workflowIds }) => workflowIds),
      );
    }
    await untilQuiet(stack);
  }
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
