import { formatInstant, instant, parseInstant } from '@tillflow/domain';
import {
  InvalidRequestError,
  NotFoundError,
  PaymentsError,
  UnreadableRecord,
  type Event,
  type PaymentsClient,
} from '@tillflow/payments-client';
import {
  isUnroutable,
  latestNotices,
  latestUnplaced,
  type EventCounts,
  type EventsRead,
  type ReadEventsCall,
  type TailNotice,
  type UnplacedEvent,
} from '@tillflow/workflows';
import { instantOf } from '../activities/charge-facts.js';
import { END_OF_TIME } from '../activities/provider-call.js';
import {
  createdAtOf,
  fromUnplaced,
  mergeByCharge,
  toCheckoutEvent,
  type CheckoutEvent,
  type HandledEvents,
  type ListedEvent,
} from './checkout-events.js';
import type { TailCheckouts } from './checkouts.js';
import type { Delivered, Delivery } from './delivery.js';
import { noticeOf, noticeOfOccurrence, planOf } from './notices.js';
import { noticeOfUnreadable, subjectOfUnreadable, toUnplaced, type EventSubject } from './unplaced.js';

/** Events per batch. The watermark moves past a batch once all of it is delivered. */
const BATCH_SIZE = 100;
/** Deliveries, and reads of plans, at a time. */
const CONCURRENCY = 10;
/** Occurrences that are read at each event of their plan. */
const LATEST_OCCURRENCES = 20;
const PAGE_LIMITS = { timeoutMs: 5_000, deadlineMs: 15_000 } as const;
/** Short, because the payments of the next page wait for these reads. */
const READ_LIMITS = { timeoutMs: 3_000, deadlineMs: 5_000 } as const;

/** How far a pass has come. A worker that takes the pass over continues from it. */
export type Progress = Omit<EventsRead, 'intervalMs' | 'failure'>;

export type PassParts = {
  /** The account whose events these are. */
  readonly account: string;
  readonly provider: PaymentsClient;
  readonly checkouts: TailCheckouts;
  readonly delivery: Delivery;
  readonly handled: HandledEvents;
  /** Ids of the events that the tail's workflow has stored: it does not need them again. */
  readonly remembered: ReadonlySet<string>;
  /** Deliver every event again, whether it was handled or not: an operator asked for it. */
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
  /** The unplaced events that this pass tries again, by id. */
  readonly #retried = new Map<string, UnplacedEvent>();

  /** @param begun how far an earlier try of the same pass has come, or null */
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

  /** Empty parts are left out. */
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

  /** @throws the failure that stopped the pass: the {@link progress} until then is valid. */
  async run(retries: ReadEventsCall['retries']): Promise<void> {
    await this.#retry(retries.filter(({ event_id }) => !this.#settled.has(event_id)));
    const { provider, overlapMs, signal } = this.parts;
    // No event is older than 1970, and an earlier instant may not be a valid date.
    const from = formatInstant(instant(Math.max(parseInstant(this.#watermark) - overlapMs, 0)));
    // Without an upper bound: the provider's clock may be ahead of this machine's.
    const range = { from, to: END_OF_TIME, order: 'chronological' } as const;
    let batch: ListedEvent[] = [];
    for await (const listed of provider.events.iterateTolerant(range, { ...PAGE_LIMITS, signal })) {
      batch.push(listed);
      if (batch.length < BATCH_SIZE) continue;
      await this.#handleBatch(batch);
      batch = [];
    }
    await this.#handleBatch(batch);
  }

  /** An unplaced event that names a checkout or a charge is delivered; any other is read again. */
  async #retry(unplaced: readonly UnplacedEvent[]): Promise<void> {
    for (const event of unplaced) this.#retried.set(event.event_id, event);
    await this.#deliverAll(unplaced.filter((event) => !isUnroutable(event)).map(fromUnplaced));
    await forEachConcurrently(unplaced.filter(isUnroutable), (event) => this.#readAgain(event));
    this.#limitUnplaced();
  }

  async #readAgain(before: UnplacedEvent): Promise<void> {
    const { provider, signal } = this.parts;
    const { event_id: id } = before;
    this.#unplaced.delete(id);
    try {
      await this.#handle([await provider.events.retrieve(id, { ...READ_LIMITS, signal })]);
    } catch (error) {
      if (!(error instanceof PaymentsError) || signal.aborted) throw error;
      this.#retryLater(before, `${error.code}: ${error.message}`);
    }
    if (!this.#unplaced.has(id)) this.#settled.add(id);
  }

  async #handleBatch(batch: readonly ListedEvent[]): Promise<void> {
    const { handled, remembered, again } = this.parts;
    await this.#handle(
      batch.filter((one) => again || !(handled.has(one.id, createdAtOf(one)) || remembered.has(one.id))),
    );
    this.#limitUnplaced();
    this.#counts = { ...this.#counts, read: this.#counts.read + batch.length };
    const now = Date.now();
    // A time in the future does not move the watermark: events before it would be skipped.
    const times = batch.map((one) => instantOf(createdAtOf(one)) ?? 0).filter((time) => time <= now);
    this.#watermark = formatInstant(instant(Math.max(parseInstant(this.#watermark), ...times)));
  }

  /**
   * Delivers events and collects notices. An event counts as handled in this process only if the tail has nothing to
   * store about it: the result of this activity may be lost, and the event must then be found again.
   */
  async #handle(events: readonly ListedEvent[]): Promise<void> {
    const { account, handled, remembered } = this.parts;
    const toDeliver = events.flatMap((one) => toCheckoutEvent(one, this.#retried.get(one.id) ?? null, account) ?? []);
    await this.#deliverAll(mergeByCharge(toDeliver));
    const notices = new Map(events.map((one): [string, TailNotice[]] => [one.id, noticesOf(one, account)]));
    for (const one of events) if (one instanceof UnreadableRecord) this.#retryUnreadable(one);
    for (const [id, ofPlan] of await this.#checkPlans(events)) notices.get(id)?.push(...ofPlan);
    this.#notices = latestNotices([...this.#notices, ...[...notices.values()].flat()]);
    for (const one of events) {
      const isStored = notices.get(one.id)?.every(({ event_id }) => remembered.has(event_id)) ?? true;
      if (isStored && !this.#unplaced.has(one.id)) handled.add(one.id, createdAtOf(one));
    }
  }

  async #deliverAll(events: readonly CheckoutEvent[]): Promise<void> {
    const { checkouts, delivery } = this.parts;
    const sought = events.flatMap(({ checkout, chargeId }) =>
      checkout === null && chargeId !== null ? [chargeId] : [],
    );
    const owners = await checkouts.findByCharges([...new Set(sought)]);
    await forEachConcurrently(events, async (event) => this.#count(event, await delivery.deliver(event, owners)));
  }

  #count(event: CheckoutEvent, delivered: Delivered): void {
    const { hinted, reopened, unplaced } = this.#counts;
    if (delivered.as === 'unplaced') {
      this.#unplaced.set(event.id, delivered.event);
      if (delivered.notice !== null) this.#notices = latestNotices([...this.#notices, delivered.notice]);
      this.#counts = { ...this.#counts, unplaced: unplaced + 1 };
      return;
    }
    if (event.before !== null) {
      this.#settled.add(event.id);
      this.#unplaced.delete(event.id);
      // The list of events may still contain this event. Otherwise the pass would deliver it again.
      this.parts.handled.add(event.id, event.createdAt);
    }
    if (delivered.as === 'hinted') this.#counts = { ...this.#counts, hinted: hinted + 1 };
    if (delivered.as === 'reopened') this.#counts = { ...this.#counts, reopened: reopened + 1 };
  }

  /** An unreadable event that names neither checkout nor charge may become readable. */
  #retryUnreadable(record: UnreadableRecord): void {
    const { isRouted, ...subject } = subjectOfUnreadable(record, this.parts.account);
    if (!isRouted && record.hasOwnId) this.#retryLater(subject, `unreadable: ${record.error.message}`);
  }

  #retryLater(subject: EventSubject, why: string): void {
    // An event that could not be delivered keeps the reason of the failed delivery.
    if (this.#unplaced.has(subject.event_id)) return;
    const before = this.#retried.get(subject.event_id) ?? null;
    this.#unplaced.set(subject.event_id, toUnplaced(subject, why, before));
    this.#counts = { ...this.#counts, unplaced: this.#counts.unplaced + 1 };
  }

  #limitUnplaced(): void {
    const latest = latestUnplaced([...this.#unplaced.values()]);
    this.#unplaced = new Map(latest.map((event) => [event.event_id, event]));
  }

  /** Reads the plans that events concern. @returns notices by the event that caused the read */
  async #checkPlans(events: readonly ListedEvent[]): Promise<ReadonlyMap<string, readonly TailNotice[]>> {
    const newest = new Map<string, Event>();
    for (const one of events) {
      if (one instanceof UnreadableRecord) continue;
      const plan = planOf(one);
      if (plan !== null) newest.set(plan, one);
    }
    const notices = new Map<string, readonly TailNotice[]>();
    await forEachConcurrently([...newest], async ([plan, event]) => {
      notices.set(event.id, await this.#checkPlan(plan, event));
    });
    return notices;
  }

  /** The event's own content is not trusted, and a skipped occurrence causes no event. */
  async #checkPlan(plan: string, event: Event): Promise<TailNotice[]> {
    const { provider, signal } = this.parts;
    try {
      const newest = { order: 'reverse_chronological', limit: LATEST_OCCURRENCES } as const;
      const { data } = await provider.schedules.listOccurrences(plan, newest, { ...READ_LIMITS, signal });
      return data.flatMap((occurrence) => noticeOfOccurrence(event, plan, occurrence) ?? []);
    } catch (error) {
      if (signal.aborted) throw error;
      // The plan does not exist.
      if (error instanceof NotFoundError || error instanceof InvalidRequestError) return [];
      const { id: event_id, key: event_key, created_at = null } = event;
      const subject = { event_id, event_key, subject: plan, checkout_id: null, charge_id: null, created_at };
      // Any failure concerns this plan only: payments must not wait for it.
      this.#retryLater(subject, error instanceof PaymentsError ? `${error.code}: ${error.message}` : String(error));
      return [];
    }
  }
}

/** Runs `work` for a few items at a time. After the first failure no further item begins. */
async function forEachConcurrently<T>(items: readonly T[], work: (item: T) => Promise<void>): Promise<void> {
  const left = [...items];
  const runNext = async (): Promise<void> => {
    for (let item = left.shift(); item !== undefined; item = left.shift()) await work(item);
  };
  const runners = Array.from({ length: Math.min(CONCURRENCY, items.length) }, runNext);
  await Promise.all(runners).finally(() => left.splice(0));
}

function noticesOf(listed: ListedEvent, account: string): TailNotice[] {
  const notice = listed instanceof UnreadableRecord ? noticeOfUnreadable(listed, account) : noticeOf(listed);
  return notice === null ? [] : [notice];
}
