import { formatInstant, instant, isNews, parseCheckoutId, parseInstant, routeEvent } from '@tillflow/domain';
import {
  InvalidRequestError,
  NotFoundError,
  PaymentsError,
  UnreadableRecord,
  type Event,
  type PaymentsClient,
} from '@tillflow/payments-client';
import {
  latestNotices,
  latestUnplaced,
  namesNobody,
  type EventCounts,
  type EventsRead,
  type ReadEventsCall,
  type TailNotice,
  type UnplacedEvent,
} from '@tillflow/workflows';
import { FAR_AHEAD } from '../activities/payments.js';
import type { TailCheckouts } from './checkouts.js';
import type { Delivered, Delivery, News } from './delivery.js';
import type { KnownEvents } from './known-events.js';
import { createdAt, noticeOf, noticeOfOccurrence, planOf } from './notices.js';
import { noticeOfUnreadable, salvage } from './unreadable.js';
import { toUnplaced, type About } from './unplaced.js';

/** Delivered together, before the watermark moves past them. */
const BATCH_SIZE = 100;
/** Deliveries, and looks at plans, at a time. */
const CONCURRENCY = 10;
/** Of a plan, at each event of it. */
const LATEST_OCCURRENCES = 20;
const PAGE = { timeoutMs: 5_000, deadlineMs: 15_000 } as const;
/** Payments of the next page wait for it. */
const LOOK = { timeoutMs: 3_000, deadlineMs: 5_000 } as const;

/** How far a pass came. Whoever takes it up begins here. */
export type Progress = Omit<EventsRead, 'intervalMs' | 'failure'>;

/** An event of the list, or what came in its place. */
type Listed = Event | UnreadableRecord;

export type PassParts = {
  readonly provider: PaymentsClient;
  readonly checkouts: TailCheckouts;
  readonly delivery: Delivery;
  readonly known: KnownEvents;
  /** Ids of what the tail itself remembers, told or to be tried again: it need not be read to it once more. */
  readonly remembered: ReadonlySet<string>;
  /** All is to be delivered again, whatever is known: someone asked for it. */
  readonly again: boolean;
  readonly overlapMs: number;
  readonly signal: AbortSignal;
};

/** One pass over the provider's events. */
export class Pass {
  #watermark: string;
  #counts: EventCounts = { read: 0, hinted: 0, reopened: 0, unplaced: 0 };
  #notices: readonly TailNotice[];
  #unplaced = new Map<string, UnplacedEvent>();
  readonly #settled: Set<string>;
  /** What is tried again, by the event's id. */
  readonly #before = new Map<string, UnplacedEvent>();

  /** @param begun what an earlier try of the same pass did. */
  constructor(
    private readonly parts: PassParts,
    watermark: string,
    begun: Progress | null,
  ) {
    this.#watermark = begun?.watermark ?? watermark;
    this.#counts = begun?.counts ?? this.#counts;
    this.#settled = new Set(begun?.settled);
    this.#notices = begun?.notices ?? [];
    for (const event of begun?.unplaced ?? []) this.#unplaced.set(event.event_id, event);
  }

  /** What is done. Empty parts are left out. */
  get progress(): Progress {
    const unplaced = [...this.#unplaced.values()];
    return {
      watermark: this.#watermark,
      ...(Object.values(this.#counts).every((count) => count === 0) ? {} : { counts: this.#counts }),
      ...(unplaced.length === 0 ? {} : { unplaced }),
      ...(this.#settled.size === 0 ? {} : { settled: [...this.#settled] }),
      ...(this.#notices.length === 0 ? {} : { notices: this.#notices }),
    };
  }

  /** @throws what stopped it: then the {@link progress} holds all the same. */
  async run(retries: ReadEventsCall['retries']): Promise<void> {
    await this.#retry(retries.filter(({ event_id }) => !this.#settled.has(event_id)));
    const { provider, overlapMs, signal } = this.parts;
    // Nothing happened before 1970, and the years before the first are no date.
    const from = formatInstant(instant(Math.max(parseInstant(this.#watermark) - overlapMs, 0)));
    // Without an upper bound in time: the provider's clock may be ahead of ours.
    const all = { from, to: FAR_AHEAD, order: 'chronological' } as const;
    let batch: Listed[] = [];
    for await (const listed of provider.events.iterateTolerant(all, { ...PAGE, signal })) {
      batch.push(listed);
      if (batch.length < BATCH_SIZE) continue;
      await this.#take(batch);
      batch = [];
    }
    await this.#take(batch);
  }

  /** What is remembered with its checkout or charge is delivered; of the others, the event is read again. */
  async #retry(unplaced: readonly UnplacedEvent[]): Promise<void> {
    for (const event of unplaced) this.#before.set(event.event_id, event);
    await this.#deliverAll(unplaced.filter((event) => !namesNobody(event)).map(toNews));
    await inTurns(unplaced.filter(namesNobody), (event) => this.#readAgain(event));
    this.#keepLatest();
  }

  async #readAgain(before: UnplacedEvent): Promise<void> {
    const { provider, signal } = this.parts;
    const { event_id: id } = before;
    this.#unplaced.delete(id);
    try {
      await this.#deal([await provider.events.retrieve(id, { ...LOOK, signal })]);
    } catch (error) {
      if (!(error instanceof PaymentsError) || signal.aborted) throw error;
      this.#remember(before, `${error.code}: ${error.message}`);
    }
    if (!this.#unplaced.has(id)) this.#settled.add(id);
  }

  /** What was delivered is behind us; what was only read is not. */
  async #take(batch: readonly Listed[]): Promise<void> {
    await this.#deal(batch.filter((one) => this.#isFresh(one)));
    this.#keepLatest();
    this.#counts = { ...this.#counts, read: this.#counts.read + batch.length };
    const now = Date.now();
    // A date of the future moves nothing: what comes before it would be skipped, by our clock or by the provider's.
    const dates = batch.map((one) => createdAt(happenedAt(one)) ?? 0).filter((date) => date <= now);
    this.#watermark = formatInstant(instant(Math.max(parseInstant(this.#watermark), ...dates)));
  }

  #isFresh(one: Listed): boolean {
    const { known, remembered, again } = this.parts;
    return again || !(known.has(identityOf(one)) || remembered.has(one.id));
  }

  /**
   * Takes events to whom they concern. Only what leaves nothing to remember is known afterwards to this process: what it
   * tells the tail may be lost on the way, and then has to be found again.
   */
  async #deal(events: readonly Listed[]): Promise<void> {
    await this.#deliverAll(coalesced(events.flatMap((one) => this.#newsOf(one))));
    const told = new Map(events.map((one): [string, TailNotice[]] => [one.id, noticesOf(one)]));
    for (const one of events) if (one instanceof UnreadableRecord) this.#rememberUnreadable(one);
    for (const [id, notices] of await this.#lookAtPlans(events)) told.get(id)?.push(...notices);
    this.#notices = latestNotices([...this.#notices, ...[...told.values()].flat()]);
    const { known, remembered } = this.parts;
    for (const one of events) {
      const isTold = told.get(one.id)?.every(({ event_id }) => remembered.has(event_id)) ?? true;
      if (isTold && !this.#unplaced.has(one.id)) known.add(identityOf(one));
    }
  }

  /** News of whoever is concerned, also where the event does not fit: it is only a reason to look. */
  #newsOf(one: Listed): News[] {
    const routed = routeEvent(one instanceof UnreadableRecord ? one.json : one);
    if (routed === null || !isNews(routed)) return [];
    const { created_at: at = null } = happenedAt(one);
    return [{ ...routed, id: one.id, also: [], createdAt: at, before: this.#before.get(one.id) ?? null }];
  }

  async #deliverAll(all: readonly News[]): Promise<void> {
    const { checkouts, delivery } = this.parts;
    const sought = all.flatMap(({ checkout, chargeId }) => (checkout === null && chargeId !== null ? [chargeId] : []));
    const owners = await checkouts.findByCharges([...new Set(sought)]);
    await inTurns(all, async (news) => this.#count(news, await delivery.deliver(news, owners)));
  }

  #count(news: News, delivered: Delivered): void {
    const { hinted, reopened, unplaced } = this.#counts;
    if (delivered.as === 'unplaced') {
      this.#unplaced.set(news.id, delivered.event);
      if (delivered.notice !== null) this.#notices = latestNotices([...this.#notices, delivered.notice]);
      this.#counts = { ...this.#counts, unplaced: unplaced + 1 };
      return;
    }
    if (news.before !== null) {
      this.#settled.add(news.id);
      // It would begin anew while it is in the overlap.
      this.#unplaced.delete(news.id);
      this.parts.known.add(identity(news.id, news.createdAt));
    }
    if (delivered.as === 'hinted') this.#counts = { ...this.#counts, hinted: hinted + 1 };
    if (delivered.as === 'reopened') this.#counts = { ...this.#counts, reopened: reopened + 1 };
  }

  /** It is told in any case. Where it does not say whom it concerns, it may be better to read later. */
  #rememberUnreadable(record: UnreadableRecord): void {
    const { isRouted, ...about } = salvage(record);
    if (!isRouted && record.hasOwnId) this.#remember(about, `unreadable: ${record.error.message}`);
  }

  #remember(about: About, why: string): void {
    // What is to be delivered comes before what is to be looked at.
    if (this.#unplaced.has(about.event_id)) return;
    this.#unplaced.set(about.event_id, toUnplaced(about, why, this.#before.get(about.event_id) ?? null));
    this.#counts = { ...this.#counts, unplaced: this.#counts.unplaced + 1 };
  }

  #keepLatest(): void {
    const kept = latestUnplaced([...this.#unplaced.values()]);
    this.#unplaced = new Map(kept.map((event) => [event.event_id, event]));
  }

  /** What became of each plan that there is news of, by the event that told of it. */
  async #lookAtPlans(events: readonly Listed[]): Promise<ReadonlyMap<string, readonly TailNotice[]>> {
    const newest = new Map<string, Event>();
    for (const one of events) {
      if (one instanceof UnreadableRecord) continue;
      const plan = planOf(one);
      if (plan !== null) newest.set(plan, one);
    }
    const told = new Map<string, readonly TailNotice[]>();
    await inTurns([...newest], async ([plan, event]) => {
      told.set(event.id, await this.#lookAtPlan(plan, event));
    });
    return told;
  }

  /** It is asked for: an event is never believed, and of an occurrence that was skipped there is none. */
  async #lookAtPlan(plan: string, event: Event): Promise<TailNotice[]> {
    const { provider, signal } = this.parts;
    try {
      const newest = { order: 'reverse_chronological', limit: LATEST_OCCURRENCES } as const;
      const { data } = await provider.schedules.listOccurrences(plan, newest, { ...LOOK, signal });
      return data.flatMap((occurrence) => noticeOfOccurrence(event, plan, occurrence) ?? []);
    } catch (error) {
      if (signal.aborted) throw error;
      // There is no such plan: nothing is to be told of it.
      if (error instanceof NotFoundError || error instanceof InvalidRequestError) return [];
      const { id: event_id, key: event_key, created_at = null } = event;
      const about = { event_id, event_key, subject: plan, checkout_id: null, charge_id: null, created_at };
      // Whatever it is, it is this plan's alone: nobody's payment waits for it.
      this.#remember(about, error instanceof PaymentsError ? `${error.code}: ${error.message}` : String(error));
      return [];
    }
  }
}

/** A few at a time. The first failure ends it, so that nothing is begun any more. */
async function inTurns<T>(all: readonly T[], work: (one: T) => Promise<void>): Promise<void> {
  const left = [...all];
  const take = async (): Promise<void> => {
    for (let one = left.shift(); one !== undefined; one = left.shift()) await work(one);
  };
  const turns = Array.from({ length: Math.min(CONCURRENCY, all.length) }, take);
  await Promise.all(turns).finally(() => left.splice(0));
}

/** A provider in test mode that begins anew may give an id again. */
const identity = (id: string, createdAt: string | null): string => `${id} ${createdAt ?? ''}`;

function identityOf(one: Listed): string {
  return identity(one.id, happenedAt(one).created_at ?? null);
}

/** All news of one charge of one checkout as one. What a paid checkout pays no heed to does not speak for the others. */
function coalesced(all: readonly News[]): News[] {
  const bySubject = new Map<string, News>();
  for (const news of all) {
    const subject = `${news.checkout?.reference ?? ''} ${news.chargeId ?? news.subject}`;
    const before = bySubject.get(subject);
    if (before === undefined) bySubject.set(subject, news);
    else if (news.key === 'charge.complete') bySubject.set(subject, { ...before, also: [...before.also, news] });
    else bySubject.set(subject, { ...news, also: [...before.also, before] });
  }
  return [...bySubject.values()];
}

function toNews(event: UnplacedEvent): News {
  return {
    id: event.event_id,
    key: event.event_key,
    subject: event.subject,
    checkout: parseCheckoutId(event.checkout_id ?? ''),
    chargeId: event.charge_id,
    // The charge itself says whose it is.
    showsMetadata: false,
    also: [],
    createdAt: event.created_at ?? null,
    before: event,
  };
}

function happenedAt(one: Listed): { readonly created_at?: string | null | undefined } {
  return one instanceof UnreadableRecord ? salvage(one) : one;
}

function noticesOf(one: Listed): TailNotice[] {
  const notice = one instanceof UnreadableRecord ? noticeOfUnreadable(one) : noticeOf(one);
  return notice === null ? [] : [notice];
}
