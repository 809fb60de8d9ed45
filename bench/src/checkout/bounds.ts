import { ratio, type Result } from '../report.js';
import type { Part } from '../stack.js';
import { median, ratioOf, sum, type Random } from '../statistics.js';
import { costOf, type Counted } from './counts.js';
import { answeredMs, cpuOf, rateOf, type Round } from './round.js';
import { findCell, type Cell } from './speed.js';

/** Source: issue "pnpm bench checkout". */
const BOUNDS = {
  rateToBare: { atLeast: 0.8 },
  qrToBaseline: { atMost: 1.3 },
  billed: { atMost: 8 },
  openBytes: { atMost: 4_096 },
  manyToNone: { atMost: 1.5 },
  none: { atMost: 0 },
} as const;

/** The parts that a checkout uses. The load is the bench's own. */
const PRODUCT: readonly Part[] = ['server', 'worker', 'api', 'sandbox'];

/**
 * The concurrency at which the cost of a checkout among many open ones is compared: the machine is busy, without
 * queues.
 */
const BUSY = 20;

/** Compares checkouts with their baselines, in one half of the run. */
export function speedResults(cells: readonly Cell[], open: number, random: Random): Result[] {
  const suffix = open === 0 ? '' : `, ${open} open`;
  return cells
    .filter(({ variant }) => variant === 'checkout')
    .flatMap(({ concurrency, delayMs, rounds }) => {
      const bare = roundsOf(cells, 'bare shape', concurrency, delayMs);
      const rate = ratio(
        `checkouts/s to the bare shape's, ${concurrency} at once, provider ${delayMs} ms${suffix}`,
        ratioOf(rounds, bare, random, rateOf),
        BOUNDS.rateToBare,
      );
      if (concurrency !== 1) {
        const cpu = (of: readonly Round[]): number => cpuOf(of, [...PRODUCT, 'baseline']);
        return [rate, ratio("  its CPU to the bare shape's", ratioOf(rounds, bare, random, cpu))];
      }
      const two = roundsOf(cells, 'two activities', concurrency, delayMs);
      const provider = roundsOf(cells, 'provider', concurrency, delayMs);
      const baseline = two.flatMap((round, i) => provider.slice(i, i + 1).map((own) => [round, own]));
      const own = rounds.map((round) => [round]);
      return [
        rate,
        ratio(
          `POST → QR p50 to two activities + provider, provider ${delayMs} ms${suffix}`,
          ratioOf<readonly Round[]>(own, baseline, random, sumOfMedians),
          BOUNDS.qrToBaseline,
        ),
      ];
    });
}

/** Compares a new checkout among many open ones with one among none. */
export function growthResults(none: readonly Cell[], many: readonly Cell[], open: number, random: Random): Result[] {
  const compare = (name: string, concurrency: number, statistic: (rounds: readonly Round[]) => number): Result => {
    const [of = [], to = []] = [many, none].map((cells) => roundsOf(cells, 'checkout', concurrency, 0));
    return ratio(`${name}, at ${open} open to none`, ratioOf(of, to, random, statistic), BOUNDS.manyToNone);
  };
  return [
    compare('POST → QR p50, one at once', 1, (rounds) => median(answeredMs(rounds))),
    compare(`time of a checkout, ${BUSY} at once`, BUSY, (rounds) => 1 / rateOf(rounds)),
    compare(`CPU of a checkout, ${BUSY} at once`, BUSY, (rounds) => cpuOf(rounds, PRODUCT)),
  ];
}

/** Events, bytes and billed actions of paid checkouts, counted from their histories. */
export function countResults(all: readonly Counted[]): Result[] {
  const cost = costOf(all);
  return [
    { name: 'billed actions of a checkout until it is paid', value: cost.billed, unit: '', bound: BOUNDS.billed },
    { name: '  its events', value: cost.events, unit: '' },
    { name: '  its history', value: cost.bytes, unit: 'bytes' },
    { name: '  its billed actions, with the night', value: cost.billedWithNight, unit: '' },
    { name: 'history of its open run, the day after', value: cost.openBytes, unit: 'bytes', bound: BOUNDS.openBytes },
    { name: '  its events', value: cost.openEvents, unit: '' },
  ];
}

/** Results that show whether the run is valid. */
export function validityResults(cells: readonly Cell[]): Result[] {
  const failures = sum(cells.flatMap(({ rounds }) => rounds.map((round) => round.failures.length)));
  return [{ name: 'operations that failed', value: failures, unit: '', bound: BOUNDS.none }];
}

/** @throws {RangeError} when these conditions were not measured. */
function roundsOf(
  cells: readonly Cell[],
  variant: Cell['variant'],
  concurrency: number,
  delayMs: number,
): readonly Round[] {
  const found = findCell(cells, variant, concurrency, delayMs);
  if (found === undefined) throw new RangeError(`${variant} was not measured with ${concurrency} at once`);
  return found.rounds;
}

/** For operations that would follow each other: the sum of their median times, in milliseconds. */
function sumOfMedians(rounds: readonly (readonly Round[])[]): number {
  const [first = []] = rounds;
  return sum(first.map((_, i) => median(answeredMs(rounds.flatMap((parts) => parts.slice(i, i + 1))))));
}
