import { setTimeout as sleep } from 'node:timers/promises';
import { performance } from 'node:perf_hooks';
import { cpuSecondsOfMachine } from '../processes.js';
import { byPart, cpuBetween, type Part, type Stack } from '../stack.js';
import { shuffled, sum, type Random } from '../statistics.js';
import type { Sample, Variant } from './variants.js';

export type RoundSize = {
  /** Operations in progress at one time. */
  readonly concurrency: number;
  /** Operations that begin within this time count. */
  readonly seconds: number;
};

/** The result of one variant in one round. */
export type Round = {
  /** The operations that count: during all of their time, `concurrency` operations were in progress. */
  readonly samples: readonly Sample[];
  readonly concurrency: number;
  /** CPU of each part per operation, in milliseconds. Null when variants took turns on the same programs. */
  readonly cpuMs: Readonly<Record<Part, number>> | null;
  /** CPU of other processes of the machine, in cores. Null when unknown. */
  readonly othersCores: number | null;
  readonly failures: readonly string[];
  readonly workflowIds: readonly string[];
};

/** A round takes at most this many times its planned time, and then ends as it is. */
const SLOWEST = 4;
const MOST_FAILURES = 20;
/** Operations of each variant in one round of {@link takeTurns}. */
const TURNS = 10;
/** The pause after each of them. What an operation leaves to be done must not slow down the next one. Milliseconds. */
const REST_MS = 100;

/**
 * Repeats the operation with several callers; each begins its next operation when the last is done. An operation counts
 * when it begins after every caller has done one, and within `seconds`. The callers continue until all that count are
 * done, so that the same number of operations is in progress during each of them.
 */
export async function runRound(
  stack: Pick<Stack, 'usage'>,
  variant: Variant,
  { concurrency, seconds }: RoundSize,
): Promise<Round> {
  const measured = await measure(stack);
  const operations = new Operations();
  const began = performance.now();
  const elapsed = (): number => (performance.now() - began) / 1_000;
  let warm = 0;
  let counting = 0;
  let all = 0;
  // On a slow machine, a round still counts one operation of each caller, and ends.
  const mayCount = (): boolean =>
    warm === concurrency &&
    (elapsed() < seconds || (operations.done.samples.length + counting < concurrency && elapsed() < SLOWEST * seconds));
  const caller = async (): Promise<void> => {
    for (let first = true; ; first = false) {
      const counts = mayCount();
      if (!counts && counting === 0 && warm === concurrency) return;
      if (counts) counting += 1;
      all += 1;
      await operations.run(variant, concurrency, counts);
      if (counts) counting -= 1;
      if (first) warm += 1;
    }
  };
  await Promise.all(Array.from({ length: concurrency }, caller));
  const { cpu, othersCores } = await measured();
  const cpuMs = byPart((part) => (cpu[part] * 1_000) / Math.max(1, all));
  return { ...operations.done, concurrency, cpuMs, othersCores };
}

/**
 * One caller and several variants in turn: one operation of each, in a new order each time, for `seconds`. So the work
 * that one operation leaves to the server, and disturbances of the machine, affect all variants alike.
 * @returns the rounds of each variant, with {@link TURNS} operations each.
 */
export async function takeTurns(
  stack: Pick<Stack, 'usage'>,
  variants: readonly Variant[],
  seconds: number,
  random: Random,
): Promise<ReadonlyMap<Variant, readonly Round[]>> {
  const rounds = new Map<Variant, Round[]>(variants.map((variant) => [variant, []]));
  const began = performance.now();
  do {
    const measured = new Map<Variant, Awaited<ReturnType<typeof measure>>>();
    for (const variant of variants) measured.set(variant, await measure(variant.programs ?? stack));
    const operations = new Map(variants.map((variant) => [variant, new Operations()]));
    for (let turn = 0; turn < TURNS; turn += 1) {
      for (const variant of shuffled(variants, random)) {
        await operations.get(variant)?.run(variant, 1, true);
        await sleep(REST_MS);
      }
    }
    for (const [variant, { done }] of operations) {
      const { cpu, othersCores = null } = (await measured.get(variant)?.()) ?? {};
      const isOwn = variant.programs !== undefined && cpu !== undefined;
      rounds.get(variant)?.push({
        ...done,
        concurrency: 1,
        cpuMs: isOwn ? byPart((part) => (cpu[part] * 1_000) / TURNS) : null,
        othersCores,
      });
    }
  } while (performance.now() - began < seconds * 1_000);
  return rounds;
}

/** The operations of one variant in one round. */
class Operations {
  readonly done = { samples: [] as Sample[], failures: [] as string[], workflowIds: [] as string[] };

  /** Runs one more. @throws the error of the operation when too many have failed. */
  async run(variant: Variant, callers: number, counts: boolean): Promise<void> {
    const { samples, failures, workflowIds } = this.done;
    try {
      const { workflowId, ...sample } = await variant.once(callers);
      if (workflowId !== null) workflowIds.push(workflowId);
      if (counts) samples.push(sample);
    } catch (error) {
      failures.push(error instanceof Error ? error.message : String(error));
      if (failures.length > MOST_FAILURES) throw error;
    }
  }
}

/** Starts to measure the CPU of the parts and of other processes. @returns the function that ends the measurement. */
export async function measure(
  stack: Pick<Stack, 'usage'>,
): Promise<() => Promise<{ readonly cpu: Readonly<Record<Part, number>>; readonly othersCores: number | null }>> {
  const [before, allBefore] = [await stack.usage(), await cpuSecondsOfMachine()];
  const began = performance.now();
  return async () => {
    const cpu = cpuBetween(before, await stack.usage());
    const all = await cpuSecondsOfMachine();
    const elapsed = (performance.now() - began) / 1_000;
    if (all === null || allBefore === null) return { cpu, othersCores: null };
    return { cpu, othersCores: Math.max(0, (all - allBefore - sum(Object.values(cpu))) / elapsed) };
  };
}

/**
 * Operations per second: the number in progress divided by the mean time of one. Counting the operations that end in a
 * period would be wrong by as many as end together.
 */
export function rateOf(rounds: readonly Pick<Round, 'samples' | 'concurrency'>[]): number {
  const seconds = rounds.map(
    ({ samples, concurrency }) => sum(samples.map(({ totalMs }) => totalMs)) / 1_000 / concurrency,
  );
  return sum(rounds.map(({ samples }) => samples.length)) / sum(seconds);
}

/**
 * CPU per operation of some parts together, in milliseconds.
 * @throws {RangeError} when variants took turns, see {@link hasCpu}.
 */
export function cpuOf(rounds: readonly Pick<Round, 'cpuMs' | 'samples'>[], parts: readonly Part[]): number {
  const totals = rounds.map(({ cpuMs, samples }) => {
    if (cpuMs === null) throw new RangeError('The CPU is unknown when variants took turns');
    return sum(parts.map((part) => cpuMs[part])) * samples.length;
  });
  return sum(totals) / sum(rounds.map(({ samples }) => samples.length));
}

export const hasCpu = (rounds: readonly Pick<Round, 'cpuMs'>[]): boolean => rounds.every(({ cpuMs }) => cpuMs !== null);

export function answeredMs(rounds: readonly Pick<Round, 'samples'>[]): number[] {
  return rounds.flatMap(({ samples }) => samples.map((sample) => sample.answeredMs));
}

/** Times from the webhook until the till sees the payment, in milliseconds. */
export function paidMs(rounds: readonly Pick<Round, 'samples'>[]): number[] {
  return rounds.flatMap(({ samples }) => samples.flatMap((sample) => sample.paidMs ?? []));
}
