import { isAwaitingPayment, parseInstant } from '@tillflow/domain';
import { partsOf, type CheckoutFilters } from './checkout-queries.js';
import type { Checkouts } from './checkouts.js';
import type { StoredCheckout } from './stored-checkout.js';
import { newestWindow, type Window } from './created-window.js';
import type { UnreadablePayloadError } from './encryption-codec.js';
import { beginning, type ListPlace } from './list-place.js';

/** One page, and where to read on; null at the end. A page may be short of its limit and have a place to read on. */
export type ListPage = { readonly data: readonly StoredCheckout[]; readonly next: ListPlace | null };

/** Windows that are read for one page: each costs one search, and up to two more to find it once the first is known. */
const MOST_WINDOWS = 6;
/** What is read for a page of so many. */
const LEAST_READ = 50;
const MOST_READ = 400;

type OnUnreadable = (workflowId: string, error: UnreadablePayloadError) => void;

/**
 * Checkouts in one order from the first page to the last: open ones, then those that ended, in each the newest first by
 * their creation, and by id where that is the same. What is created while pages are read is left out or comes in its
 * place; what was shown is not shown again, also when it ends meanwhile.
 */
export class CheckoutList {
  constructor(
    private readonly checkouts: Checkouts,
    private readonly filters: CheckoutFilters,
    /** Told of each that cannot be read and is left out. */
    private readonly onUnreadable: OnUnreadable,
  ) {}

  async page(limit: number, from: ListPlace | null): Promise<ListPage> {
    const data: StoredCheckout[] = [];
    let place: ListPlace | null = from ?? beginning(Date.now());
    for (let windows = 0; windows < MOST_WINDOWS && data.length < limit && place !== null; windows += 1) {
      const read = await this.#window(place, limit - data.length);
      data.push(...read.data);
      place = read.next;
    }
    return { data, next: place };
  }

  /** What the next window of a part holds, as far as it is wanted. */
  async #window(place: ListPlace, wanted: number): Promise<ListPage> {
    const part = partsOf(this.filters)[place.part];
    if (part === undefined) return { data: [], next: null };
    const { window, seconds } = await newestWindow(
      {
        to: place.createdAt === null ? null : Math.floor(place.createdAt / 1_000) + 1,
        now: Math.floor(place.began / 1_000) + 1,
        wanted,
        most: Math.min(Math.max(4 * wanted, LEAST_READ), MOST_READ),
        seconds: place.seconds,
      },
      (counted) => this.checkouts.count(part.query(counted)),
    );
    const found = await this.checkouts.all(part.query(window), part.holdsAllRuns, this.onUnreadable);
    const left = found
      .filter((stored) => isLeft(stored, place) && this.#isMeant(stored, place))
      .toSorted((a, b) => createdAt(b) - createdAt(a) || (a.intent.id < b.intent.id ? -1 : 1));
    const data = left.slice(0, wanted);
    const shown = part.isOpen ? place.shown.with(data.map(({ intent }) => intent.id)) : place.shown;
    const last = data.at(-1);
    if (last !== undefined && left.length > data.length) {
      return { data, next: { ...place, createdAt: createdAt(last), id: last.intent.id, seconds, shown } };
    }
    return { data, next: this.#after(window, { ...place, seconds, shown }) };
  }

  /** The window was read to its end. */
  #after({ from }: Window, place: ListPlace): ListPlace | null {
    if (from !== null) return { ...place, createdAt: from * 1_000 - 1, id: '' };
    const part = place.part + 1;
    if (partsOf(this.filters)[part] === undefined) return null;
    return { ...place, part, createdAt: null, id: '', seconds: null };
  }

  #isMeant({ intent, state }: StoredCheckout, { part: number, began, shown }: ListPlace): boolean {
    const { status, from, to } = this.filters;
    const at = Date.parse(intent.created_at);
    if (from !== undefined && at < parseInstant(from)) return false;
    if (to !== undefined && at > parseInstant(to)) return false;
    // The attribute does not tell creating from awaiting_payment, and may lag; the memo decides.
    if (status !== undefined) return state.status === status;
    const isOpen = isAwaitingPayment(state.status);
    if (partsOf(this.filters)[number]?.isOpen === true) return isOpen;
    if (shown.has(intent.id)) return false;
    // Opened again after the open ones were read; one that is newer than the list is not of it.
    return !isOpen || (shown.isComplete && at <= began);
  }
}

function isLeft(stored: StoredCheckout, place: ListPlace): boolean {
  const at = createdAt(stored);
  if (place.createdAt === null || at < place.createdAt) return true;
  return at === place.createdAt && stored.intent.id > place.id;
}

function createdAt({ intent }: StoredCheckout): number {
  return Date.parse(intent.created_at);
}
