import { WorkflowNotFoundError, type Client } from '@temporalio/client';
import { checkoutsWithEvents, type Checkouts, type EventEndpoints, type RunningEndpoint } from '@tillflow/temporal';
import { due, FOUND_WITHIN_MS, type DueEvent, type TimeRange } from '@tillflow/workflows';
import { eventsSince, idOfEvent } from './events.js';
import { HandedOver } from './handed-over.js';

/**
 * Temporal's search shows a change a moment after it is stored, and rarely later. So the last seconds are searched all
 * the time, and longer times less often. Milliseconds.
 */
const SPANS = [
  { spanMs: 5_000, everyMs: 0 },
  { spanMs: 60_000, everyMs: 15_000 },
  { spanMs: FOUND_WITHIN_MS, everyMs: 120_000 },
] as const;
/** How often the endpoints are listed, in milliseconds. */
const ENDPOINTS_EVERY_MS = 1_000;
/** An endpoint that continues as new is missing in a list for a moment. Milliseconds. */
const GONE_AFTER_MS = 60_000;
/** An endpoint that is missing for longer was deleted. Milliseconds. */
const REMEMBERED_MS = 86_400_000;
/** An endpoint that was not reached is left out for so long, so that it does not delay each pass. Milliseconds. */
const RETRY_AFTER_MS = 10_000;
/** One signal contains no more events. */
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

/** What the feed has to hand over to an endpoint. */
type Lacks = {
  /** It may lack events since then, in milliseconds since 1970 UTC; null: it lacks none. */
  lacksSince: number | null;
  /**
   * As `lacksSince`, while it is disabled. Only the last minutes: the endpoint lists what happened before it is enabled,
   * and the feed may learn late that it is.
   */
  skippedSince: number | null;
};

/** An endpoint as the feed knows it. */
type Known = Lacks & {
  readonly endpoint: RunningEndpoint;
  /** When it was listed last, in milliseconds since 1970 UTC. */
  readonly listedAt: number;
  /** It was not reached, and is not asked again before, in milliseconds since 1970 UTC. */
  retryAt: number;
};

/** What a feed goes on from: what was handed over, and what each endpoint lacks. */
type Progress = {
  readonly events: string;
  /** By their ids. */
  readonly endpoints: Readonly<Record<string, Lacks>>;
};

/** Finds the events of all checkouts, and hands each over to the endpoints that want it. */
export class Feed {
  /** For each span: every event before this was handed over. */
  readonly #doneUntil: number[];
  readonly #handedOver: HandedOver;
  /** By their ids. */
  readonly #known = new Map<string, Known>();
  /** What the feed before this one knew, and what endpoints lack that are missing in the list. */
  readonly #before: Record<string, Lacks>;
  /** There was no feed before this one whose knowledge is left. */
  readonly #isFirst: boolean;
  #listedAt = Number.NEGATIVE_INFINITY;

  /**
   * @param since every event before this was handed over
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
    this.#handedOver = HandedOver.from(events);
    this.#before = { ...endpoints };
    this.#isFirst = progress === '';
  }

  get hasEndpoints(): boolean {
    return this.#known.size > 0;
  }

  /** What the next activity goes on from. */
  get progress(): { readonly since: number; readonly handedOver: string } {
    const known = [...this.#known].map(
      ([id, { lacksSince, skippedSince }]) => [id, { lacksSince, skippedSince }] as const,
    );
    const endpoints = { ...this.#before, ...Object.fromEntries(known) };
    const progress: Progress = { events: this.#handedOver.toString(), endpoints };
    return { since: Math.min(...this.#doneUntil), handedOver: JSON.stringify(progress) };
  }

  /** One pass. @throws what Temporal's client throws: then the next pass finds the same events again. */
  async pass(): Promise<void> {
    await this.#listEndpoints();
    const now = this.parts.now();
    const doneUntil = Math.min(...this.#doneUntil);
    if (doneUntil < now - FOUND_WITHIN_MS) {
      // Each endpoint lists what happened before. So a feed that was away does not search all of that time.
      for (const known of this.#known.values()) {
        if (!isDisabled(known)) known.lacksSince = earliest(known.lacksSince, doneUntil);
      }
      this.#doneUntil.fill(now - FOUND_WITHIN_MS);
    }
    const span = this.#dueSpan(now);
    const lacking = [...this.#known.values()].flatMap((one) =>
      isDisabled(one) || now < one.retryAt ? [] : (one.lacksSince ?? []),
    );
    const lackedSince = Math.max(Math.min(now, ...lacking), now - FOUND_WITHIN_MS);
    const from = Math.min((this.#doneUntil[span] ?? now) - SPANS[span].spanMs, lackedSince);
    const found = await this.#find(from, now);
    const fresh = new Set(found.filter((event) => !this.#handedOver.has(idOfEvent(event), event.at)));
    await Promise.all([...this.#known.values()].map((known) => this.#handOver(known, found, fresh)));
    for (const event of fresh) this.#handedOver.add(idOfEvent(event), event.at);
    for (let index = 0; index <= span; index += 1) this.#doneUntil[index] = now;
    this.#handedOver.forget(Math.min(...this.#doneUntil) - FOUND_WITHIN_MS);
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

  /** An endpoint that cannot be reached gets its events later. It delays no other. */
  async #handOver(known: Known, found: readonly DueEvent[], fresh: ReadonlySet<DueEvent>): Promise<void> {
    const { endpoint } = known;
    const { id, events: kinds } = endpoint.memo.endpoint;
    const searched = this.parts.now() - FOUND_WITHIN_MS;
    const { lacksSince } = known;
    const beginning = beginningOf(endpoint);
    const wanted = found.filter(
      (one) =>
        (fresh.has(one) || (lacksSince !== null && one.at >= lacksSince)) &&
        one.at >= beginning &&
        (kinds === null || kinds.includes(one.event)),
    );
    if (isDisabled(known)) {
      const skipped = earliest(known.skippedSince, ...wanted.map(({ at }) => at));
      known.skippedSince = skipped === null ? null : Math.max(skipped, searched + FOUND_WITHIN_MS / 2);
      return;
    }
    if (this.parts.now() < known.retryAt) {
      known.lacksSince = earliest(lacksSince, ...wanted.map(({ at }) => at));
      return;
    }
    const workflow = this.parts.client.workflow.getHandle(endpoint.workflowId);
    const signal = (events: readonly DueEvent[], missed: { readonly missed?: TimeRange } = {}): Promise<void> =>
      this.parts.within(() => workflow.signal(due, { endpoint: id, events, ...missed }));
    try {
      if (lacksSince !== null && lacksSince < searched) {
        await signal([], { missed: { from: lacksSince, to: searched } });
        known.lacksSince = searched;
      }
      for (let index = 0; index < wanted.length; index += MOST_EVENTS) {
        await signal(wanted.slice(index, index + MOST_EVENTS));
      }
      known.lacksSince = null;
    } catch (error) {
      if (error instanceof WorkflowNotFoundError) {
        // It was deleted.
        this.#known.delete(id);
        return;
      }
      known.lacksSince = earliest(known.lacksSince, ...wanted.map(({ at }) => at));
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
      const { [id]: before = { lacksSince: beginning, skippedSince: null } } = this.#before;
      const { lacksSince, skippedSince, retryAt } = this.#known.get(id) ?? { ...before, retryAt: 0 };
      const known: Known = { endpoint, listedAt: now, lacksSince, skippedSince, retryAt };
      if (!isDisabled(known)) {
        known.lacksSince = earliest(lacksSince, skippedSince);
        known.skippedSince = null;
      }
      this.#known.set(id, known);
      delete this.#before[id];
    }
    for (const [id, { listedAt, lacksSince, skippedSince }] of this.#known) {
      if (now - listedAt < GONE_AFTER_MS) continue;
      this.#known.delete(id);
      this.#before[id] = { lacksSince: earliest(lacksSince, listedAt), skippedSince };
    }
    for (const [id, before] of Object.entries(this.#before)) {
      before.lacksSince ??= this.since;
      if (before.lacksSince < now - REMEMBERED_MS) delete this.#before[id];
    }
    this.#listedAt = beganAt;
  }
}

function isDisabled({ endpoint }: Pick<Known, 'endpoint'>): boolean {
  return (endpoint.memo.health?.disabled ?? null) !== null;
}

function earliest(...times: readonly (number | null)[]): number | null {
  const known = times.filter((time) => time !== null);
  return known.length === 0 ? null : Math.min(...known);
}

/** An endpoint gets the events since then, in milliseconds since 1970 UTC. */
function beginningOf({ memo: { since, endpoint } }: RunningEndpoint): number {
  return since ?? Date.parse(endpoint.created_at);
}
