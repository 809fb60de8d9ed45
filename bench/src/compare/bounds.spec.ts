import { describe, expect, it } from 'vitest';
import type { Round } from '../checkout/round.js';
import { byPart } from '../stack.js';
import { randomOf } from '../statistics.js';
import { costResults, ratioResults, RATIO_BOUNDS } from './bounds.js';
import { conditionsOf, FULL, nameOf, type Cell, type Condition } from './conditions.js';
import type { SideName } from './sides.js';

const round = (callers: number, ms: number): Round => ({
  samples: [{ answeredMs: ms, paidMs: ms, totalMs: 2 * ms }],
  concurrency: callers,
  cpuMs: byPart(() => ms),
  othersCores: null,
  failures: [],
  workflowIds: [],
});

/** Cells for every place that a bound names. */
const cellsOf = (msOf: (side: SideName, condition: Condition) => number): Cell[] => {
  const places = RATIO_BOUNDS.flatMap(({ of, to }) => [of, to]);
  return places.map(([side, condition]) => ({
    side,
    condition,
    rounds: [round(condition.callers, msOf(side, condition))],
  }));
};

const valueOf = (cells: readonly Cell[], name: string): number | undefined =>
  ratioResults(cells, randomOf(1)).find((result) => result.name === name)?.value;

describe('the bounds of a comparison', () => {
  it('divide the figure of this tree by that of the reference', () => {
    const cells = cellsOf((side) => (side === 'this tree' ? 10 : 20));
    expect(valueOf(cells, 'checkouts/s, 20 callers, customers at once')).toBe(2);
    expect(valueOf(cells, 'server CPU of a paid checkout')).toBe(0.5);
    expect(valueOf(cells, 'webhook → paid p50, one caller')).toBe(0.5);
  });

  it('divide the figure of this tree at many callers by its own at 20', () => {
    const cells = cellsOf((_, { callers }) => callers);
    expect(valueOf(cells, 'checkouts/s of this tree, 100 callers to 20')).toBe(1);
    expect(valueOf(cells, 'CPU of all processes of this tree, 200 callers to 20')).toBe(10);
  });

  it('are missed when their conditions were not measured', () => {
    const empty = cellsOf(() => 1);
    for (const round of empty.flatMap(({ rounds }) => rounds)) Object.assign(round, { samples: [] });
    for (const cells of [[], empty]) {
      for (const { value } of ratioResults(cells, randomOf(1))) expect(value).toBeNaN();
    }
  });

  it('hold for the costs of this tree, and show those of the reference', () => {
    const cost = {
      events: 23,
      bytes: 1,
      billed: 7,
      billedWithNight: 9,
      billedDayAfter: 10,
      openBytes: 4_000,
      openEvents: 5,
    };
    const results = costResults({ 'this tree': cost, reference: { ...cost, events: 32 } });
    expect(results.slice(0, 2)).toEqual([
      { name: 'events before paid', value: 23, unit: '', bound: { atMost: 24 } },
      { name: '  of the reference', value: 32, unit: '' },
    ]);
    // Without a bound: they only explain another result.
    const unbounded = results.filter(({ name, bound }) => bound === undefined && !name.startsWith(' '));
    expect(unbounded.map(({ value }) => value)).toEqual([cost.billedDayAfter, cost.bytes]);
  });

  it('name only conditions that a full run measures', () => {
    const at = (callers: number, delayMs: number, rest: Partial<Condition> = {}): Condition => ({
      callers,
      delayMs,
      customers: 'at once',
      among: 'none',
      ...rest,
    });
    const measured = [
      ...FULL.delaysMs.map((delayMs) => at(1, delayMs)),
      ...FULL.rounds.flatMap(({ concurrency, delaysMs }) => delaysMs.map((delayMs) => at(concurrency, delayMs))),
      at(FULL.slow.concurrency, 0, { customers: 'later' }),
      at(1, 0, { among: 'before the cut-off' }),
      at(1, 0, { among: 'after the cut-off' }),
    ].map(nameOf);
    const named = RATIO_BOUNDS.flatMap(({ of, to }) => [nameOf(of[1]), nameOf(to[1])]);
    expect(measured).toEqual(expect.arrayContaining(named));
  });
});

describe('the conditions of a comparison', () => {
  it('are listed in the order of the day, then by customers and callers', () => {
    const cells = cellsOf(() => 1).toReversed();
    const names = conditionsOf(cells).map(nameOf);
    expect([names[0], names.at(-1)]).toEqual([
      '1 caller, provider 0 ms, customers at once',
      '1 caller, provider 0 ms, customers at once, after the cut-off',
    ]);
  });
});
