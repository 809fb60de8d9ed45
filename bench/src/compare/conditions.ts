import { runRound, takeTurns, type Round, type RoundSize } from '../checkout/round.js';
import { clear, delayProvider } from '../checkout/speed.js';
import { print } from '../report.js';
import { shuffled, type Random } from '../statistics.js';
import { halvesOf, SIDES, type Side, type SideName } from './sides.js';
import { runSlowRound, type SlowSize } from './slow-customers.js';

export type Condition = {
  readonly callers: number;
  /** The provider's delay of each answer, in milliseconds. */
  readonly delayMs: number;
  readonly customers: 'at once' | 'later';
  readonly among: 'none' | 'many open' | 'before the cut-off' | 'after the cut-off';
};

/** The rounds of one side under one condition. Rounds with the same index were measured side by side. */
export type Cell = { readonly side: SideName; readonly condition: Condition; readonly rounds: Round[] };

/** How long a run measures what. Times are in seconds. */
export type Plan = {
  readonly repeats: number;
  /** One caller: how long both sides take turns, in each repeat. */
  readonly turnSeconds: number;
  readonly delaysMs: readonly number[];
  /** Many callers, each size with these delays of the provider. */
  readonly rounds: readonly (RoundSize & { readonly delaysMs: readonly number[] })[];
  readonly slow: SlowSize & { readonly repeats: number };
  readonly warmUp: RoundSize;
  /** Paid checkouts of each side that stay open. */
  readonly open: number;
  readonly manyRepeats: number;
  /** From the first fast-forward until the cut-off, and after the cut-off. */
  readonly day: { readonly before: number; readonly after: number };
  /** Checkouts of each side whose histories are counted. */
  readonly counted: number;
};

/**
 * A longer round counts more of the server's CPU for a checkout (measured: docs/bench.md), so rounds that are compared
 * take equally long: long enough for several checkouts of each of 200 callers.
 */
const SECONDS = 40;
const BUSY: RoundSize = { concurrency: 20, seconds: SECONDS };

export const FULL: Plan = {
  repeats: 4,
  turnSeconds: 16,
  delaysMs: [0, 50],
  rounds: [
    { ...BUSY, delaysMs: [0] },
    { ...BUSY, seconds: 12, delaysMs: [50] },
    ...[50, 100, 200].map((concurrency) => ({ concurrency, seconds: SECONDS, delaysMs: [0] })),
  ],
  slow: { concurrency: 20, paysAfter: [30, 90], seconds: 40, repeats: 4 },
  warmUp: { concurrency: 20, seconds: 8 },
  open: 10_000,
  manyRepeats: 2,
  day: { before: 480, after: 600 },
  counted: 3,
};

/** Shows that the bench works. Its figures mean little. */
export const QUICK: Plan = {
  ...FULL,
  repeats: 1,
  turnSeconds: 3,
  delaysMs: [0],
  rounds: [
    { concurrency: 20, seconds: 2, delaysMs: [0] },
    { concurrency: 50, seconds: 2, delaysMs: [0] },
  ],
  slow: { concurrency: 5, paysAfter: [3, 6], seconds: 4, repeats: 1 },
  warmUp: { concurrency: 10, seconds: 1 },
  open: 100,
  manyRepeats: 1,
  day: { before: 30, after: 10 },
  counted: 1,
};

/** Measures both sides under one condition after another, and keeps the rounds. */
export class Measurement {
  readonly cells: Cell[] = [];

  constructor(
    readonly sides: readonly Side[],
    private readonly random: Random,
  ) {}

  async warmUp({ warmUp }: Plan): Promise<void> {
    for (const { stack, variant } of this.sides) await clear(stack, variant, [await runRound(stack, variant, warmUp)]);
  }

  /** Every condition with customers who pay at once, several times, each time in a new order. */
  async repeat(plan: Pick<Plan, 'turnSeconds' | 'delaysMs' | 'rounds'>, repeats: number, among: Condition['among']) {
    const measurements = [
      ...plan.delaysMs.map((delayMs) => () => this.turns(plan.turnSeconds, delayMs, among)),
      ...plan.rounds.flatMap((size) => size.delaysMs.map((delayMs) => () => this.#round(size, delayMs, among))),
    ];
    for (let repeat = 1; repeat <= repeats; repeat += 1) {
      print(`  repeat ${repeat} of ${repeats}`);
      for (const measured of shuffled(measurements, this.random)) await measured();
    }
  }

  /** One caller. The sides take turns, operation by operation, in a new order each time. */
  async turns(seconds: number, delayMs: number, among: Condition['among'], sides = this.sides): Promise<void> {
    await this.#delay(delayMs);
    const variants = sides.map(({ variant }) => variant);
    // Each variant has programs of its own, so the stack that is given here measures nothing.
    const [first] = sides;
    if (first === undefined) return;
    const rounds = await takeTurns(first.stack, variants, seconds, this.random);
    for (const side of sides) {
      await this.#keep(side, { callers: 1, delayMs, customers: 'at once', among }, rounds.get(side.variant) ?? []);
    }
  }

  async slow(size: SlowSize): Promise<void> {
    await this.#delay(0);
    const condition = { callers: size.concurrency, delayMs: 0, customers: 'later', among: 'none' } as const;
    for (const side of shuffled(this.sides, this.random)) {
      const round = await runSlowRound(side.stack, halvesOf(side, size.concurrency), size, this.random);
      await this.#keep(side, condition, [round]);
    }
  }

  /** Many callers: one side after the other, in a new order each time. */
  async #round(size: RoundSize, delayMs: number, among: Condition['among']): Promise<void> {
    await this.#delay(delayMs);
    const condition = { callers: size.concurrency, delayMs, customers: 'at once', among } as const;
    for (const side of shuffled(this.sides, this.random)) {
      await this.#keep(side, condition, [await runRound(side.stack, side.variant, size)]);
    }
  }

  async #delay(delayMs: number): Promise<void> {
    for (const { stack } of this.sides) await delayProvider(stack, delayMs);
  }

  async #keep(side: Side, condition: Condition, rounds: readonly Round[]): Promise<void> {
    const cell = findCell(this.cells, side.name, condition);
    if (cell === undefined) this.cells.push({ side: side.name, condition, rounds: [...rounds] });
    else cell.rounds.push(...rounds);
    await clear(side.stack, side.variant, rounds);
  }
}

export function findCell(cells: readonly Cell[], side: SideName, condition: Condition): Cell | undefined {
  return cells.find((cell) => cell.side === side && nameOf(cell.condition) === nameOf(condition));
}

/** The conditions that were measured, in a fixed order. */
export function conditionsOf(cells: readonly Cell[]): Condition[] {
  return cells
    .filter(({ side }) => side === SIDES[0])
    .map(({ condition }) => condition)
    .toSorted(
      (one, other) =>
        AMONG.indexOf(one.among) - AMONG.indexOf(other.among) ||
        one.customers.localeCompare(other.customers, 'en') ||
        one.callers - other.callers ||
        one.delayMs - other.delayMs,
    );
}

const AMONG: readonly Condition['among'][] = ['none', 'many open', 'before the cut-off', 'after the cut-off'];

/** Such as `20 callers, provider 50 ms, customers at once`. */
export function nameOf({ callers, delayMs, customers, among }: Condition): string {
  const name = `${callers} ${callers === 1 ? 'caller' : 'callers'}, provider ${delayMs} ms, customers ${customers}`;
  return among === 'none' ? name : `${name}, ${among}`;
}
