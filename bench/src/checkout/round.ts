import { performance } from 'node:perf_hooks';
import { usedByAll } from '../process-usage.js';
import type { Lane, Sample } from './lanes.js';
import { byPart, cpuBetween, type BenchStack, type Part } from './stack.js';

export type RoundSize = {
  /** Operations under way at one time. */
  readonly concurrency: number;
  /** New operations are begun for so long. */
  readonly seconds: number;
};

/** What one lane did in one round. */
export type Round = {
  readonly samples: readonly Sample[];
  /** Operations that ended in the steady part, and how long that was. */
  readonly steady: { readonly count: number; readonly seconds: number };
  /** CPU of each part per operation, in ms. */
  readonly cpuMs: Readonly<Record<Part, number>>;
  /** CPU that other processes of the machine used meanwhile, in cores; null where it cannot be known. */
  readonly othersCores: number | null;
  readonly failures: readonly string[];
  readonly workflowIds: readonly string[];
};

/**
 * Does the lane's operation again and again, each caller the next one when the last is done. The steady part begins
 * when every caller has done one, and ends when no new ones are begun.
 */
export async function runRound(stack: BenchStack, lane: Lane, { concurrency, seconds }: RoundSize): Promise<Round> {
  const [before, allBefore] = [await stack.usage(), await usedByAll()];
  const began = performance.now();
  const samples: Sample[] = [];
  const endedAt: number[] = [];
  const failures: string[] = [];
  const workflowIds: string[] = [];
  // A slow machine still gets a steady part, and a broken product an end.
  const mustGoOn = (): boolean => {
    const elapsed = performance.now() - began;
    return elapsed < seconds * 1_000 || (endedAt.length < 2 * concurrency && elapsed < SLOWEST * seconds * 1_000);
  };
  const caller = async (): Promise<void> => {
    while (mustGoOn()) {
      try {
        const { workflowId, ...sample } = await lane.once();
        samples.push(sample);
        endedAt.push(performance.now());
        workflowIds.push(workflowId);
      } catch (error) {
        failures.push(error instanceof Error ? error.message : String(error));
        if (failures.length > MOST_FAILURES) throw error;
      }
    }
    stopped ??= performance.now();
  };
  let stopped: number | undefined;
  await Promise.all(Array.from({ length: concurrency }, caller));

  const cpu = cpuBetween(before, await stack.usage());
  const all = await usedByAll();
  const elapsed = (performance.now() - began) / 1_000;
  const end = stopped ?? performance.now();
  const from = endedAt[concurrency - 1] ?? began;
  return {
    samples,
    steady: {
      count: endedAt.filter((at) => at > from && at <= end).length,
      seconds: Math.max(end - from, 1) / 1_000,
    },
    cpuMs: byPart((part) => (cpu[part] * 1_000) / Math.max(1, samples.length)),
    othersCores: all === null || allBefore === null ? null : Math.max(0, (all - allBefore - sumOfParts(cpu)) / elapsed),
    failures,
    workflowIds,
  };
}

function sumOfParts(cpu: Readonly<Record<Part, number>>): number {
  return Object.values(cpu).reduce((sum, seconds) => sum + seconds, 0);
}

/** A round takes at most so many times what it should, and then ends as it is. */
const SLOWEST = 4;
const MOST_FAILURES = 20;

/** Operations per second in the steady parts of rounds. */
export function rateOf(rounds: readonly Pick<Round, 'steady'>[]): number {
  const count = rounds.reduce((sum, { steady }) => sum + steady.count, 0);
  return count / rounds.reduce((sum, { steady }) => sum + steady.seconds, 0);
}

/** CPU per operation of some parts together, in ms, over rounds. */
export function cpuOf(rounds: readonly Pick<Round, 'cpuMs' | 'samples'>[], parts: readonly Part[]): number {
  const operations = rounds.reduce((sum, { samples }) => sum + samples.length, 0);
  const total = rounds.reduce(
    (sum, { cpuMs, samples }) => sum + parts.reduce((ms, part) => ms + cpuMs[part], 0) * samples.length,
    0,
  );
  return total / operations;
}

export function answeredMs(rounds: readonly Pick<Round, 'samples'>[]): number[] {
  return rounds.flatMap(({ samples }) => samples.map((sample) => sample.answeredMs));
}

/** Empty for a lane in which nothing is paid. */
export function paidMs(rounds: readonly Pick<Round, 'samples'>[]): number[] {
  return rounds.flatMap(({ samples }) => samples.flatMap((sample) => sample.paidMs ?? []));
}
