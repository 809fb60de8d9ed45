import type { costOf } from '../checkout/counts.js';
import { answeredMs, cpuOf, paidMs, rateOf, type Round } from '../checkout/round.js';
import { ratio, type Bound, type Result } from '../report.js';
import type { Part } from '../stack.js';
import { median, ratioOf, sum, type Interval, type Random } from '../statistics.js';
import { conditionsOf, findCell, nameOf, type Cell, type Condition } from './conditions.js';
import type { SideName } from './sides.js';

/** Everything that a checkout uses. The server contains its database. */
const ALL: readonly Part[] = ['server', 'worker', 'api', 'sandbox'];

/** Figures of rounds. Times and CPU are in milliseconds, CPU is of one paid checkout. */
export const FIGURES = {
  'checkouts/s': rateOf,
  'POST → QR p50': (rounds: readonly Round[]) => median(answeredMs(rounds)),
  'webhook → paid p50': (rounds: readonly Round[]) => median(paidMs(rounds)),
  'CPU of all': (rounds: readonly Round[]) => cpuOf(rounds, ALL),
  'CPU of server': (rounds: readonly Round[]) => cpuOf(rounds, ['server']),
  'CPU of worker + API': (rounds: readonly Round[]) => cpuOf(rounds, ['worker', 'api']),
} as const;
export type Figure = keyof typeof FIGURES;

type Place = readonly [side: SideName, condition: Condition];
type RatioBound = {
  readonly name: string;
  readonly figure: Figure;
  readonly of: Place;
  readonly to: Place;
  readonly bound: Bound;
};

const callers = (count: number): Condition => ({ callers: count, delayMs: 0, customers: 'at once', among: 'none' });
const ONE = callers(1);
const BUSY = callers(20);
const own = (condition: Condition): Place => ['this tree', condition];
const both = (condition: Condition): Pick<RatioBound, 'of' | 'to'> => ({
  of: own(condition),
  to: ['reference', condition],
});

/** The bounds of docs/bench.md. */
export const RATIO_BOUNDS: readonly RatioBound[] = [
  {
    name: 'checkouts/s, 20 callers, customers at once',
    figure: 'checkouts/s',
    ...both(BUSY),
    bound: { atLeast: 1.5 },
  },
  {
    name: 'checkouts/s, 20 callers, customers after 30 to 90 s',
    figure: 'checkouts/s',
    ...both({ ...BUSY, customers: 'later' }),
    bound: { atLeast: 1.8 },
  },
  ...[50, 100, 200].map((count): RatioBound => ({
    name: `checkouts/s of this tree, ${count} callers to 20`,
    figure: 'checkouts/s',
    of: own(callers(count)),
    to: own(BUSY),
    bound: { atLeast: 0.95 },
  })),
  {
    name: 'CPU of all processes of this tree, 200 callers to 20',
    figure: 'CPU of all',
    of: own(callers(200)),
    to: own(BUSY),
    bound: { atMost: 1.15 },
  },
  { name: 'server CPU of a paid checkout', figure: 'CPU of server', ...both(BUSY), bound: { atMost: 0.65 } },
  { name: 'worker + API CPU', figure: 'CPU of worker + API', ...both(BUSY), bound: { atMost: 0.7 } },
  { name: 'POST → QR p50, one caller', figure: 'POST → QR p50', ...both(ONE), bound: { atMost: 0.8 } },
  { name: 'webhook → paid p50, one caller', figure: 'webhook → paid p50', ...both(ONE), bound: { atMost: 0.8 } },
  {
    name: 'POST → QR p50 of this tree, after the cut-off to before',
    figure: 'POST → QR p50',
    of: own({ ...ONE, among: 'after the cut-off' }),
    to: own({ ...ONE, among: 'before the cut-off' }),
    bound: { atMost: 1.1 },
  },
];

type Cost = ReturnType<typeof costOf>;
const COST_BOUNDS: readonly { readonly name: string; readonly cost: keyof Cost; readonly bound?: Bound }[] = [
  { name: 'events before paid', cost: 'events', bound: { atMost: 24 } },
  { name: 'billed actions until it is paid', cost: 'billed', bound: { atMost: 7 } },
  { name: 'billed actions, with the continue-as-new of the night', cost: 'billedWithNight', bound: { atMost: 9 } },
  { name: 'billed actions, with the timer of the aftercare run too', cost: 'billedDayAfter' },
  { name: 'history of a paid checkout before the night, bytes', cost: 'bytes' },
  { name: 'history of an open paid checkout the day after, bytes', cost: 'openBytes', bound: { atMost: 4_096 } },
];

/** The bounds on rounds. A bound whose conditions were not measured is missed. */
export function ratioResults(cells: readonly Cell[], random: Random): Result[] {
  return RATIO_BOUNDS.map(({ name, figure, of, to, bound }) =>
    ratio(name, ratioBetween(cells, figure, of, to, random), bound),
  );
}

/** What a checkout costs in this tree, each with the figure of the reference. */
export function costResults(costs: Readonly<Record<SideName, Cost>>): Result[] {
  return COST_BOUNDS.flatMap(({ name, cost, bound }) => [
    { name, value: costs['this tree'][cost], unit: '', ...(bound && { bound }) },
    { name: '  of the reference', value: costs.reference[cost], unit: '' },
  ]);
}

export function failureResult(cells: readonly Cell[]): Result {
  const failures = sum(cells.flatMap(({ rounds }) => rounds.map((round) => round.failures.length)));
  return { name: 'operations that failed', value: failures, unit: '', bound: { atMost: 0 } };
}

/** Each figure of this tree relative to the reference, under each condition that was measured. */
export function comparisonsOf(
  cells: readonly Cell[],
  random: Random,
): { readonly condition: string; readonly ratios: Readonly<Record<Figure, Interval>> }[] {
  const figures = Object.keys(FIGURES) as Figure[];
  return conditionsOf(cells).map((condition) => ({
    condition: nameOf(condition),
    ratios: Object.fromEntries(
      figures.map((figure) => {
        const { of, to } = both(condition);
        return [figure, ratioBetween(cells, figure, of, to, random)];
      }),
    ) as Record<Figure, Interval>,
  }));
}

const UNKNOWN: Interval = { value: Number.NaN, low: Number.NaN, high: Number.NaN };

function ratioBetween(cells: readonly Cell[], figure: Figure, of: Place, to: Place, random: Random): Interval {
  const [ours = [], theirs = []] = [of, to].map((place) =>
    // On a slow machine, a short round may end before any operation counts.
    findCell(cells, ...place)?.rounds.filter(({ samples }) => samples.length > 0),
  );
  return ours.length === 0 || theirs.length === 0 ? UNKNOWN : ratioOf(ours, theirs, random, FIGURES[figure]);
}
