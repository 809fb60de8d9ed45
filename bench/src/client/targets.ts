import { median, ratioOf } from '../statistics.js';
import { ratioVerdict, type Verdict } from '../verdicts.js';
import type { ContestantName } from './contestants.js';
import type { LapResult } from './lap.js';
import { OPERATIONS, type Operation } from './operations.js';
import { CONCURRENCIES, type Cell } from './race.js';

/** Source: issue "The client": what must hold. */
const NOT_BEHIND = { atLeast: 1 } as const;

/** The two raw contestants may differ by so much before the run says that it was too noisy. */
const NOISE = 0.05;

const RAW: readonly ContestantName[] = ['undici.request', 'undici.request again'];

export const rateOf = (laps: readonly LapResult[]): number => median(laps.map(({ perSecond }) => perSecond));
export const p99Of = (laps: readonly LapResult[]): number => median(laps.map(({ p99Ms }) => p99Ms));
export const cpuOf = (laps: readonly LapResult[]): number => median(laps.map(({ cpuMsPerRequest }) => cpuMsPerRequest));

/** The client against raw undici, fetch and stripe, for each operation at each concurrency. */
export function raceVerdicts(cells: readonly Cell[], random: () => number): Verdict[] {
  return conditions().flatMap(({ operation, concurrency }) => {
    const lapsOf = (...names: readonly ContestantName[]): LapResult[] => lapsIn(cells, operation, concurrency, names);
    const client = lapsOf('client');
    const where = `${operation}, ${concurrency} at once`;
    return [
      ratioVerdict(`${where}: requests/s to raw undici's`, ratioOf(client, lapsOf(...RAW), random, rateOf), NOT_BEHIND),
      ratioVerdict("  its CPU to raw undici's", ratioOf(client, lapsOf(...RAW), random, cpuOf)),
      ratioVerdict("  requests/s to fetch's", ratioOf(client, lapsOf('fetch'), random, rateOf), NOT_BEHIND),
      ratioVerdict("  requests/s to stripe's", ratioOf(client, lapsOf('stripe'), random, rateOf), NOT_BEHIND),
    ];
  });
}

/** Where the same contestant differs from itself by more than {@link NOISE}, the rest says little either. */
export function noiseOf(cells: readonly Cell[]): { readonly where: string; readonly difference: number }[] {
  return conditions().flatMap(({ operation, concurrency }) => {
    const [one = 0, other = 0] = RAW.map((name) => rateOf(lapsIn(cells, operation, concurrency, [name])));
    const difference = Math.abs(one - other) / Math.min(one, other);
    return difference > NOISE ? [{ where: `${operation}, ${concurrency} at once`, difference }] : [];
  });
}

function conditions(): { operation: Operation; concurrency: number }[] {
  return OPERATIONS.flatMap((operation) => CONCURRENCIES.map((concurrency) => ({ operation, concurrency })));
}

function lapsIn(
  cells: readonly Cell[],
  operation: Operation,
  concurrency: number,
  names: readonly ContestantName[],
): LapResult[] {
  return cells
    .filter(
      (cell) => names.includes(cell.contestant) && cell.operation === operation && cell.concurrency === concurrency,
    )
    .flatMap(({ laps }) => laps);
}
