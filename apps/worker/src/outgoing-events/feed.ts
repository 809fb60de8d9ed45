import { WorkflowNotFoundError, type Client } from '@temporalio/client';
import { checkoutsWithEvents, type Checkouts, type EventEndpoints, type RunningEndpoint } from '@tillflow/temporal';
import {
  due,
  FOUND_WITHIN_MS,
  SHOWN_WITHIN_MS,
  type DueEvent,
  type FeedCall,
  type TimeRange,
} from '@tillflow/workflows';
import { DeliveredEvents } from './delivered-events.js';
import { eventsSince, idOfEvent } from './events.js';

/**
 * Temporal's search shows a change a moment after it is stored, and rarely later. So the last seconds are searched all
 * the time, and longer times less often. Milliseconds.
 */
const SPANS = [
  { spanMs: 5_000, everyMs: 0 },
  { spanMs: 60_000, everyMs: 15_000 },
  { spanMs: FOUND_WITHIN_MS, everyMs: 120_000 },
] as const;
/** The shortest time between two lists of the endpoints. Milliseconds. */
const ENDPOINTS_EVERY_MS = 1_000;
/** An endpoint that continues as new is missing in a list for a moment. Milliseconds. */
const GONE_AFTER_MS = 60_000;
/** An endpoint that is missing for longer was deleted. Milliseconds. */
const REMEMBERED_MS = 86_400_000;
/** The time for which the feed leaves out an endpoint that it did not reach, so that no pass waits for it. Milliseconds. */
const RETRY_AFTER_MS = 10_000;
/** The most events of one signal. */
const MOST_EVENTS = 500;

type Parts = {
  readonly client: Client;
  readonly taskQueue: string;
  readonly checkouts: Pick<Checkouts, 'all'>;
  readonly endpoints: Pick<EventEndpoints, 'running'>;
  /** Temporal's clock, in milliseconds since 1970 UTC. */
  readonly now: () => number;
  readonly onUnreadable: (workflow: string, error: Error) => void;
  readonly onUnreachable: (endpoint: string, error: unknown) => void;
  /** Bounds one call to an endpoint. */
  readonly within: <T>(call: () => Promise<T>) => Promise<T>;
};

/** What an endpoint has not got yet. Milliseconds since 1970 UTC. */
type Backlog = {
  /** It may miss events since then; null: it misses none. */
  missingSince: number | null;
  /**
   * As `missingSince`, while it is disabled. Only the last minutes: the endpoint lists what happened before it is enabled,
   * and the feed may learn late that it is.
   */
  skippedSince: number | null;
};

/** An endpoint as the feed knows it. */
type Known = Backlog & {
  readonly endpoint: RunningEndpoint;
  /** When it was listed last, in milliseconds since 1970 UTC. */
  readonly listedAt: number;
  /** It was not reached, and is left out until then, in milliseconds since 1970 UTC. */
  retryAt: number;
};

/** What the next activity goes on from. */
type Progress = {
  /** As {@link DeliveredEvents} writes them. */
  readonly events: string;
  /** By the ids of the endpoints. */
  readonly endpoints: Readonly<Record<string, Backlog>>;
};

/** What one pass has found. `fresh`: what no pass before it had found. */
type Search = { readonly now: number; readonly found: readonly DueEvent[]; readonly fresh: ReadonlySet<DueEvent> };

/** Finds the events of all checkouts, and hands each over to the endpoints that want it. */
export class Feed {
  /** For each span: the search has found every event before this. */
  readonly #doneUntil: number[];
  readonly #delivered: DeliveredEvents;
  /** By the ids of the endpoints. */
  readonly #known = new Map<string, Known>();
  /** As the feed before this one wrote them, and those of endpoints that are missing in the list. */
  readonly #before: Record<string, Backlog>;
  /** There was no feed before this one whose knowledge is left. */
  readonly #isFirst: boolean;
  #listedAt = Number.NEGATIVE_INFINITY;

  /**
   * @param since the feed before this one has found every event before this
   * @param progress of the feed before this one, as {@link progress} writes it; empty: there was none
   */
  constructor(
    private readonly parts: Parts,
    private readonly since: number,
    progress: string,
  ) {
    const { events, endpoints }: Progress =
      progress === '' ? { events: '', endpoints: {} } : (JSON.parse(progress) as Progress);
    this.#doneUntil = SPANS.map(() => since);
    this.#delivered = DeliveredEvents.from(events);
    this.#before = { ...endpoints };
    this.#isFirst = progress === '';
  }

  get hasEndpoints(): boolean {
    return this.#known.size > 0;
  }

  /** What the next activity goes on from. */
  get progress(): FeedCall {
    const known = [...this.#known].map(
      ([id, { missingSince, skippedSince }]) => [id, { missingSince, skippedSince }] as const,
    );
    const endpoints = { ...this.#before, ...Object.fromEntries(known) };
    const progress: Progress = { events: this.#delivered.toString(), endpoints };
    return { since: Math.min(...this.#doneUntil), progress: JSON.stringify(progress) };
  }

  /**
   * Every enabled endpoint has all events until then, in milliseconds since 1970 UTC. When no endpoint is listed, those
   * count that are missing in the list.
   */
  get completeUntil(): number {
    const enabled = [...this.#known.values()].filter((known) => !isDisabled(known));
    const backlogs = this.hasEndpoints ? enabled : Object.values(this.#before);
    return Math.min(...this.#doneUntil, ...backlogs.flatMap(({ missingSince }) => missingSince ?? []));
  }

  /** One pass. @throws what Temporal's client throws: then the next pass finds the same events again. */
  async pass(): Promise<void> {
    await this.#listEndpoints();
    const now = this.parts.now();
    const doneUntil = Math.min(...this.#doneUntil);
    if (doneUntil < now - FOUND_WITHIN_MS) {
      // Each endpoint lists what happened before. So a feed that was away does not search all of that time.
      for (const known of this.#known.values()) {
        const from = Math.max(doneUntil - SHOWN_WITHIN_MS, beginningOf(known.endpoint));
        if (!isDisabled(known)) known.missingSince = earliest(known.missingSince, from);
      }
      this.#doneUntil.fill(now - FOUND_WITHIN_MS);
    }
    const span = this.#dueSpan(now);
    const missing = [...this.#known.values()].flatMap((one) =>
      isDisabled(one) || isLeftOut(one, now) ? [] : (one.missingSince ?? []),
    );
    const missingSince = Math.max(Math.min(now, ...missing), now - FOUND_WITHIN_MS);
    const from = Math.min((this.#doneUntil[span] ?? now) - SPANS[span].spanMs, missingSince);
    const found = await this.#find(from, now);
    const fresh = new Set(found.filter((event) => !this.#delivered.has(idOfEvent(event), event.at)));
    await Promise.all([...this.#known.values()].map((known) => this.#handOver(known, { now, found, fresh })));
    for (const event of fresh) this.#delivered.add(idOfEvent(event), event.at);
    for (let index = 0; index <= span; index += 1) this.#doneUntil[index] = now;
    this.#delivered.forget(Math.min(...this.#doneUntil) - FOUND_WITHIN_MS);
  }

  /** The longest span that is due. */
  #dueSpan(now: number): 0 | 1 | 2 {
    const isDue = (index: 1 | 2): boolean => now - (this.#doneUntil[index] ?? now) >= SPANS[index].everyMs;
    if (isDue(2)) return 2;
    return isDue(1) ? 1 : 0;
  }

  async #find(from: number, to: number): Promise<DueEvent[]> {
    const { checkouts, taskQueue, onUnreadable } = this.parts;
    const found = await Promise.all(
      checkoutsWithEvents(taskQueue, from, to).map((query) => checkouts.all(query, true, onUnreadable)),
    );
    const events = found.flat().flatMap((stored) => eventsSince(stored, from));
    return [...new Map(events.map((event) => [idOfEvent(event), event])).values()];
  }

  /**
   * An endpoint that cannot be reached gets its events later. It delays no other.
   * @param search `now`: when the pass began. An endpoint that was left out then is left out now, because the search did
   *   not go back to what it misses.
   */
  async #handOver(known: Known, { now, found, fresh }: Search): Promise<void> {
    const { endpoint, missingSince } = known;
    const { id, events: kinds } = endpoint.memo.endpoint;
    const searchedSince = now - FOUND_WITHIN_MS;
    const beginning = beginningOf(endpoint);
    const wanted = found.filter(
      (one) =>
        (fresh.has(one) || (missingSince !== null && one.at >= missingSince)) &&
        one.at >= beginning &&
        (kinds === null || kinds.includes(one.event)),
    );
    if (isDisabled(known)) {
      const skipped = earliest(known.skippedSince, ...wanted.map(({ at }) => at));
      known.skippedSince = skipped === null ? null : Math.max(skipped, searchedSince + FOUND_WITHIN_MS / 2);
      return;
    }
    if (isLeftOut(known, now)) {
      known.missingSince = earliest(missingSince, ...wanted.map(({ at }) => at));
      return;
    }
    const workflow = this.parts.client.workflow.getHandle(endpoint.workflowId);
    const signal = (events: readonly DueEvent[], missed: { readonly missed?: TimeRange } = {}): Promise<void> =>
      this.parts.within(() => workflow.signal(due, { endpoint: id, events, ...missed }));
    try {
      if (missingSince !== null && missingSince < searchedSince) {
        await signal([], { missed: { from: missingSince, to: searchedSince } });
        known.missingSince = searchedSince;
      }
      for (let index = 0; index < wanted.length; index += MOST_EVENTS) {
        await signal(wanted.slice(index, index + MOST_EVENTS));
      }
      known.missingSince = null;
    } catch (error) {
      if (error instanceof WorkflowNotFoundError) {
        // It was deleted.
        this.#known.delete(id);
        return;
      }
      known.missingSince = earliest(known.missingSince, ...wanted.map(({ at }) => at));
      known.retryAt = this.parts.now() + RETRY_AFTER_MS;
      this.parts.onUnreachable(id, error);
    }
  }

  async #listEndpoints(): Promise<void> {
    const beganAt = performance.now();
    if (beganAt - this.#listedAt < ENDPOINTS_EVERY_MS) return;
    const running = await this.parts.endpoints.running();
    const now = this.parts.now();
    for (const endpoint of running) {
      const { id } = endpoint.memo.endpoint;
      const beginning = Math.max(beginningOf(endpoint), this.#isFirst ? this.since : 0);
      const { [id]: before = { missingSince: beginning, skippedSince: null } } = this.#before;
      const earlier = this.#known.get(id);
      const { missingSince, skippedSince, retryAt } = earlier ?? { ...before, retryAt: 0 };
      const known: Known = { endpoint, listedAt: now, missingSince, skippedSince, retryAt };
      if (!isDisabled(known)) {
        // It may want more types since then: the feed has left out their events.
        const changedAt = changeOf(endpoint);
        const isChanged = changedAt > (earlier === undefined ? this.since : changeOf(earlier.endpoint));
        known.missingSince = earliest(missingSince, skippedSince, isChanged ? changedAt : null);
        known.skippedSince = null;
      }
      this.#known.set(id, known);
      delete this.#before[id];
    }
    for (const [id, { listedAt, missingSince, skippedSince }] of this.#known) {
      if (now - listedAt < GONE_AFTER_MS) continue;
      this.#known.delete(id);
      this.#before[id] = { missingSince: earliest(missingSince, listedAt), skippedSince };
    }
    for (const [id, before] of Object.entries(this.#before)) {
      before.missingSince ??= this.since;
      if (before.missingSince < now - REMEMBERED_MS) delete this.#before[id];
    }
    this.#listedAt = beganAt;
  }
}

function isDisabled({ endpoint }: Pick<Known, 'endpoint'>): boolean {
  return (endpoint.memo.health?.disabled ?? null) !== null;
}

function isLeftOut({ retryAt }: Pick<Known, 'retryAt'>, now: number): boolean {
  return now < retryAt;
}

function earliest(...times: readonly (number | null)[]): number | null {
  const known = times.filter((time) => time !== null);
  return known.length === 0 ? null : Math.min(...known);
}

/** An endpoint gets the events since then, in milliseconds since 1970 UTC. */
function beginningOf({ memo: { since, endpoint } }: RunningEndpoint): number {
  return since ?? Date.parse(endpoint.created_at);
}

/** The latest change of its settings, in milliseconds since 1970 UTC. */
function changeOf({ memo: { endpoint } }: RunningEndpoint): number {
  return Date.parse(endpoint.updated_at);
}
