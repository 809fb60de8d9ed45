import { formatInstant, instant, parseInstant, plus, type Instant } from '@tillflow/domain';
import type { EventsRead, ReadEventsCall } from './activities.js';
import { latestNotices, latestUnplaced, type EventTailMemo, type TailNotice, type UnplacedEvent } from './memo.js';
import type { EventCounts } from './messages.js';

/** The tail stores this many dismissed events, so that an event that is read twice does not bring its notice back. */
const MAX_DISMISSED = 50;
/** One pass retries at most this many unplaced events. */
const MAX_RETRIES = 20;
/** Until the worker reports its setting. */
const FIRST_INTERVAL_MS = 15_000;

/** Everything that the tail stores, as plain JSON: it is the input of the next run after continue-as-new. */
export type TailState = {
  readonly watermark: string | null;
  readonly intervalMs: number;
  readonly unplaced: readonly UnplacedEvent[];
  readonly notices: readonly TailNotice[];
  /** Ids of the events that were dismissed. */
  readonly dismissed: readonly string[];
  readonly failing: NonNullable<EventTailMemo['failing']> | null;
};

const NOTHING: EventCounts = { read: 0, hinted: 0, reopened: 0, unplaced: 0 };

/** A request to read from an instant on, and its counts so far. */
export type Rereading = { readonly from: Instant; counts: EventCounts; isUnderWay: boolean; isDone: boolean };

/** The state of the event tail, and its next pass. Pure: no clock, no I/O. */
export class Tail {
  #state: TailState;
  #rereadings: Rereading[] = [];
  #lastPassAt: Instant | null = null;

  constructor(state: TailState) {
    this.#state = state;
  }

  /** @param memo of the earlier tail, or null when there was none */
  static after(memo: EventTailMemo | null): Tail {
    const { pass, unplaced = [], notices = [], dismissed = [] } = memo ?? {};
    // Different runs may have written the parts of this memo, so a dismissed entry may still be in another part.
    const isPresent = ({ event_id }: TailNotice | UnplacedEvent): boolean => !dismissed.includes(event_id);
    return new Tail({
      watermark: pass?.watermark ?? null,
      intervalMs: pass?.interval_ms ?? FIRST_INTERVAL_MS,
      unplaced: unplaced.filter(isPresent),
      notices: notices.filter(isPresent),
      dismissed,
      failing: null,
    });
  }

  get state(): TailState {
    return this.#state;
  }

  get intervalMs(): number {
    return this.#state.intervalMs;
  }

  /** A reread is due now. While passes fail, it waits for the next pass like everything else. */
  get isRereadDue(): boolean {
    return this.#state.failing === null && this.#rereadings.length > 0;
  }

  reread(from: Instant): Rereading {
    const rereading: Rereading = { from, counts: NOTHING, isUnderWay: false, isDone: false };
    this.#rereadings.push(rereading);
    return rereading;
  }

  /** Drops a reread that was requested. */
  giveUp(rereading: Rereading): void {
    this.#rereadings = this.#rereadings.filter((one) => one !== rereading);
  }

  /** Adds a notice that no event caused. */
  note(notice: TailNotice): void {
    this.#state = { ...this.#state, notices: latestNotices([...this.#state.notices, notice]) };
  }

  /** Removes everything that is stored about an event. @param id of the event, or of a notice */
  dismiss(id: string): void {
    const { notices, unplaced, dismissed } = this.#state;
    const events = new Set([id, ...notices.filter((notice) => notice.id === id).map(({ event_id }) => event_id)]);
    const isDismissed = ({ event_id }: TailNotice | UnplacedEvent): boolean => events.has(event_id);
    const found = [...notices, ...unplaced].filter(isDismissed).map(({ event_id }) => event_id);
    this.#state = {
      ...this.#state,
      notices: notices.filter((one) => !isDismissed(one)),
      unplaced: unplaced.filter((one) => !isDismissed(one)),
      dismissed: [...new Set([...dismissed, ...found])].slice(-MAX_DISMISSED),
    };
  }

  /** The next pass. It starts early enough for every reread that was requested so far. */
  begin(now: Instant): ReadEventsCall {
    const { watermark, unplaced, notices, dismissed } = this.#state;
    const remembered = [...[...unplaced, ...notices].map(({ event_id }) => event_id), ...dismissed];
    const requested = this.#rereadings.filter(({ isUnderWay }) => !isUnderWay);
    const from = Math.min(...requested.map((one) => one.from), watermark === null ? Infinity : parseInstant(watermark));
    for (const one of requested) one.isUnderWay = true;
    return {
      watermark: Number.isFinite(from) ? formatInstant(instant(from)) : null,
      retries: unplaced.filter(({ retry_at }) => parseInstant(retry_at) <= now).slice(0, MAX_RETRIES),
      ...(remembered.length === 0 ? {} : { remembered }),
      ...(this.#rereadings.length === 0 ? {} : { again: true }),
    };
  }

  /** @param begunAt when the pass began */
  ended(begunAt: Instant, now: Instant, read: EventsRead): void {
    const { counts = NOTHING, unplaced = [], settled = [], notices = [], failure } = read;
    const replaced = new Set([...settled, ...unplaced.map(({ event_id }) => event_id)]);
    const left = this.#state.unplaced.filter(({ event_id }) => !replaced.has(event_id));
    const since = new Map(this.#state.unplaced.map((event) => [event.event_id, event.since]));
    const again = this.#notDismissed(unplaced).map((event) =>
      Object.assign({}, event, { since: since.get(event.event_id) ?? event.since }),
    );
    this.#state = {
      ...this.#state,
      watermark: read.watermark,
      intervalMs: read.intervalMs,
      unplaced: latestUnplaced([...left, ...again]),
      notices: latestNotices([...this.#state.notices, ...this.#notDismissed(notices)]),
    };
    for (const one of this.#rereadings.filter(({ isUnderWay }) => isUnderWay)) {
      one.counts = sum(one.counts, counts);
      one.isDone = failure === undefined;
    }
    this.#rereadings = this.#rereadings.filter(({ isDone }) => !isDone);
    if (failure === undefined) this.#lastPassAt = begunAt;
    this.#setFailing(now, failure ?? null);
  }

  /** The pass failed without a result: the next one starts at the same watermark. */
  failed(now: Instant, failure: { readonly code: string; readonly message: string }): void {
    for (const one of this.#rereadings) one.isUnderWay = false;
    this.#setFailing(now, failure);
  }

  /** The memo to publish. Contains a pass once one is complete. */
  get memo(): EventTailMemo {
    const { watermark, intervalMs, unplaced, notices, dismissed, failing } = this.#state;
    return {
      ...(this.#lastPassAt === null || watermark === null
        ? {}
        : { pass: { at: formatInstant(this.#lastPassAt), watermark, interval_ms: intervalMs } }),
      failing,
      unplaced,
      notices,
      dismissed,
    };
  }

  #notDismissed<T extends TailNotice | UnplacedEvent>(fresh: readonly T[]): readonly T[] {
    return fresh.filter(({ event_id }) => !this.#state.dismissed.includes(event_id));
  }

  #setFailing(now: Instant, failure: { readonly code: string; readonly message: string } | null): void {
    const since = this.#state.failing?.since ?? formatInstant(now);
    this.#state = { ...this.#state, failing: failure === null ? null : { since, ...failure } };
  }
}

/** The pause before an unplaced event is tried again grows with its tries: 15 s, 1 min, 5 min, 1 h, then daily. */
const RETRY_DELAYS_MS = [15_000, 60_000, 300_000, 3_600_000, 86_400_000];

/** @param tries so far, from 1. */
export function retryAt(now: Instant, tries: number): Instant {
  return plus(now, RETRY_DELAYS_MS[Math.min(tries, RETRY_DELAYS_MS.length) - 1] ?? 0);
}

function sum(a: EventCounts, b: EventCounts): EventCounts {
  return {
    read: a.read + b.read,
    hinted: a.hinted + b.hinted,
    reopened: a.reopened + b.reopened,
    unplaced: a.unplaced + b.unplaced,
  };
}
