import {
  FOUND_WITHIN_MS,
  GONE,
  SHOWN_WITHIN_MS,
  type DisabledBecause,
  type DueEvent,
  type EndpointPolicy,
  type EventRange,
  type TimeRange,
} from './messages.js';
import type { DeliveryRecord } from './activities.js';

/** The events of one checkout that wait to be delivered. They are delivered in the order of their versions. */
export type Waiting = {
  readonly checkout: string;
  /** The newest of each kind, in the order of their versions. */
  events: readonly Omit<DueEvent, 'checkout'>[];
  /** Failed tries of the first event. */
  tries: number;
  /** Milliseconds since 1970 UTC; null: after the last try, until the endpoint accepts another delivery. */
  nextAt: number | null;
  /** The receiver asked to wait until then. */
  notBefore?: number;
  /** It stops no other event: the receiver answered the last try with 4xx, or Tillflow could not send it. */
  isApart?: true;
};

/** Plain JSON: an endpoint continues as new with it. Times in milliseconds since 1970 UTC. */
export type EndpointState = {
  /** The oldest first. */
  waiting: Waiting[];
  /** Times whose events are not in `waiting`. They are listed later, the last one first. */
  ranges: (EventRange & { readonly isOverflow?: true })[];
  /** The time of events that are not in `waiting` after their last try; null: there are none. */
  refused: TimeRange | null;
  disabled: {
    readonly because: DisabledBecause;
    readonly since: number;
    /** The oldest event that is not in `waiting`. */
    from: number;
    /** Operators are notified then; null: they were, or need not be. */
    noticeAt: number | null;
  } | null;
  failingSince: number | null;
  failure: string | null;
  /** Events whose first try failed since the last accepted delivery, without those that the receiver refused. */
  failures: number;
  /** Events whose first try failed or was refused since the last accepted delivery. */
  unaccepted: number;
  /** Failed deliveries that found out whether the endpoint is back. */
  probes: number;
  /** While the endpoint is down: when one delivery is tried next. */
  probeAt: number;
  /** When the deliveries with exhausted tries were last made due. */
  resumedAt: number;
};

export function emptyEndpoint(): EndpointState {
  return {
    waiting: [],
    ranges: [],
    refused: null,
    disabled: null,
    failingSince: null,
    failure: null,
    failures: 0,
    unaccepted: 0,
    probes: 0,
    probeAt: 0,
    resumedAt: 0,
  };
}

/** The most checkouts that wait one by one, of each of two kinds. Above it, the oldest become a time range. */
const MAX_WAITING = 1_000;
/**
 * An endpoint is down after this number of events in a row whose first try failed: one delivery at a time finds out when
 * it is back. Further tries do not count. Otherwise ten events that the receiver can never accept would stop all others.
 */
const DOWN_AFTER = 10;
/** Statuses that are not about the event. Source: RFC 9110 and RFC 6585. */
const TIMED_OUT = 408;
const TOO_MANY = 429;
/** The most checkouts of one batch. */
const BATCH = 50;
/**
 * Tillflow makes waiting deliveries due early at most once in this time. A receiver that accepted nothing for this long,
 * and then accepts an event, works again. Milliseconds.
 */
const RESUME_EVERY_MS = 10 * 60_000;
/** The pause before operators are notified again, when that was not possible. Milliseconds. */
const NOTICE_AGAIN_MS = 10 * 60_000;

/**
 * The queue of one endpoint. Pure: no clock, no I/O. A checkout has at most one delivery in flight, so that its events
 * arrive in the order of their versions.
 */
export class Endpoint {
  readonly #inFlight = new Set<string>();
  /** The checkout whose delivery finds out whether the endpoint is back. Nothing else is in flight then. */
  #probe: string | null = null;

  constructor(
    readonly state: EndpointState,
    private readonly policy: EndpointPolicy,
  ) {}

  get isDown(): boolean {
    return this.state.failures >= DOWN_AFTER;
  }

  get isIdle(): boolean {
    return this.#inFlight.size === 0;
  }

  /** Adds events that are due, each in place of an older one of its kind. */
  add(now: number, events: readonly DueEvent[]): void {
    const { waiting, disabled } = this.state;
    if (disabled !== null) {
      disabled.from = Math.min(disabled.from, ...events.map(({ at }) => at));
      return;
    }
    const known = new Map(waiting.map((one) => [one.checkout, one]));
    for (const { checkout, ...event } of events) {
      const one = known.get(checkout);
      if (one === undefined) {
        const added: Waiting = { checkout, events: [event], tries: 0, nextAt: now };
        known.set(checkout, added);
        waiting.push(added);
      } else {
        const events = merged(one.events, event);
        if (events === one.events) continue;
        one.events = one.nextAt === null ? newestOf(events) : events;
        one.nextAt = Math.max(Math.min(one.nextAt ?? now, now), one.notBefore ?? 0);
      }
    }
    this.#shorten();
  }

  /** The deliveries that are due, the newest first. They are in flight until {@link apply}. */
  take(now: number): Waiting[] {
    const { waiting, disabled, probeAt } = this.state;
    if (disabled !== null || (this.isDown && (now < probeAt || !this.isIdle))) return [];
    const isDue = ({ checkout, nextAt }: Waiting): boolean =>
      !this.#inFlight.has(checkout) && nextAt !== null && (nextAt <= now || this.isDown);
    const all = waiting.filter(isDue);
    // An event that the receiver has refused says little about the others.
    const probe = all.findLast(({ isApart }) => isApart !== true) ?? all.at(-1);
    const due = this.isDown ? all.filter((one) => one === probe) : all.slice(-BATCH).toReversed();
    for (const { checkout } of due) this.#inFlight.add(checkout);
    if (this.isDown && probe !== undefined) {
      this.#probe = probe.checkout;
      this.state.probes += 1;
      probe.events = newestOf(probe.events);
    }
    // A copy: the queue changes while the batch is in flight.
    return due.map((one) => Object.assign({}, one));
  }

  /** The end of a batch. An event without a record was not sent, and is still due. */
  apply(now: number, taken: readonly Waiting[], records: readonly DeliveryRecord[]): void {
    const { state } = this;
    const { isDown: wasDown } = this;
    const isProbe = taken.some(({ checkout }) => checkout === this.#probe);
    const refusedForMs = state.failingSince === null ? 0 : now - state.failingSince;
    const wasRefusing = state.unaccepted >= DOWN_AFTER && refusedForMs >= RESUME_EVERY_MS;
    if (isProbe) this.#probe = null;
    for (const record of records) this.#count(now, record, isProbe);
    const waiting = new Map(state.waiting.map((one) => [one.checkout, one]));
    for (const { checkout, events } of taken) {
      this.#inFlight.delete(checkout);
      const one = waiting.get(checkout);
      if (one === undefined) continue;
      const own = records.filter((record) => record.checkout === checkout);
      const ended = own.filter(({ next }) => next === undefined);
      one.events = one.events.filter((event) => !ended.some((record) => isSameEvent(record, event)));
      const failed = own.find(({ next }) => next !== undefined);
      if (failed === undefined) {
        if (ended.length === events.length) one.tries = 0;
        one.nextAt = now;
        delete one.notBefore;
        delete one.isApart;
      } else if (!isProbe || isAboutTheEvent(failed)) {
        // A delivery that only finds out whether the endpoint is back is no try of the event.
        one.tries = failed.tries + (failed.isOurFailure === true ? 0 : 1);
        if (failed.notBefore !== undefined) one.notBefore = failed.notBefore;
        const hasNewer = one.events.some((event) => !events.some((sent) => isSameEvent(sent, event)));
        // A newer event does not wait for the times of an older one.
        one.nextAt = hasNewer ? Math.max(now, one.notBefore ?? 0) : (failed.next ?? null);
        if (isAboutTheEvent(failed)) one.isApart = true;
        else delete one.isApart;
      }
    }
    state.waiting = state.waiting.filter(({ events }) => events.length > 0);
    if (wasDown && !this.isDown) for (const one of state.waiting) one.events = newestOf(one.events);
    if (!records.some(isAccepted) || now - state.resumedAt < RESUME_EVERY_MS) return;
    if (wasDown || wasRefusing) this.#resumeAll(now);
    else this.#resumeExhausted(now);
  }

  /** Applies the answer to a test: it counts for the health of the endpoint as the answer to a delivery does. */
  tested(now: number, record: DeliveryRecord): void {
    this.apply(now, [], [record]);
  }

  /** Disables it when it has accepted nothing for too long. */
  disableIfFailing(now: number): void {
    const at = this.#disabledAt;
    if (at !== null && now >= at) this.disable(now, 'failing');
  }

  disable(now: number, because: DisabledBecause): void {
    const noticeAt = because === 'requested' ? null : now;
    this.state.disabled ??= { because, since: now, from: now - FOUND_WITHIN_MS, noticeAt };
  }

  /** Sends what waits, and what happened while it was disabled. @param beginning of the endpoint: nothing before it */
  enable(now: number, beginning: number): void {
    const { disabled } = this.state;
    if (disabled === null) return;
    Object.assign(this.state, { disabled: null, failingSince: null, failure: null });
    this.list(now, { from: Math.max(disabled.from, beginning), to: now });
    this.retry(now);
  }

  /** Tries everything that waits, as if no delivery had failed. */
  retry(now: number): void {
    Object.assign(this.state, { failures: 0, probes: 0, probeAt: 0 });
    for (const one of this.state.waiting) delete one.notBefore;
    this.#resumeAll(now);
  }

  /** A person asks for the events of a time, and for what waits. */
  replay(now: number, range: TimeRange): void {
    this.list(now, range);
    this.retry(now);
  }

  /** Lists the events of a time. */
  list(now: number, { from, to }: TimeRange): void {
    const { ranges } = this.state;
    const events = { from, to: Math.min(to, now) };
    const newest = ranges.at(-1);
    // The feed repeats a message whose answer was lost.
    if (newest?.from === from && newest.to === newest.events.to && newest.to <= events.to) ranges.pop();
    ranges.push({ ...events, events });
  }

  /** The range whose events are listed next; null while none is due. */
  get nextRange(): EventRange | null {
    const { ranges, waiting, disabled } = this.state;
    const trying = waiting.filter((one) => !waitsApart(one));
    if (disabled !== null || this.isDown || trying.length > MAX_WAITING / 4) return null;
    return ranges.at(-1) ?? null;
  }

  /**
   * A part of a range was listed. At the end, the checkouts that have changed after the range are listed: each is found
   * only by its newest event.
   * @param rest what of the range is still to be listed
   */
  listed(now: number, range: EventRange, due: readonly DueEvent[], rest: EventRange | null): void {
    const { ranges, disabled } = this.state;
    // It is listed again when the endpoint is enabled.
    if (disabled !== null) return;
    const { events, to } = range;
    const changed = to === null ? null : { from: events.to - SHOWN_WITHIN_MS, to: null, events };
    const next = rest ?? changed;
    const index = ranges.indexOf(range);
    if (index !== -1) ranges.splice(index, 1, ...(next === null ? [] : [next]));
    this.add(now, newestOfEach(due));
  }

  /** Whether operators are to be notified now that Tillflow has disabled it. */
  isNoticeDue(now: number): boolean {
    const at = this.state.disabled?.noticeAt ?? null;
    return at !== null && now >= at;
  }

  /** Operators were notified, or could not be. */
  noticed(now: number, isDone: boolean): void {
    const { disabled } = this.state;
    if (disabled !== null) disabled.noticeAt = isDone ? null : now + NOTICE_AGAIN_MS;
  }

  /** When something is due next, in milliseconds since 1970 UTC; null: not before a message. */
  get dueAt(): number | null {
    const { waiting, disabled, probeAt } = this.state;
    if (disabled !== null) return disabled.noticeAt;
    const tries = waiting.flatMap(({ checkout, nextAt }) =>
      nextAt === null || this.#inFlight.has(checkout) ? [] : [nextAt],
    );
    const tryAt = tries.length === 0 ? null : this.isDown ? (this.isIdle ? probeAt : null) : Math.min(...tries);
    const times = [tryAt, this.#disabledAt].filter((time) => time !== null);
    return times.length === 0 ? null : Math.min(...times);
  }

  /** When Tillflow disables it unless it accepts a delivery before; null: it is disabled, or accepted the latest one. */
  get #disabledAt(): number | null {
    const { failingSince, disabled } = this.state;
    return failingSince === null || disabled !== null ? null : failingSince + this.policy.disableAfterMs;
  }

  #count(now: number, record: DeliveryRecord, isProbe: boolean): void {
    const { state } = this;
    const { status, error, notBefore = 0 } = record;
    if (record.isUnsendable === true) return;
    const { probeMs, maxProbeMs } = this.policy;
    if (record.isOurFailure === true) {
      state.probeAt = Math.max(now + probeMs, state.probeAt);
      return;
    }
    if (isAccepted(record)) {
      Object.assign(state, { failures: 0, unaccepted: 0, probes: 0, probeAt: 0, failingSince: null, failure: null });
      return;
    }
    if (record.tries === 0) state.unaccepted += 1;
    state.failingSince ??= now;
    state.failure = error ?? `It answered ${status}`;
    if (status === GONE) this.disable(now, 'gone');
    if (isRefusal(record)) {
      // It is back. It may refuse what waits as well, so each event is tried at its own time.
      if (isProbe) Object.assign(state, { failures: 0, probes: 0, probeAt: 0 });
      return;
    }
    if (record.tries === 0) state.failures += 1;
    state.probeAt = Math.max(now + Math.min(probeMs * 2 ** state.probes, maxProbeMs), notBefore, state.probeAt);
  }

  /** Tries everything that waits. */
  #resumeAll(now: number): void {
    const { refused, waiting } = this.state;
    for (const one of waiting) one.nextAt = null;
    this.#resumeExhausted(now);
    if (refused !== null) this.list(now, refused);
    this.state.refused = null;
  }

  /** Makes the deliveries with exhausted tries due again, each with the newest event of its checkout. */
  #resumeExhausted(now: number): void {
    this.state.resumedAt = now;
    for (const one of this.state.waiting) {
      if (one.nextAt !== null) continue;
      one.nextAt = Math.max(now, one.notBefore ?? 0);
      one.events = newestOf(one.events);
    }
  }

  /** Replaces the oldest of too many by a time range. It grows until it is listed, or until another range is added. */
  #shorten(): void {
    const { state } = this;
    const { ranges } = state;
    const refused = this.#leave(waitsApart, state.refused);
    if (refused !== null) state.refused = refused;
    const newest = ranges.at(-1);
    const earlier = newest?.isOverflow === true ? newest.events : null;
    const left = this.#leave((one) => !waitsApart(one), earlier);
    if (left === null) return;
    if (earlier !== null) ranges.pop();
    ranges.push({ ...left, events: left, isOverflow: true });
  }

  /** Removes the oldest of too many. @returns their time, together with `earlier`; null when there are not too many */
  #leave(kind: (one: Waiting) => boolean, earlier: TimeRange | null): TimeRange | null {
    const all = this.state.waiting.filter(kind);
    if (all.length <= MAX_WAITING) return null;
    const idle = all.filter(({ checkout }) => !this.#inFlight.has(checkout));
    const left = new Set(idle.slice(0, all.length - MAX_WAITING / 2));
    this.state.waiting = this.state.waiting.filter((one) => !left.has(one));
    const times = [...left].flatMap(({ events }) => events.map(({ at }) => at));
    return { from: Math.min(...times, earlier?.from ?? Infinity), to: Math.max(...times, earlier?.to ?? 0) };
  }
}

/** The receiver works, and does not want this event: that is no sign that it is down. */
function isRefusal({ status }: DeliveryRecord): boolean {
  return status !== null && status >= 400 && status < 500 && status !== TIMED_OUT && status !== TOO_MANY;
}

/** The failure says nothing about other events. */
function isAboutTheEvent(record: DeliveryRecord): boolean {
  return isRefusal(record) || record.isOurFailure === true;
}

/** Whether the event waits without holding up others: the receiver refused this event, or the event used up its tries. */
function waitsApart({ nextAt, isApart }: Waiting): boolean {
  return nextAt === null || isApart === true;
}

/** Every other record says when the delivery is tried again, or that it waits. */
function isAccepted({ next, isUnsendable }: DeliveryRecord): boolean {
  return next === undefined && isUnsendable !== true;
}

type Version = Pick<DueEvent, 'version'> & { readonly event: DeliveryRecord['event'] };

function isSameEvent(one: Version, other: Version): boolean {
  return one.event === other.event && one.version === other.version;
}

/** What waited is sent once for each checkout. @param events of one checkout, in the order of their versions */
function newestOf(events: Waiting['events']): Waiting['events'] {
  return events.slice(-1);
}

function newestOfEach(events: readonly DueEvent[]): DueEvent[] {
  const newest = new Map<string, DueEvent>();
  for (const event of events) {
    if (event.version >= (newest.get(event.checkout)?.version ?? 0)) newest.set(event.checkout, event);
  }
  return [...newest.values()];
}

function merged(events: Waiting['events'], event: Waiting['events'][number]): Waiting['events'] {
  const known = events.find((one) => one.event === event.event);
  if (known !== undefined && known.version >= event.version) return events;
  return [...events.filter((one) => one !== known), event].toSorted((one, other) => one.version - other.version);
}
