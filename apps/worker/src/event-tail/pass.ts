import { formatInstant, instant, isNews, parseCheckoutId, parseInstant, plus, routeEvent } from '@tillflow/domain';
import { PaymentsError, type Event, type PaymentsClient } from '@tillflow/payments-client';
import type { EventCounts, EventsRead, ReadEventsCall, TailNotice, UnplacedEvent } from '@tillflow/workflows';
import { FAR_AHEAD } from '../activities/payments.js';
import type { TailCheckouts } from './checkouts.js';
import type { Delivered, Delivery, News } from './delivery.js';
import type { KnownEvents } from './known-events.js';
import { createdAt, noticeOf, noticeOfOccurrence, planOf } from './notices.js';

/** Delivered together, before the watermark moves past them. */
const BATCH_SIZE = 100;
/** Deliveries at a time. */
const CONCURRENCY = 10;
/** Of unplaced events and of notices as many are brought back: the tail keeps no more. */
const KEPT = 50;
/** Of a plan, at each event of it. */
const LATEST_OCCURRENCES = 20;
const PAGE = { timeoutMs: 5_000, deadlineMs: 15_000 } as const;

/** How far a pass came. Whoever takes it up begins here. */
export type Progress = Omit<EventsRead, 'intervalMs' | 'failure'>;

export type PassParts = {
  readonly provider: PaymentsClient;
  readonly checkouts: TailCheckouts;
  readonly delivery: Delivery;
  readonly known: KnownEvents;
  readonly overlapMs: number;
  readonly signal: AbortSignal;
};

/** One pass over the provider's events. */
export class Pass {
  #watermark: string;
  #counts: EventCounts = { read: 0, hinted: 0, reopened: 0, unplaced: 0 };
  readonly #unplaced = new Map<string, UnplacedEvent>();
  readonly #settled: string[];
  readonly #notices: TailNotice[];

  /** @param begun what an earlier try of the same pass did. */
  constructor(
    private readonly parts: PassParts,
    watermark: string,
    begun: Progress | null,
  ) {
    this.#watermark = begun?.watermark ?? watermark;
    this.#counts = begun?.counts ?? this.#counts;
    this.#settled = [...(begun?.settled ?? [])];
    this.#notices = [...(begun?.notices ?? [])];
    for (const event of begun?.unplaced ?? []) this.#unplaced.set(event.event_id, event);
  }

  /** What is done. Empty parts are left out. */
  get progress(): Progress {
    const unplaced = [...this.#unplaced.values()].slice(-KEPT);
    const notices = this.#notices.slice(-KEPT);
    return {
      watermark: this.#watermark,
      ...(Object.values(this.#counts).every((count) => count === 0) ? {} : { counts: this.#counts }),
      ...(unplaced.length === 0 ? {} : { unplaced }),
      ...(this.#settled.length === 0 ? {} : { settled: this.#settled }),
      ...(notices.length === 0 ? {} : { notices }),
    };
  }

  /** @throws what stopped it: then the {@link progress} holds all the same. */
  async run(retries: ReadEventsCall['retries']): Promise<void> {
    const again = retries.filter(({ event_id }) => !this.#settled.includes(event_id));
    await this.#deliverAll(again.map(toNews));
    const { provider, overlapMs, signal } = this.parts;
    const from = formatInstant(plus(parseInstant(this.#watermark), -overlapMs));
    // Without an upper bound in time: the provider's clock may be ahead of ours.
    const events = provider.events.iterate({ from, to: FAR_AHEAD, order: 'chronological' }, { ...PAGE, signal });
    let batch: Event[] = [];
    for await (const event of events) {
      batch.push(event);
      if (batch.length < BATCH_SIZE) continue;
      await this.#take(batch);
      batch = [];
    }
    await this.#take(batch);
  }

  /** What was delivered is behind us; what was only read is not. */
  async #take(batch: readonly Event[]): Promise<void> {
    const fresh = batch.filter(({ id }) => !this.parts.known.has(id));
    await this.#takeNotice(fresh);
    const routed = fresh.flatMap((event): News[] => {
      const news = routeEvent(event);
      return news === null || !isNews(news)
        ? []
        : [{ ...news, also: [], createdAt: event.created_at ?? null, before: null }];
    });
    await this.#deliverAll(coalesced(routed));
    for (const { id } of fresh) this.parts.known.add(id);
    this.#counts = { ...this.#counts, read: this.#counts.read + batch.length };
    const now = Date.now();
    const latest = Math.max(...batch.map((event) => createdAt(event) ?? 0), parseInstant(this.#watermark));
    // A date of the future would skip whatever comes before it.
    this.#watermark = formatInstant(instant(Math.max(Math.min(latest, now), parseInstant(this.#watermark))));
  }

  async #deliverAll(all: readonly News[]): Promise<void> {
    const { checkouts, delivery } = this.parts;
    const sought = all.flatMap(({ checkout, chargeId }) => (checkout === null && chargeId !== null ? [chargeId] : []));
    const owners = await checkouts.findByCharges([...new Set(sought)]);
    const left = [...all];
    const work = async (): Promise<void> => {
      for (let news = left.shift(); news !== undefined; news = left.shift()) {
        this.#count(news, await delivery.deliver(news, owners));
      }
    };
    await Promise.all(Array.from({ length: Math.min(CONCURRENCY, all.length) }, work));
  }

  #count(news: News, delivered: Delivered): void {
    const { hinted, reopened, unplaced } = this.#counts;
    if (delivered.as === 'unplaced') {
      this.#unplaced.set(news.id, delivered.event);
      if (delivered.notice !== null) this.#notices.push(delivered.notice);
      this.#counts = { ...this.#counts, unplaced: unplaced + 1 };
      return;
    }
    if (news.before !== null) this.#settled.push(news.id);
    if (delivered.as === 'hinted') this.#counts = { ...this.#counts, hinted: hinted + 1 };
    if (delivered.as === 'reopened') this.#counts = { ...this.#counts, reopened: reopened + 1 };
  }

  async #takeNotice(events: readonly Event[]): Promise<void> {
    const plans = new Map<string, Event>();
    for (const event of events) {
      const told = noticeOf(event);
      if (told !== null) this.#notices.push(told);
      const plan = planOf(event);
      if (plan !== null) plans.set(plan, event);
    }
    for (const [plan, event] of plans) await this.#lookAtPlan(plan, event);
  }

  /** What became of a plan is asked for: an event is never believed, and of an occurrence that was skipped there is none. */
  async #lookAtPlan(plan: string, event: Event): Promise<void> {
    const { provider, signal } = this.parts;
    try {
      const newest = { order: 'reverse_chronological', limit: LATEST_OCCURRENCES } as const;
      const { data } = await provider.schedules.listOccurrences(plan, newest, { ...PAGE, signal });
      for (const occurrence of data) {
        const told = noticeOfOccurrence(event, plan, occurrence);
        if (told !== null) this.#notices.push(told);
      }
    } catch (error) {
      // A person finds it in the plan as well: no reason to hold up everyone's payments.
      if (!(error instanceof PaymentsError) || signal.aborted) throw error;
    }
  }
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
    also: [],
    createdAt: null,
    before: event,
  };
}
