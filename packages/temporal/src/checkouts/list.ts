import { isAwaitingPayment, parseInstant } from '@tillflow/domain';
import type { OnUnreadable } from '../listed-runs.js';
import type { StoredCheckout } from './checkout-workflow.js';
import type { Checkouts } from './checkouts.js';
import { newestWindow, type Window } from './creation-window.js';
import { firstPlace, type ListPlace } from './list-position.js';
import { isWithin } from '../tills.js';
import { partsOf, type CheckoutFilters } from './queries.js';

/** One page, and where the next one begins; null at the end. A page may be short of its limit and not be the last. */
export type ListPage = { readonly data: readonly StoredCheckout[]; readonly next: ListPlace | null };

/** Windows per page. Each costs one search, and the first one up to thirteen counts. */
const MAX_WINDOWS = 6;
/** The least and the most checkouts that are read for a page. */
const MIN_READ = 50;
const MAX_READ = 400;

/**
 * Lists checkouts in one order across all pages: open ones, then ended ones; within each part the newest first by
 * creation, and by id where the creation times are equal. A checkout that is created while pages are read is left out
 * or comes in its place. No checkout is shown twice, even when it ends meanwhile.
 */
export class CheckoutList {
  private readonly filters: CheckoutFilters;

  constructor(
    private readonly checkouts: Checkouts,
    filters: CheckoutFilters,
    private readonly onUnreadable: OnUnreadable,
  ) {
    this.filters = { ...filters, account: checkouts.account };
  }

  async page(limit: number, from: ListPlace | null): Promise<ListPage> {
    const data: StoredCheckout[] = [];
    let place: ListPlace | null = from ?? firstPlace(Date.now());
    for (let windows = 0; windows < MAX_WINDOWS && data.length < limit && place !== null; windows += 1) {
      const read = await this.#window(place, limit - data.length);
      data.push(...read.data);
      place = read.next;
    }
    return { data, next: place };
  }

  /** At most `wanted` checkouts of the next window of a part. */
  async #window(place: ListPlace, wanted: number): Promise<ListPage> {
    const part = partsOf(this.filters)[place.part];
    if (part === undefined) return { data: [], next: null };
    const { window, seconds } = await newestWindow(
      {
        to: place.createdAt === null ? null : Math.floor(place.createdAt / 1_000) + 1,
        now: Math.floor(place.began / 1_000) + 1,
        wanted,
        most: Math.min(Math.max(4 * wanted, MIN_READ), MAX_READ),
        seconds: place.seconds,
      },
      (counted) => this.checkouts.count(part.query(counted)),
    );
    const found = await this.checkouts.all(part.query(window), part.hasAllRuns, this.onUnreadable);
    const remaining = found
      .filter((stored) => isAfter(stored, place) && this.#matches(stored, place))
      .toSorted((a, b) => createdAt(b) - createdAt(a) || (a.intent.id < b.intent.id ? -1 : 1));
    const data = remaining.slice(0, wanted);
    const shown = part.isOpen ? place.shown.with(data.map(({ intent }) => intent.id)) : place.shown;
    const last = data.at(-1);
    if (last !== undefined && remaining.length > data.length) {
      return { data, next: { ...place, createdAt: createdAt(last), id: last.intent.id, seconds, shown } };
    }
    return { data, next: this.#placeAfter(window, { ...place, seconds, shown }) };
  }

  /** @param window was read to its end */
  #placeAfter({ from }: Window, place: ListPlace): ListPlace | null {
    if (from !== null) return { ...place, createdAt: from * 1_000 - 1, id: '' };
    const part = place.part + 1;
    if (partsOf(this.filters)[part] === undefined) return null;
    return { ...place, part, createdAt: null, id: '', seconds: null };
  }

  #matches({ intent, state }: StoredCheckout, { part, began, shown }: ListPlace): boolean {
    const { account, status, store, terminal, place, from, to } = this.filters;
    const at = Date.parse(intent.created_at);
    // A database may compare names without their case.
    if (account !== undefined && account !== intent.account) return false;
    if (store !== undefined && store !== (intent.store?.id ?? null)) return false;
    if (terminal !== undefined && terminal !== intent.terminal) return false;
    if (!isWithin(place, intent)) return false;
    if (from !== undefined && at < parseInstant(from)) return false;
    if (to !== undefined && at >= parseInstant(to)) return false;
    // The attribute does not distinguish creating from awaiting_payment, and may lag: the memo decides.
    if (status !== undefined) return state.status === status;
    const isOpen = isAwaitingPayment(state.status);
    if (partsOf(this.filters)[part]?.isOpen === true) return isOpen;
    if (shown.has(intent.id)) return false;
    // The checkout was reopened after the list had read the open checkouts. A checkout that is newer than the first
    // page does not belong to the list.
    return !isOpen || (shown.isComplete && at <= began);
  }
}

function isAfter(stored: StoredCheckout, place: ListPlace): boolean {
  const at = createdAt(stored);
  if (place.createdAt === null || at < place.createdAt) return true;
  return at === place.createdAt && stored.intent.id > place.id;
}

function createdAt({ intent }: StoredCheckout): number {
  return Date.parse(intent.created_at);
}
