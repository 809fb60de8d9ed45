import { ratioOf, median } from '../statistics.js';
import { ratioVerdict, type Verdict } from '../verdicts.js';
import type { CountOfKind } from './counts.js';
import { answeredMs, cpuOf, rateOf, type Round } from './round.js';
import { findCell, type Cell, type Speed } from './speed.js';
import type { Part } from './stack.js';

/** Source: issue "pnpm bench checkout": what must hold. */
const BOUNDS = {
  rateToBare: { atLeast: 0.8 },
  qrToFloor: { atMost: 1.3 },
  billed: { atMost: 8 },
  openBytes: { atMost: 4_096 },
  manyToNone: { atMost: 1.5 },
  none: { atMost: 0 },
} as const;

/** The parts that a checkout uses; the load is the bench's own, and the floors' worker does what the worker does. */
const PRODUCT: readonly Part[] = ['server', 'worker', 'api', 'sandbox'];

/** Where the cost of a checkout among many is compared: the machine is busy, and nothing waits long. */
const BUSY = 20;

/** Checkouts per second against the bare shape, and the QR against the floor, in one half of the run. */
export function speedVerdicts({ cells }: Speed, open: number, random: () => number): Verdict[] {
  const where = open === 0 ? '' : `, ${open} open`;
  const verdicts: Verdict[] = [];
  for (const checkout of cells.filter(({ lane }) => lane === 'checkout')) {
    const { concurrency, delayMs } = checkout;
    const bare = cellOf(cells, 'bare shape', concurrency, delayMs);
    verdicts.push(
      ratioVerdict(
        `checkouts/s to the bare shape's, ${concurrency} at once, provider ${delayMs} ms${where}`,
        ratioOf(checkout.rounds, bare.rounds, random, rateOf),
        BOUNDS.rateToBare,
      ),
    );
    if (concurrency !== 1) {
      verdicts.push(
        ratioVerdict(
          `  its CPU to the bare shape's`,
          ratioOf(checkout.rounds, bare.rounds, random, (rounds) => cpuOf(rounds, [...PRODUCT, 'floors'])),
        ),
      );
      continue;
    }
    const two = cellOf(cells, 'two activities', concurrency, delayMs);
    const provider = cellOf(cells, 'provider', concurrency, delayMs);
    verdicts.push(
      ratioVerdict(
        `POST → QR p50 to two activities + provider, provider ${delayMs} ms${where}`,
        ratioOf(
          checkout.rounds.map((round) => [round]),
          two.rounds.flatMap((round, place) => provider.rounds.slice(place, place + 1).map((own) => [round, own])),
          random,
          sumOfMedians,
        ),
        BOUNDS.qrToFloor,
      ),
    );
  }
  return verdicts;
}

/** What a new checkout costs among many open ones, to what it costs among none. */
export function growthVerdicts(none: Speed, many: Speed, open: number, random: () => number): Verdict[] {
  const [few, alone] = [cellOf(none.cells, 'checkout', BUSY, 0), cellOf(none.cells, 'checkout', 1, 0)];
  const [crowd, aloneInCrowd] = [cellOf(many.cells, 'checkout', BUSY, 0), cellOf(many.cells, 'checkout', 1, 0)];
  const at = `at ${open} open to none`;
  return [
    ratioVerdict(
      `POST → QR p50, one at once, ${at}`,
      ratioOf(aloneInCrowd.rounds, alone.rounds, random, (rounds) => median(answeredMs(rounds))),
      BOUNDS.manyToNone,
    ),
    ratioVerdict(
      `time of a checkout, ${BUSY} at once, ${at}`,
      ratioOf(crowd.rounds, few.rounds, random, (rounds) => 1 / rateOf(rounds)),
      BOUNDS.manyToNone,
    ),
    ratioVerdict(
      `CPU of a checkout, ${BUSY} at once, ${at}`,
      ratioOf(crowd.rounds, few.rounds, random, (rounds) => cpuOf(rounds, PRODUCT)),
      BOUNDS.manyToNone,
    ),
  ];
}

/** Billed actions and history of a paid checkout: counted, so exact. */
export function countVerdicts({ untilThen, openBytes }: CountOfKind): Verdict[] {
  return [
    { what: 'billed actions of a paid checkout', value: untilThen.billed, bound: BOUNDS.billed },
    {
      what: 'history of the open run of a paid checkout, bytes',
      // Without one there is nothing that could be small enough.
      value: openBytes === 0 ? Number.POSITIVE_INFINITY : openBytes,
      bound: BOUNDS.openBytes,
    },
  ];
}

/** Whether the run can be believed. */
export function soundnessVerdicts(failures: number, differences: number): Verdict[] {
  return [
    { what: 'operations that failed', value: failures, bound: BOUNDS.none },
    { what: 'events in which the bare shape differs from a checkout', value: differences, bound: BOUNDS.none },
  ];
}

/** @throws {RangeError} when no such cell was measured. */
function cellOf(cells: readonly Cell[], lane: string, concurrency: number, delayMs: number): Cell {
  const found = findCell(cells, lane, concurrency, delayMs);
  if (found === undefined) throw new RangeError(`${lane} was not measured with ${concurrency} at once`);
  return found;
}

/** Of operations that would follow each other: what each takes at the median, together, in ms. */
function sumOfMedians(rounds: readonly (readonly Round[])[]): number {
  const [first = []] = rounds;
  return first.reduce((sum, _, part) => {
    const own = rounds.flatMap((parts) => parts.slice(part, part + 1));
    return sum + median(answeredMs(own));
  }, 0);
}
