import { WorkflowNotFoundError, type Client } from '@temporalio/client';
import type { RunningEndpoint, StoredCheckout } from '@tillflow/temporal';
import type { DueEvent, TimeRange } from '@tillflow/workflows';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { Feed } from './feed.js';

const START = 1_790_000_000_000;
const SECOND = 1_000;
const MINUTE = 60 * SECOND;
type Signal = { readonly endpoint: string; readonly events: readonly DueEvent[]; readonly missed?: TimeRange };

const endpointOf = (
  id: string,
  since = START,
  events: string[] | null = null,
  isDisabled = false,
  changedAt = since,
): RunningEndpoint =>
  ({
    workflowId: `event-endpoint/default/${id}`,
    memo: {
      endpoint: {
        id,
        events,
        created_at: new Date(since).toISOString(),
        updated_at: new Date(changedAt).toISOString(),
      },
      since,
      sealed: '',
      health: { disabled: isDisabled ? { because: 'requested' } : null },
    },
  }) as unknown as RunningEndpoint;

const checkoutOf = (name: string, at: number, event = 'paid'): StoredCheckout =>
  ({ intent: { id: name }, events: { [event]: [2, at] } }) as unknown as StoredCheckout;

const lateAfter = (ms: number): Promise<never> =>
  new Promise((_, reject) => {
    setTimeout(() => reject(new Error('late')), ms).unref();
  });

/** Temporal with these endpoints and checkouts. Its search shows each checkout from a time on. */
class World {
  now = START;
  endpoints: RunningEndpoint[] = [endpointOf('one')];
  readonly shown: { readonly checkout: StoredCheckout; readonly at: number; readonly from: number }[] = [];
  readonly signals: Signal[] = [];
  /** A call to an endpoint may hang: then it is given up. */
  refuse: (signal: Signal) => Error | 'hangs' | null = () => null;
  /** Happens during each search. */
  onSearch: () => void = () => undefined;

  event(name: string, at: number, shownFrom = at): void {
    this.shown.push({ checkout: checkoutOf(name, at), at, from: shownFrom });
  }

  feed(since = START, progress = ''): Feed {
    const signal = (_: unknown, given: Signal): Promise<void> => {
      const error = this.refuse(given);
      if (error === 'hangs') return new Promise(() => undefined);
      if (error !== null) return Promise.reject(error);
      this.signals.push(given);
      return Promise.resolve();
    };
    const client = { workflow: { getHandle: () => ({ signal }) } } as unknown as Client;
    // The query has the time in whole seconds.
    const all = (query: string): Promise<StoredCheckout[]> => {
      const [from = 0, to = 0] = (query.match(/'[0-9T:.-]+Z'/g) ?? []).map((time) => Date.parse(time.slice(1, -1)));
      const isFound = ({ at, from: shownFrom }: (typeof this.shown)[number]): boolean =>
        this.now >= shownFrom && at >= from && at < to;
      this.onSearch();
      return Promise.resolve(this.shown.filter(isFound).map(({ checkout }) => checkout));
    };
    const parts = {
      client,
      taskQueue: 'queue',
      checkouts: { all: all as never },
      endpoints: { running: () => Promise.resolve(this.endpoints) },
      now: () => this.now,
      within: (call: () => Promise<unknown>) => Promise.race([call(), lateAfter(5)]) as never,
      onUnreadable: () => undefined,
      onUnreachable: () => undefined,
    };
    return new Feed(parts, since, progress);
  }

  /** Passes until a time, twice a second. */
  async until(feed: Feed, at: number): Promise<void> {
    for (; this.now <= at; this.now += SECOND / 2) {
      vi.advanceTimersByTime(this.now - Date.now());
      await feed.pass();
    }
  }

  /** The checkouts whose events an endpoint got, in the order of the signals. */
  got(endpoint = 'one'): string[] {
    return this.signals.flatMap((one) => (one.endpoint === endpoint ? one.events.map(({ checkout }) => checkout) : []));
  }
}

afterEach(() => vi.useRealTimers());

const world = (): World => {
  vi.useFakeTimers({ toFake: ['performance', 'Date'], now: START });
  return new World();
};

describe('the feed', () => {
  it('hands each event over once, also one that the search shows late', async () => {
    const it = world();
    it.event('a', START + SECOND);
    it.event('b', START + 2 * SECOND, START + 40 * SECOND);
    it.event('c', START + 3 * SECOND, START + 4 * MINUTE);
    await it.until(it.feed(), START + 8 * MINUTE);
    expect(it.got()).toEqual(['a', 'b', 'c']);
  });

  it('sends no event twice and loses none when another worker continues it', async () => {
    const it = world();
    for (let index = 0; index < 20; index += 1) it.event(`c${index}`, START + index * 500);
    const first = it.feed();
    await it.until(first, START + 5 * SECOND);
    const { since, progress } = first.progress;
    await it.until(it.feed(since, progress), START + 30 * SECOND);
    expect(it.got()).toEqual(Array.from({ length: 20 }, (_, index) => `c${index}`));
  });

  it('hands over to a new endpoint what happened before the feed knew it, and nothing from before its start', async () => {
    const it = world();
    it.event('before', START + SECOND);
    it.event('after', START + 3 * SECOND);
    const feed = it.feed();
    await it.until(feed, START + 4 * SECOND);
    it.endpoints = [...it.endpoints, endpointOf('two', START + 2 * SECOND)];
    await it.until(feed, START + 20 * SECOND);
    expect([it.got('one'), it.got('two')]).toEqual([['before', 'after'], ['after']]);
  });

  it('hands over to a new endpoint what it misses also when another worker goes on before it was listed', async () => {
    const it = world();
    it.event('a', START + 3 * SECOND);
    const first = it.feed();
    await it.until(first, START + 4 * SECOND);
    const { since, progress } = first.progress;
    it.endpoints = [...it.endpoints, endpointOf('two', START + 2 * SECOND)];
    it.now += 2 * MINUTE;
    await it.until(it.feed(since, progress), START + 3 * MINUTE);
    expect([it.got('one'), it.got('two')]).toEqual([['a'], ['a']]);
  });

  it('delays no endpoint when another cannot be reached, which gets its events later', async () => {
    const it = world();
    it.endpoints = [endpointOf('one'), endpointOf('two')];
    it.refuse = ({ endpoint }) => (endpoint === 'one' ? new Error('refused') : null);
    it.event('a', START + SECOND);
    const feed = it.feed();
    await it.until(feed, START + 30 * SECOND);
    expect([it.got('one'), it.got('two')]).toEqual([[], ['a']]);
    it.refuse = () => null;
    await it.until(feed, START + 42 * SECOND);
    expect([it.got('one'), it.got('two')]).toEqual([['a'], ['a']]);
  });

  it('loses nothing when the time at which an endpoint is asked again comes during a search', async () => {
    const it = world();
    it.refuse = () => new Error('refused');
    it.event('a', START + SECOND);
    const feed = it.feed();
    await it.until(feed, START + SECOND);
    it.refuse = () => null;
    // The endpoint is left out for ten seconds. A pass begins just before their end, and its search takes a second.
    await it.until(feed, START + 10 * SECOND);
    it.now = START + 11 * SECOND - 1;
    it.onSearch = () => (it.now = START + 12 * SECOND);
    await feed.pass();
    it.onSearch = () => undefined;
    await it.until(feed, START + 30 * SECOND);
    expect(it.got()).toEqual(['a']);
  });

  it('names the time that an endpoint misses when it was not reached for longer than the feed searches', async () => {
    const it = world();
    it.refuse = () => new Error('refused');
    it.event('a', START + SECOND);
    const feed = it.feed();
    await it.until(feed, START + 20 * SECOND);
    it.now += 60 * MINUTE;
    it.refuse = () => null;
    await it.until(feed, START + 62 * MINUTE);
    const [{ missed } = {}] = it.signals;
    expect(missed?.from).toBeLessThanOrEqual(START + SECOND);
    expect(missed?.to).toBeGreaterThan(START + 50 * MINUTE);
  });

  it('gives up an endpoint that does not answer, and delays no other', async () => {
    const it = world();
    it.endpoints = [endpointOf('one'), endpointOf('two')];
    it.refuse = ({ endpoint }) => (endpoint === 'one' ? 'hangs' : null);
    it.event('a', START + SECOND);
    const feed = it.feed();
    await it.until(feed, START + 3 * SECOND);
    expect([it.got('one'), it.got('two')]).toEqual([[], ['a']]);
    it.refuse = () => null;
    await it.until(feed, START + 14 * SECOND);
    expect([it.got('one'), it.got('two')]).toEqual([['a'], ['a']]);
  });

  it('that was away for long searches five minutes, and names the time before', async () => {
    const it = world();
    it.endpoints = [endpointOf('one', START - 60 * MINUTE)];
    const feed = it.feed();
    await it.until(feed, START + SECOND);
    it.event('a', START + 2 * SECOND);
    it.now = START + 60 * MINUTE;
    it.event('b', it.now - SECOND);
    it.endpoints = [...it.endpoints, endpointOf('two', START + 30 * MINUTE)];
    await it.until(feed, it.now + SECOND);
    expect([it.got('one'), it.got('two')]).toEqual([['b'], ['b']]);
    // From ten seconds before, because the search shows some events late. An endpoint gets nothing from before its start.
    const to = START + 55 * MINUTE;
    expect(it.signals.flatMap(({ endpoint, missed }) => (missed === undefined ? [] : [[endpoint, missed]]))).toEqual([
      ['one', { from: START - 10 * SECOND, to }],
      ['two', { from: START + 30 * MINUTE, to }],
    ]);
  });

  it('that starts again names only the time since the feed before it for an endpoint that has been there for long', async () => {
    const it = world();
    it.endpoints = [endpointOf('one', START - 100 * 24 * 60 * MINUTE)];
    it.event('a', START + SECOND);
    it.now = START + 20 * MINUTE;
    await it.until(it.feed(START), it.now);
    const missed = { from: START - 10 * SECOND, to: START + 15 * MINUTE };
    expect(it.signals.flatMap((signal) => signal.missed ?? [])).toEqual([missed]);
  });

  it('hands over to an endpoint that was missing in the list what happened meanwhile', async () => {
    const it = world();
    const feed = it.feed();
    await it.until(feed, START + SECOND);
    it.endpoints = [];
    await it.until(feed, START + 2 * MINUTE);
    it.event('a', it.now);
    await it.until(feed, START + 3 * MINUTE);
    expect(it.got()).toEqual([]);
    it.endpoints = [endpointOf('one')];
    await it.until(feed, it.now + SECOND);
    expect(it.got()).toEqual(['a']);
  });

  it('signals no disabled endpoint, and hands over the last minutes to one that is enabled', async () => {
    const it = world();
    const feed = it.feed();
    await it.until(feed, START + SECOND);
    it.endpoints = [endpointOf('one', START, null, true)];
    it.event('a', START + 3 * SECOND);
    await it.until(feed, START + 10 * MINUTE);
    it.event('b', START + 10 * MINUTE);
    await it.until(feed, START + 11 * MINUTE);
    expect(it.signals).toEqual([]);
    it.endpoints = [endpointOf('one')];
    await it.until(feed, START + 11 * MINUTE + 2 * SECOND);
    expect(it.got()).toEqual(['b']);
    expect(it.signals.flatMap(({ missed }) => missed ?? [])).toEqual([]);
  });

  it('hands over many events in several signals', async () => {
    const it = world();
    for (let index = 0; index < 1_200; index += 1) it.event(`c${index}`, START + SECOND);
    await it.until(it.feed(), START + 3 * SECOND);
    expect(it.signals.map(({ events }) => events.length)).toEqual([500, 500, 200]);
  });

  it('forgets a deleted endpoint, and one that is missing in the list for a minute', async () => {
    const it = world();
    it.endpoints = [endpointOf('one'), endpointOf('two')];
    const feed = it.feed();
    await it.until(feed, START + SECOND);
    it.endpoints = [];
    await it.until(feed, START + 30 * SECOND);
    it.event('a', START + 31 * SECOND);
    await it.until(feed, START + 40 * SECOND);
    expect([it.got('one'), it.got('two')]).toEqual([['a'], ['a']]);
    await it.until(feed, START + 2 * MINUTE);
    expect(feed.hasEndpoints).toBe(false);

    it.endpoints = [endpointOf('three')];
    it.refuse = () => new WorkflowNotFoundError('gone', 'id', undefined);
    it.event('b', START + 2 * MINUTE + 10 * SECOND);
    const next = it.feed(it.now);
    await it.until(next, START + 2 * MINUTE + 11 * SECOND);
    expect(next.hasEndpoints).toBe(false);
  });

  it('hands over the events of a type that an endpoint wants since before the feed knew it', async () => {
    const it = world();
    it.endpoints = [endpointOf('one', START, ['refunded'])];
    const feed = it.feed();
    await it.until(feed, START + 2 * SECOND);
    it.event('before', START + 2 * SECOND);
    it.event('after', START + 3 * SECOND);
    await it.until(feed, START + 4 * SECOND);
    expect(it.got()).toEqual([]);
    it.endpoints = [endpointOf('one', START, null, false, START + 3 * SECOND)];
    await it.until(feed, START + 8 * SECOND);
    expect(it.got()).toEqual(['after']);
  });

  it('hands over the events of a new type also when another worker goes on before it knew it', async () => {
    const it = world();
    it.endpoints = [endpointOf('one', START, ['refunded'])];
    const first = it.feed();
    await it.until(first, START + 2 * SECOND);
    it.event('after', START + 3 * SECOND);
    await it.until(first, START + 4 * SECOND);
    const { since, progress } = first.progress;
    it.endpoints = [endpointOf('one', START, null, false, START + 3 * SECOND)];
    await it.until(it.feed(since, progress), START + 8 * SECOND);
    expect(it.got()).toEqual(['after']);
  });

  it('is complete up to the first event that an endpoint misses', async () => {
    const it = world();
    it.refuse = () => new Error('refused');
    it.event('a', START + SECOND);
    const feed = it.feed();
    await it.until(feed, START + 3 * MINUTE);
    expect(feed.progress.since).toBeGreaterThan(START + MINUTE);
    expect(feed.completeUntil).toBe(START + SECOND);
    it.refuse = () => null;
    await it.until(feed, START + 4 * MINUTE);
    expect(feed.completeUntil).toBe(feed.progress.since);
  });

  it('that ends without endpoints is complete up to when they were listed last', async () => {
    const it = world();
    const feed = it.feed();
    await it.until(feed, START + SECOND);
    it.endpoints = [];
    await it.until(feed, START + 3 * MINUTE);
    expect(feed.hasEndpoints).toBe(false);
    expect(feed.progress.since).toBeGreaterThan(START + MINUTE);
    expect(feed.completeUntil).toBe(START + SECOND);
    // A feed that starts from there hands over what the first one could not.
    it.event('a', START + 90 * SECOND);
    it.endpoints = [endpointOf('one')];
    await it.until(it.feed(feed.completeUntil), START + 4 * MINUTE);
    expect(it.got()).toEqual(['a']);
  });

  it('hands over only the kinds that an endpoint wants', async () => {
    const it = world();
    it.endpoints = [endpointOf('one', START, ['refunded'])];
    it.event('a', START + SECOND);
    it.shown.push({ checkout: checkoutOf('b', START + SECOND, 'refunded'), at: START + SECOND, from: START });
    await it.until(it.feed(), START + 5 * SECOND);
    expect(it.got()).toEqual(['b']);
  });
});
