import { Random } from './random.js';

/** Where a checkout is in its life when something happens to it. */
const EARLY_MOMENTS = ['creating', 'awaiting'] as const;
const LATE_MOMENTS = ['paying', 'paid', 'refunding', 'ended'] as const;
export type Moment = (typeof EARLY_MOMENTS)[number] | (typeof LATE_MOMENTS)[number];
const MOMENTS: readonly Moment[] = [...EARLY_MOMENTS, ...LATE_MOMENTS];

/** What a person does: a customer, a till, an operator, someone at the provider's dashboard. */
const ACTIONS = [
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
  'looks it up',
  'cancels in the Temporal UI',
] as const;
export type PersonAction = (typeof ACTIONS)[number];

/** What goes wrong. */
const FAULTS = [
  'provider: change answered 503',
  'provider: change made, answered 500',
  'provider: change not received',
  'provider: answer of a change lost',
  'provider: change hangs',
  'provider: change made, then hangs',
  'provider: change takes effect late',
  'provider: change made, slow answer',
  'provider: unreadable answer of a change',
  'provider: cut answer of a change',
  'provider: change answered 429',
  'provider: change refused with 400',
  'provider: key refused',
  'provider: read answered 500',
  'provider: read broken off',
  'provider: read answered 404',
  'provider: unreadable answer of a read',
  'provider: read hangs',
  'provider: slow read',
  'webhook: lost',
  'webhook: doubled',
  'webhook: out of order',
  'webhook: wrong signature',
  'webhook: late',
  'worker: killed',
  'worker: all killed',
  'worker: frozen',
  'worker: forgets its runs',
  'worker: task lost',
  'worker: reports twice',
  'API: killed',
  'API: frozen',
  'engine: restarts',
  'engine: search lags',
  'till-api: refused',
  'till-api: silent',
  'till-api: request lost',
  'till-api: answer lost',
  'api-engine: refused',
  'api-engine: silent',
  'api-engine: request lost',
  'api-engine: answer lost',
  'worker-engine: refused',
  'worker-engine: silent',
  'worker-engine: request lost',
  'worker-engine: answer lost',
  'worker-provider: refused',
  'worker-provider: silent',
  'worker-provider: request lost',
  'worker-provider: answer lost',
  'provider-api: refused',
  'provider-api: silent',
  'provider-api: request lost',
  'provider-api: answer lost',
  'clock: API ahead',
  'clock: API behind',
  'clock: workers ahead',
  'clock: workers behind',
] as const;
export type FaultKind = (typeof FAULTS)[number];

export type Beat = { readonly moment: Moment; readonly fault: FaultKind; readonly action: PersonAction };

export type LifePlan = {
  readonly index: number;
  readonly reference: string;
  /** Seconds in which the customer can pay. */
  readonly expiresIn: number;
  /** Milliseconds after the world began. */
  readonly beginsAfter: number;
  readonly beats: readonly Beat[];
};

const BEGIN_WITHIN_MS = 60_000;

function combinations(moments: readonly Moment[]): Beat[] {
  return moments.flatMap((moment) => FAULTS.flatMap((fault) => ACTIONS.map((action) => ({ moment, fault, action }))));
}

/** Every combination comes once before any comes twice: a run of enough lives draws each of them often enough. */
class Deck {
  readonly #cards: readonly Beat[];
  readonly #shuffles = new Map<number, readonly Beat[]>();

  constructor(
    private readonly seed: string,
    moments: readonly Moment[],
  ) {
    this.#cards = combinations(moments);
  }

  at(index: number): Beat {
    const round = Math.floor(index / this.#cards.length);
    let shuffled = this.#shuffles.get(round);
    if (shuffled === undefined) {
      shuffled = new Random(`${this.seed}/${round}`).shuffled(this.#cards);
      this.#shuffles.set(round, shuffled);
    }
    return shuffled[index % this.#cards.length] as Beat;
  }
}

/** How often a run of so many lives draws each combination at least. */
function leastDraws(lives: number): number {
  const [early, late] = [combinations(EARLY_MOMENTS).length, combinations(LATE_MOMENTS).length];
  return Math.min(Math.floor(lives / early), Math.floor((2 * lives) / late));
}

/** Plans the lives of a run. A life depends on the seed and its number only. */
export class Plans {
  readonly #early: Deck;
  readonly #late: Deck;

  constructor(private readonly seed: number) {
    this.#early = new Deck(`${seed}/early`, EARLY_MOMENTS);
    this.#late = new Deck(`${seed}/late`, LATE_MOMENTS);
  }

  life(index: number): LifePlan {
    const random = new Random(`${this.seed}/life/${index}`);
    const beats = [this.#early.at(index), this.#late.at(2 * index), this.#late.at(2 * index + 1)];
    return {
      index,
      reference: `life-${index}`,
      expiresIn: random.pick([60, 120, 300]),
      beginsAfter: random.integer(0, BEGIN_WITHIN_MS),
      beats: beats.toSorted((a, b) => MOMENTS.indexOf(a.moment) - MOMENTS.indexOf(b.moment)),
    };
  }
}
