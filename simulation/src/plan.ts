import { FAULTS, FAULTS_OF_A_CHARGE, type FaultKind } from './fault-kinds.js';
import { Random } from './random.js';

/** Where a checkout is in its life when something happens to it. */
const EARLY_MOMENTS = ['creating', 'awaiting'] as const;
const LATE_MOMENTS = ['paying', 'paid', 'refunding', 'ended'] as const;
export type Moment = (typeof EARLY_MOMENTS)[number] | (typeof LATE_MOMENTS)[number];
export const MOMENTS: readonly Moment[] = [...EARLY_MOMENTS, ...LATE_MOMENTS];

/** What a person does: a customer, a till, an operator, someone at the provider's dashboard. */
export const ACTIONS = [
  'waits',
  'pays',
  'pays an older code too',
  'declines',
  'reviews for a minute',
  'cancels',
  'asks for a new attempt',
  'refunds a part',
  'refunds all',
  'refunds twice with one key',
  'refunds at the dashboard',
  'repeats the create',
  'sends a false webhook',
  'looks it up or gives up',
  'cancels in the Temporal UI',
] as const;
export type PersonAction = (typeof ACTIONS)[number];

export type Beat = {
  readonly moment: Moment;
  /** Null: nothing goes wrong. */
  readonly fault: FaultKind | null;
  readonly action: PersonAction;
};

export type LifePlan = {
  readonly index: number;
  readonly reference: string;
  /** Seconds in which the customer can pay. */
  readonly expiresIn: number;
  /** Milliseconds after the world began. */
  readonly beginsAfter: number;
  readonly beats: readonly Beat[];
  /** Each beat waits until everything before it has its answer. */
  readonly isOneByOne: boolean;
};

/** So many lives share a world. */
export const LIVES_PER_WORLD = 20;
const BEGIN_WITHIN_MS = 60_000;

/** Only faults and actions come whose names contain one of these texts. Empty: every one. */
export type Focus = { readonly faults: readonly string[]; readonly actions: readonly string[] };
export const EVERYTHING: Focus = { faults: [], actions: [] };

function combinations(moments: readonly Moment[], focus: Focus): Beat[] {
  const faults = chosen(FAULTS, focus.faults);
  const actions = chosen(ACTIONS, focus.actions);
  return moments.flatMap((moment) => faults.flatMap((fault) => actions.map((action) => ({ moment, fault, action }))));
}

function chosen<T extends string>(names: readonly T[], parts: readonly string[]): readonly T[] {
  const found = names.filter((name) => parts.length === 0 || parts.some((part) => name.includes(part)));
  if (found.length === 0) throw new RangeError(`No name contains ${parts.join(' or ')}`);
  return found;
}

/** Every combination comes once before any comes twice: a run of enough lives draws each of them often enough. */
class Deck {
  readonly #cards: readonly Beat[];
  readonly #shuffles = new Map<number, readonly Beat[]>();

  constructor(
    private readonly seed: string,
    moments: readonly Moment[],
    focus: Focus,
    private readonly perLife: number,
  ) {
    this.#cards = combinations(moments, focus);
  }

  /** A life takes `perLife` cards or one more, on average a tenth more: 10,000 lives take each card five times. */
  cardsOf(life: number): Beat[] {
    const [from, to] = [life, life + 1].map((lives) => Math.floor((lives * this.perLife * 11) / 10)) as [
      number,
      number,
    ];
    return Array.from({ length: to - from }, (_, index) => this.#at(from + index));
  }

  #at(index: number): Beat {
    const round = Math.floor(index / this.#cards.length);
    let shuffled = this.#shuffles.get(round);
    if (shuffled === undefined) {
      shuffled = new Random(`${this.seed}/${round}`).shuffled(this.#cards);
      this.#shuffles.set(round, shuffled);
    }
    return shuffled[index % this.#cards.length] as Beat;
  }
}

/** Plans the lives of a run. A life depends on the seed, the focus and its number only. */
export class Plans {
  readonly #early: Deck;
  readonly #late: Deck;

  /** @throws {RangeError} when the focus leaves no fault or no action */
  constructor(
    private readonly seed: number,
    focus: Focus = EVERYTHING,
  ) {
    this.#early = new Deck(`${seed}/early`, EARLY_MOMENTS, focus, 1);
    this.#late = new Deck(`${seed}/late`, LATE_MOMENTS, focus, 2);
  }

  life(index: number): LifePlan {
    const random = new Random(`${this.seed}/life/${index}`);
    const beats = [...this.#early.cardsOf(index), ...this.#late.cardsOf(index)];
    return {
      index,
      reference: `life-${index}`,
      expiresIn: random.pick([60, 120, 300]),
      beginsAfter: random.integer(0, BEGIN_WITHIN_MS),
      beats: beats.toSorted((a, b) => MOMENTS.indexOf(a.moment) - MOMENTS.indexOf(b.moment)),
      isOneByOne: false,
    };
  }

  /** A life whose beats come within seconds, with faults of the provider only: it can be played on a real server, too. */
  shortLife(index: number): LifePlan {
    const random = new Random(`${this.seed}/short/${index}`);
    const beats = [0, 1, 2].map((): Beat => ({
      moment: random.pick(MOMENTS),
      fault: random.chance(0.5) ? random.pick(FAULTS_OF_A_CHARGE) : null,
      action: random.pick(ACTIONS),
    }));
    return {
      index,
      reference: `life-${index}`,
      expiresIn: 60,
      beginsAfter: random.integer(0, 10_000),
      beats: beats.toSorted((a, b) => MOMENTS.indexOf(a.moment) - MOMENTS.indexOf(b.moment)),
      isOneByOne: true,
    };
  }
}
