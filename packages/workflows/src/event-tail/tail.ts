import { formatInstant, instant, parseInstant, plus, type Instant } from '@tillflow/domain';
import type { EventsRead, ReadEventsCall } from './activities.js';
import { latestNotices, latestUnplaced } from './kept.js';
import type { EventCounts } from './messages.js';
import type { EventTailMemo, TailNotice, UnplacedEvent } from './memo.js';

/** So many that were dismissed are known, so that an event which is read twice does not bring them back. */
const MAX_DISMISSED = 50;
/** Tried again in one pass, at most. */
const MAX_RETRIES = 20;
/** Until the worker says otherwise. */
const FIRST_INTERVAL_MS = 15_000;

/** Everything the tail knows, as plain JSON: it survives continue-as-new. */
export type TailRecord = {
  readonly watermark: string | null;
  readonly intervalMs: number;
  readonly unplaced: readonly UnplacedEvent[];
  readonly notices: readonly TailNotice[];
  /** Ids of the events that were dismissed. */
  readonly dismissed: readonly string[];
  readonly failing: NonNullable<EventTailMemo['failing']> | null;
};

const NOTHING: EventCounts = { read: 0, hinted: 0, reopened: 0, unplaced: 0 };

/** A request to read from an instant on, and what came of it so far. */
export type Rereading = { readonly from: Instant; counts: EventCounts; isUnderWay: boolean; isDone: boolean };

/** What the tail knows, and what the next pass is to do. Pure: no clock, no I/O. */
export class Tail {
  #record: TailRecord;
  #rereadings: Rereading[] = [];
  #lastPassAt: Instant | null = null;

  constructor(record: TailRecord) {
    this.#record = record;
  }

  /** @param memo what the tail before said, or null where there was none. */
  static after(memo: EventTailMemo | null): Tail {
    const { pass, unplaced = [], notices = [], dismissed = [] } = memo ?? {};
    // Parts of the memo may be of different runs.
    const isLeft = ({ event_id }: TailNotice | UnplacedEvent): boolean => !dismissed.includes(event_id);
    return new Tail({
      watermark: pass?.watermark ?? null,
      intervalMs: pass?.interval_ms ?? FIRST_INTERVAL_MS,
      unplaced: unplaced.filter(isLeft),
      notices: notices.filter(isLeft),
      dismissed,
      failing: null,
    });
  }

  get record(): TailRecord {
    return this.#record;
  }

  get intervalMs(): number {
    return this.#record.intervalMs;
  }

  /** Something is to be read now, not after the pause. While passes fail, all wait for the next. */
  get isAsked(): boolean {
    return this.#record.failing === null && this.#rereadings.length > 0;
  }

  reread(from: Instant): Rereading {
    const rereading: Rereading = { from, counts: NOTHING, isUnderWay: false, isDone: false };
    this.#rereadings.push(rereading);
    return rereading;
  }

  /** Waits no longer for a reading that was asked for. */
  giveUp(rereading: Rereading): void {
    this.#rereadings = this.#rereadings.filter((one) => one !== rereading);
  }

  /** @param id of a notice, or of an event: it goes with all that is told and remembered of its event. */
  dismiss(id: string): void {
    const { notices, unplaced, dismissed } = this.#record;
    const events = new Set([id, ...notices.filter((notice) => notice.id === id).map(({ event_id }) => event_id)]);
    const isSeenTo = ({ event_id }: TailNotice | UnplacedEvent): boolean => events.has(event_id);
    const seenTo = [...notices, ...unplaced].filter(isSeenTo).map(({ event_id }) => event_id);
    this.#record = {
      ...this.#record,
      notices: notices.filter((one) => !isSeenTo(one)),
      unplaced: unplaced.filter((one) => !isSeenTo(one)),
      dismissed: [...new Set([...dismissed, ...seenTo])].slice(-MAX_DISMISSED),
    };
  }

  /** The next pass. It covers every reading that was asked for until now. */
  begin(now: Instant): ReadEventsCall {
    const { watermark, unplaced, notices, dismissed } = this.#record;
    const remembered = [...[...unplaced, ...notices].map(({ event_id }) => event_id), ...dismissed];
    const asked = this.#rereadings.filter(({ isUnderWay }) => !isUnderWay);
    const from = Math.min(...asked.map((one) => one.from), watermark === null ? Infinity : parseInstant(watermark));
    for (const one of asked) one.isUnderWay = true;
    return {
      watermark: Number.isFinite(from) ? formatInstant(instant(from)) : null,
      retries: unplaced.filter(({ retry_at }) => parseInstant(retry_at) <= now).slice(0, MAX_RETRIES),
      ...(remembered.length === 0 ? {} : { remembered }),
      ...(this.#rereadings.length === 0 ? {} : { again: true }),
    };
  }

  /** @param begunAt when the pass began. */
  ended(begunAt: Instant, now: Instant, read: EventsRead): void {
    const { counts = NOTHING, unplaced = [], settled = [], notices = [], failure } = read;
    const replaced = new Set([...settled, ...unplaced.map(({ event_id }) => event_id)]);
    const left = this.#record.unplaced.filter(({ event_id }) => !replaced.has(event_id));
    const since = new Map(this.#record.unplaced.map((event) => [event.event_id, event.since]));
    const again = this.#notDismissed(unplaced).map((event) =>
      Object.assign({}, event, { since: since.get(event.event_id) ?? event.since }),
    );
    this.#record = {
      ...this.#record,
      watermark: read.watermark,
      intervalMs: read.intervalMs,
      unplaced: latestUnplaced([...left, ...again]),
      notices: latestNotices([...this.#record.notices, ...this.#notDismissed(notices)]),
    };
    for (const one of this.#rereadings.filter(({ isUnderWay }) => isUnderWay)) {
      one.counts = sum(one.counts, counts);
      one.isDone = failure === undefined;
    }
    this.#rereadings = this.#rereadings.filter(({ isDone }) => !isDone);
    if (failure === undefined) this.#lastPassAt = begunAt;
    this.#note(now, failure ?? null);
  }

  /** The pass came to nothing: the next begins where it did. */
  failed(now: Instant, failure: { readonly code: string; readonly message: string }): void {
    for (const one of this.#rereadings) one.isUnderWay = false;
    this.#note(now, failure);
  }

  /** What the memo should say. The pass only once there was one. */
  get memo(): EventTailMemo {
    const { watermark, intervalMs, unplaced, notices, dismissed, failing } = this.#record;
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
    return fresh.filter(({ event_id }) => !this.#record.dismissed.includes(event_id));
  }

  #note(now: Instant, failure: { readonly code: string; readonly message: string } | null): void {
    const since = this.#record.failing?.since ?? formatInstant(now);
    this.#record = { ...this.#record, failing: failure === null ? null : { since, ...failure } };
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
