import { performance } from 'node:perf_hooks';
import { setTimeout as sleep } from 'node:timers/promises';
import { print } from '../report.js';
import { shuffled } from '../statistics.js';
import type { ApiClient } from './api-client.js';
import {
  bareLane,
  checkoutLane,
  noopLane,
  providerLane,
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
  /** Of the provider, for each call, in ms, while this was measured. */
  readonly delayMs: number;
  readonly rounds: Round[];
};

/** The rounds of lanes that were measured side by side are in the same places of their cells. */
export type Speed = { readonly cells: readonly Cell[] };

/** Lanes that are measured side by side, while the provider takes so long for each answer. */
type Group = { readonly delayMs: number; readonly lanes: readonly Lane[] };

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
  const pairs = plan.delaysMs.map((delayMs): Group => ({
    delayMs,
    lanes: [bareLane(stack, form, delayMs), checkoutLane(stack, api)],
  }));
  const cells: Cell[] = [];
  const keep = async ({ delayMs }: Group, concurrency: number, lane: Lane, rounds: readonly Round[]): Promise<void> => {
    cellFor(cells, lane.name, concurrency, delayMs).rounds.push(...rounds);
    await clear(stack, lane, rounds);
  };
  const takingTurns = async ({ delayMs, lanes }: Group): Promise<void> => {
    await delayProvider(stack, delayMs);
    const group = { delayMs, lanes: [...floors, providerLane(stack), ...lanes] };
    const rounds = await takeTurns(stack, group.lanes, plan.turnSeconds, random);
    for (const lane of group.lanes) await keep(group, 1, lane, rounds.get(lane) ?? []);
  };
  const oneAfterTheOther = async (group: Group, size: RoundSize): Promise<void> => {
    await delayProvider(stack, group.delayMs);
    for (const lane of shuffled(group.lanes, random)) {
      await keep(group, size.concurrency, lane, [await runRound(stack, lane, size)]);
    }
  };
  const measurements = [
    ...pairs.map((pair) => () => takingTurns(pair)),
    ...plan.rounds.flatMap(({ concurrency, seconds, floorSeconds }) => [
      () => oneAfterTheOther({ delayMs: 0, lanes: floors }, { concurrency, seconds: floorSeconds }),
      ...pairs.map((pair) => () => oneAfterTheOther(pair, { concurrency, seconds })),
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
  return { cells: cells.toSorted(asRead) };
}

const LANES = ['no-op', 'two activities', 'provider', 'bare shape', 'checkout'];

/** The least first. */
function asRead(one: Cell, other: Cell): number {
  return (
    one.concurrency - other.concurrency ||
    one.delayMs - other.delayMs ||
    LANES.indexOf(one.lane) - LANES.indexOf(other.lane)
  );
}

export function findCell(cells: readonly Cell[], lane: string, concurrency: number, delayMs: number): Cell | undefined {
  return cells.find((cell) => cell.lane === lane && cell.concurrency === concurrency && cell.delayMs === delayMs);
}

/** The cell of these conditions, made when it is the first time. */
function cellFor(cells: Cell[], lane: string, concurrency: number, delayMs: number): Cell {
  const found = findCell(cells, lane, concurrency, delayMs);
  if (found !== undefined) return found;
  const cell: Cell = { lane, concurrency, delayMs, rounds: [] };
  cells.push(cell);
  return cell;
}

/** Ends what rounds left open, so that the next are measured among as many open ones as these. */
async function clear(stack: BenchStack, lane: Lane, rounds: readonly Pick<Round, 'workflowIds'>[]): Promise<void> {
  const left = lane.leavesOpen ? rounds.flatMap(({ workflowIds }) => workflowIds) : [];
  await terminateAll(stack.temporal.client, left);
  await untilQuiet(stack);
}

/** Each lane for a moment, so that every process has compiled what it will run. Not counted. */
export async function warmUp(stack: BenchStack, api: ApiClient, form: BareForm, plan: Plan): Promise<void> {
  for (const lane of [noopLane(stack), twoActivitiesLane(stack), bareLane(stack, form, 0), checkoutLane(stack, api)]) {
    await clear(stack, lane, [await runRound(stack, lane, plan.warmUp)]);
  }
}

async function delayProvider({ sandbox }: BenchStack, delayMs: number): Promise<void> {
  await sandbox.control('DELETE', '/faults');
  if (delayMs > 0) await sandbox.control('POST', '/faults', [{ action: 'delay', delay_ms: delayMs }]);
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
