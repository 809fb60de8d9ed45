import { performance } from 'node:perf_hooks';
import { usedByAll } from '../process-usage.js';
import { shuffled } from '../statistics.js';
import type { Lane, Sample } from './lanes.js';
import { byPart, cpuBetween, type BenchStack, type Part } from './stack.js';

export type RoundSize = {
  /** Operations under way at one time. */
  readonly concurrency: number;
  /** Operations that begin within so many seconds count. */
  readonly seconds: number;
};

/** What one lane did in one round. */
export type Round = {
  /** The operations that count: all of their time as many were under way. */
  readonly samples: readonly Sample[];
  readonly concurrency: number;
  /** CPU of each part per operation, in ms; null where operations of several lanes took turns. */
  readonly cpuMs: Readonly<Record<Part, number>> | null;
  /** CPU that other processes of the machine used meanwhile, in cores; null where it cannot be known. */
  readonly othersCores: number | null;
  readonly failures: readonly string[];
  readonly workflowIds: readonly string[];
};

/**
 * Does the lane's operation again and again, each caller the next one when the last is done. An operation counts when
 * it begins after every caller has done one, and within `seconds`; the callers go on until all that count are done, so
 * that none of them had it easier than the others.
 */
export async function runRound(stack: BenchStack, lane: Lane, { concurrency, seconds }: RoundSize): Promise<Round> {
  const measured = await measure(stack);
  const book = new Operations();
  const began = performance.now();
  const elapsed = (): number => (performance.now() - began) / 1_000;
  let warm = 0;
  let counting = 0;
  let all = 0;
  // A slow machine still counts one operation of each caller, and ends.
  const mayCount = (): boolean =>
    warm === concurrency &&
    (elapsed() < seconds || (book.kept.samples.length + counting < concurrency && elapsed() < SLOWEST * seconds));
  const caller = async (): Promise<void> => {
    for (let first = true; ; first = false) {
      const counts = mayCount();
      if (!counts && counting === 0 && warm === concurrency) return;
      if (counts) counting += 1;
      all += 1;
      await book.note(lane, counts);
      if (counts) counting -= 1;
      if (first) warm += 1;
    }
  };
  await Promise.all(Array.from({ length: concurrency }, caller));
  const { cpu, othersCores } = await measured();
  return {
    ...book.kept,
    concurrency,
    cpuMs: byPart((part) => (cpu[part] * 1_000) / Math.max(1, all)),
    othersCores,
  };
}

/**
 * One caller, and the lanes take turns: one operation of each, in another order every time, and again for `seconds`.
 * So what one operation leaves behind for the server to do, and what becomes of the machine, meet all lanes alike.
 * @returns for each lane its rounds, of {@link TURNS} operations each.
 */
export async function takeTurns(
  stack: BenchStack,
  lanes: readonly Lane[],
  seconds: number,
  random: () => number,
): Promise<ReadonlyMap<Lane, readonly Round[]>> {
  const rounds = new Map<Lane, Round[]>(lanes.map((lane) => [lane, []]));
  const began = performance.now();
  do {
    const measured = await measure(stack);
    const books = new Map(lanes.map((lane) => [lane, new Operations()]));
    for (let turn = 0; turn < TURNS; turn += 1) {
      for (const lane of shuffled(lanes, random)) await books.get(lane)?.note(lane, true);
    }
    const { othersCores } = await measured();
    for (const [lane, book] of books)
      rounds.get(lane)?.push({ ...book.kept, concurrency: 1, cpuMs: null, othersCores });
  } while (performance.now() - began < seconds * 1_000);
  return rounds;
}

const TURNS = 10;
/** A round takes at most so many times what it should, and then ends as it is. */
const SLOWEST = 4;
const MOST_FAILURES = 20;

/** What becomes of the operations of a round. */
class Operations {
  readonly kept = { samples: [] as Sample[], failures: [] as string[], workflowIds: [] as string[] };

  /** One more. @throws what it threw when too many have failed. */
  async note(lane: Lane, counts: boolean): Promise<void> {
    const { samples, failures, workflowIds } = this.kept;
    try {
      const { workflowId, ...sample } = await lane.once();
      if (workflowId !== null) workflowIds.push(workflowId);
      if (counts) samples.push(sample);
    } catch (error) {
      failures.push(error instanceof Error ? error.message : String(error));
      if (failures.length > MOST_FAILURES) throw error;
    }
  }
}

type Measured = {
  readonly cpu: Readonly<Record<Part, number>>;
  readonly othersCores: number | null;
};

/** Begins to measure what the parts and the rest of the machine use. @returns what ends it. */
async function measure(stack: BenchStack): Promise<() => Promise<Measured>> {
  const [before, allBefore] = [await stack.usage(), await usedByAll()];
  const began = performance.now();
  return async () => {
    const cpu = cpuBetween(before, await stack.usage());
    const all = await usedByAll();
    const elapsed = (performance.now() - began) / 1_000;
    const own = Object.values(cpu).reduce((sum, seconds) => sum + seconds, 0);
    return {
      cpu,
      othersCores: all === null || allBefore === null ? null : Math.max(0, (all - allBefore - own) / elapsed),
    };
  };
}

/**
 * Operations per second in rounds: as many as are under way at one time, divided by what one takes on average. Counting
 * those that end in a span of time would be off by as many as end together.
 */
export function rateOf(rounds: readonly Pick<Round, 'samples' | 'concurrency'>[]): number {
  const count = rounds.reduce((sum, { samples }) => sum + samples.length, 0);
  const seconds = rounds.reduce((sum, { samples, concurrency }) => sum + totalSeconds(samples) / concurrency, 0);
  return count / seconds;
}

function totalSeconds(samples: readonly Sample[]): number {
  return samples.reduce((sum, { totalMs }) => sum + totalMs, 0) / 1_000;
}

/**
 * CPU per operation of some parts together, in ms, over rounds.
 * @throws {RangeError} when lanes took turns, see {@link hasCpu}.
 */
export function cpuOf(rounds: readonly Pick<Round, 'cpuMs' | 'samples'>[], parts: readonly Part[]): number {
  const operations = rounds.reduce((sum, { samples }) => sum + samples.length, 0);
  const total = rounds.reduce((sum, { cpuMs, samples }) => {
    if (cpuMs === null) throw new RangeError('the CPU of lanes that took turns is not known');
    return sum + parts.reduce((ms, part) => ms + cpuMs[part], 0) * samples.length;
  }, 0);
  return total / operations;
}

export const hasCpu = (rounds: readonly Pick<Round, 'cpuMs'>[]): boolean => rounds.every(({ cpuMs }) => cpuMs !== null);

export function answeredMs(rounds: readonly Pick<Round, 'samples'>[]): number[] {
  return rounds.flatMap(({ samples }) => samples.map((sample) => sample.answeredMs));
}

/** Empty for a lane in which nothing is paid. */
export function paidMs(rounds: readonly Pick<Round, 'samples'>[]): number[] {
  return rounds.flatMap(({ samples }) => samples.flatMap((sample) => sample.paidMs ?? []));
}
