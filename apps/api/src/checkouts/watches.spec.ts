import 'reflect-metadata';
import { pino } from 'pino';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { checkoutId } from '@tillflow/domain';
import type { StoredCheckout } from '@tillflow/temporal';
import { Problem } from '../problems/problem.js';
import type { Settings } from '../providers.js';
import { CheckoutChanges, type Change } from './checkout-changes.js';
import type { CheckoutsRepository } from './checkouts.repository.js';
import { Pace, type Paces } from './expected-change.js';
import { Watch, Watches, type Watcher } from './watches.js';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

const POLL_MS = 1_000;
const silent = pino({ enabled: false });

type Follow = (over: AbortSignal) => AsyncIterable<StoredCheckout>;

/** @param next the promise of the first state */
const follows =
  (next: () => Promise<never>): Follow =>
  () => ({ [Symbol.asyncIterator]: () => ({ next }) });
const showsNothing = follows(() => new Promise(() => {}));

/** A watched checkout. The test decides what a read returns. */
function watched(read: () => Promise<unknown> = async () => ({ version: 1 }), follow = showsNothing) {
  const reads = vi.fn<(isQuiet: boolean) => Promise<StoredCheckout>>(read as () => Promise<StoredCheckout>);
  const paces: Paces = { started: new Pace(100), messaged: new Pace(40) };
  const watch = new Watch({ read: reads, follow }, POLL_MS, paces, silent);
  const wake = (change: Change): void => watch.wake({ change, at: performance.now() });
  return { reads, watch, wake, paces };
}

function watcher() {
  return { see: vi.fn<Watcher['see']>(), end: vi.fn<Watcher['end']>() };
}

describe('a watched checkout', () => {
  it('is read once per poll for all watchers', async () => {
    const { watch, reads } = watched();
    const watchers = Array.from({ length: 50 }, watcher);
    for (const one of watchers) watch.add(one);
    await vi.advanceTimersByTimeAsync(3 * POLL_MS);
    expect(reads).toHaveBeenCalledTimes(3);
    for (const { see } of watchers) expect(see).toHaveBeenCalledTimes(3);
  });

  it('is not read after the last watcher left, not even after an announced change', async () => {
    const { watch, wake, reads } = watched();
    const [first, second] = [watcher(), watcher()];
    watch.add(first);
    watch.add(second);
    watch.remove(first);
    await vi.advanceTimersByTimeAsync(POLL_MS);
    expect(reads).toHaveBeenCalledTimes(1);
    expect(first.see).not.toHaveBeenCalled();
    watch.remove(second);
    wake('changed');
    await vi.advanceTimersByTimeAsync(10 * POLL_MS);
    expect(reads).toHaveBeenCalledTimes(1);
    expect(vi.getTimerCount()).toBe(0);
  });

  it('stays unwatched when the last watcher leaves during a read', async () => {
    let show: (checkout: unknown) => void = () => {};
    const { watch, reads } = watched(() => new Promise((resolve) => (show = resolve)));
    const one = watcher();
    watch.add(one);
    await vi.advanceTimersByTimeAsync(POLL_MS);
    watch.remove(one);
    show({ version: 2 });
    await vi.advanceTimersByTimeAsync(10 * POLL_MS);
    expect(reads).toHaveBeenCalledTimes(1);
    expect(one.see).not.toHaveBeenCalled();
  });

  it('is read at once after it changed, a few times soon after, and then as before', async () => {
    const { watch, wake, reads } = watched();
    watch.add(watcher());
    wake('changed');
    await vi.advanceTimersByTimeAsync(0);
    expect(reads).toHaveBeenCalledTimes(1);
    await vi.advanceTimersByTimeAsync(999);
    expect(reads).toHaveBeenCalledTimes(9);
    await vi.advanceTimersByTimeAsync(POLL_MS);
    expect(reads).toHaveBeenCalledTimes(10);
  });

  it('is read quietly while no change is expected, and not quietly for an announced change and for a request', async () => {
    const { watch, wake, reads } = watched();
    const one = watcher();
    watch.add(one);
    await vi.advanceTimersByTimeAsync(POLL_MS);
    expect(reads.mock.calls).toEqual([[true]]);
    await vi.advanceTimersByTimeAsync(POLL_MS / 2);
    watch.readFor(one);
    await vi.advanceTimersByTimeAsync(0);
    wake('changed');
    await vi.advanceTimersByTimeAsync(0);
    expect(reads.mock.calls.slice(1)).toEqual([[false], [false]]);
  });

  it('is followed from a little before it usually shows a change, and shows it without a read', async () => {
    const follow = vi.fn<Follow>(async function* changes() {
      yield { version: 1 } as StoredCheckout;
      await new Promise((resolve) => setTimeout(resolve, 30));
      yield { version: 2 } as StoredCheckout;
    });
    const { watch, wake, reads } = watched(undefined, follow);
    const one = watcher();
    watch.add(one);
    watch.readFor(one);
    await vi.advanceTimersByTimeAsync(0);
    wake('messaged');
    await vi.advanceTimersByTimeAsync(23);
    expect(follow).not.toHaveBeenCalled();
    await vi.advanceTimersByTimeAsync(30);
    expect(one.see).toHaveBeenCalledTimes(1);
    await vi.advanceTimersByTimeAsync(1);
    expect(one.see).toHaveBeenLastCalledWith({ version: 2 });
    expect(reads).toHaveBeenCalledTimes(1);
  });

  it('is read as planned when it cannot be followed, and is not followed after its last watcher left', async () => {
    const follow = vi.fn<Follow>(follows(() => Promise.reject(new Error('Temporal is down'))));
    const { watch, wake, reads } = watched(undefined, follow);
    const one = watcher();
    watch.add(one);
    wake('messaged');
    await vi.advanceTimersByTimeAsync(120);
    expect(reads).toHaveBeenCalledTimes(1);
    watch.remove(one);
    expect(follow.mock.lastCall?.[0].aborted).toBe(true);
  });

  it('is no longer followed once the change is not expected any more', async () => {
    const follow = vi.fn<Follow>(showsNothing);
    const { watch, wake } = watched(undefined, follow);
    watch.add(watcher());
    wake('messaged');
    await vi.advanceTimersByTimeAsync(900);
    expect(follow.mock.lastCall?.[0].aborted).toBe(false);
    await vi.advanceTimersByTimeAsync(POLL_MS);
    expect(follow.mock.lastCall?.[0].aborted).toBe(true);
  });

  it('is no longer followed once a read shows the change', async () => {
    const follow = vi.fn<Follow>(showsNothing);
    let version = 1;
    const { watch, wake } = watched(async () => ({ version }), follow);
    const one = watcher();
    watch.add(one);
    await vi.advanceTimersByTimeAsync(POLL_MS);
    wake('messaged');
    version = 2;
    await vi.advanceTimersByTimeAsync(120);
    expect(one.see).toHaveBeenLastCalledWith({ version: 2 });
    expect(follow.mock.lastCall?.[0].aborted).toBe(true);
  });

  it('shows a change to the other watchers when one of them fails', async () => {
    const { watch } = watched();
    const [failing, other] = [watcher(), watcher()];
    failing.see.mockImplementation(() => {
      throw new Error('cannot be presented');
    });
    for (const one of [failing, other]) watch.add(one);
    await vi.advanceTimersByTimeAsync(2 * POLL_MS);
    expect(other.see).toHaveBeenCalledTimes(2);
  });

  it('is still expected to change when a read that began before the announcement shows an earlier change', async () => {
    let show: (checkout: unknown) => void = () => {};
    const { watch, wake, reads } = watched(() => new Promise((resolve) => (show = resolve)));
    watch.add(watcher());
    await vi.advanceTimersByTimeAsync(POLL_MS);
    show({ version: 1 });
    await vi.advanceTimersByTimeAsync(POLL_MS);
    wake('messaged');
    show({ version: 2 });
    await vi.advanceTimersByTimeAsync(120);
    expect(reads).toHaveBeenCalledTimes(3);
  });

  it('is read again when a change is announced during a read', async () => {
    let show: (checkout: unknown) => void = () => {};
    const { watch, wake, reads } = watched(() => new Promise((resolve) => (show = resolve)));
    watch.add(watcher());
    await vi.advanceTimersByTimeAsync(POLL_MS);
    wake('changed');
    await vi.advanceTimersByTimeAsync(0);
    expect(reads).toHaveBeenCalledTimes(1);
    show({ version: 1 });
    await vi.advanceTimersByTimeAsync(0);
    expect(reads).toHaveBeenCalledTimes(2);
  });

  /**
   * Watches a checkout from its start until it shows its QR code, which it has after `tookMs`. @returns the time of
   * that.
   */
  async function watchStart(paces: Paces, tookMs: number): Promise<number> {
    const startedAt = performance.now();
    const version = () => (performance.now() - startedAt >= tookMs ? 1 : 0);
    const stored = (): StoredCheckout => ({ version: version() }) as StoredCheckout;
    const follow: Follow = async function* shows() {
      await new Promise((resolve) => setTimeout(resolve, Math.max(startedAt + tookMs - performance.now(), 0)));
      yield stored();
    };
    const watch = new Watch({ read: async () => stored(), follow }, POLL_MS, paces, silent);
    const one = watcher();
    watch.add(one);
    watch.wake({ change: 'started', at: startedAt });
    while (one.see.mock.lastCall?.[0].version !== 1) await vi.advanceTimersToNextTimerAsync();
    watch.remove(one);
    return performance.now() - startedAt;
  }

  it.each([5, 400])('that shows its QR code %i ms after its start is soon read at that time', async (tookMs) => {
    const { paces } = watched();
    for (let checkouts = 0; checkouts < 100; checkouts += 1) await watchStart(paces, tookMs);
    expect(paces.started.usualMs).toBeGreaterThanOrEqual(tookMs * 0.9);
    expect(paces.started.usualMs).toBeLessThanOrEqual(Math.max(tookMs * 1.2, 15));
    expect(paces.messaged.usualMs).toBe(40);
  });

  it('is read without a long wait again, twenty checkouts after a slow time', async () => {
    const { paces } = watched();
    for (let checkouts = 0; checkouts < 100; checkouts += 1) await watchStart(paces, 1_200);
    for (let checkouts = 0; checkouts < 20; checkouts += 1) await watchStart(paces, 60);
    expect(await watchStart(paces, 60)).toBeLessThan(120);
  });

  it('stays watched while Temporal is down, and is shown when Temporal is back', async () => {
    let isDown = true;
    const { watch } = watched(async () => {
      if (isDown) throw new Problem('temporal_unavailable', 'down');
      return { version: 1 };
    });
    const one = watcher();
    watch.add(one);
    await vi.advanceTimersByTimeAsync(5 * POLL_MS);
    expect(one.see).not.toHaveBeenCalled();
    expect(one.end).not.toHaveBeenCalled();
    isDown = false;
    await vi.advanceTimersByTimeAsync(POLL_MS);
    expect(one.see).toHaveBeenCalledTimes(1);
  });

  it('ends for all watchers when Temporal removes it after its retention', async () => {
    const { watch } = watched(async () => {
      throw new Problem('not_found', 'gone');
    });
    const watchers = [watcher(), watcher()];
    for (const one of watchers) watch.add(one);
    await vi.advanceTimersByTimeAsync(POLL_MS);
    for (const { end } of watchers) expect(end).toHaveBeenCalledTimes(1);
  });
});

describe('a wait for a state of a checkout', () => {
  const key = { account: 'default', reference: 'a' };

  function waiting(over: AbortSignal) {
    const reads = vi.fn<CheckoutsRepository['getInBackground']>(async () => ({ version: 1 }) as StoredCheckout);
    const settings = { values: { STREAM_POLL_MS: POLL_MS } } as Settings;
    const changes = new CheckoutChanges();
    const watches = new Watches(
      { getInBackground: reads } as unknown as CheckoutsRepository,
      settings,
      silent,
      changes,
    );
    void watches.until(key, () => false, over);
    return reads;
  }

  it('reads nothing after its end', async () => {
    const over = new AbortController();
    const reads = waiting(over.signal);
    await vi.advanceTimersByTimeAsync(POLL_MS);
    expect(reads).toHaveBeenCalledTimes(1);
    over.abort();
    await vi.advanceTimersByTimeAsync(10 * POLL_MS);
    expect(reads).toHaveBeenCalledTimes(1);
    expect(vi.getTimerCount()).toBe(0);
  });

  it('learns how long a QR code takes once for each start, however many waits for it begin', async () => {
    const learned = (['announced', 'follow', 'learn', 'halve'] as const).map((step) => vi.spyOn(Pace.prototype, step));
    const changes = new CheckoutChanges();
    const startedAt = performance.now();
    const read = async (): Promise<StoredCheckout> =>
      ({ version: performance.now() - startedAt >= 50 ? 1 : 0 }) as StoredCheckout;
    const repository = { getInBackground: read, follow: showsNothing } as unknown as CheckoutsRepository;
    const watches = new Watches(repository, { values: { STREAM_POLL_MS: POLL_MS } } as Settings, silent, changes);
    const calls = (): number[] => learned.map((step) => step.mock.calls.length);
    const opened = async (over: AbortController): Promise<void> => {
      const shown = watches.until(key, ({ version }) => version === 1, over.signal);
      if (changes.recent(checkoutId(key)) === undefined) changes.announce(checkoutId(key), 'started');
      await vi.advanceTimersByTimeAsync(500);
      await shown;
      over.abort();
    };
    await opened(new AbortController());
    const once = calls();
    expect(once).toEqual([1, 1, 0, 0]);
    await opened(new AbortController());
    expect(calls()).toEqual(once);
    vi.restoreAllMocks();
  });

  it('that begins soon after another one has ended is answered by its read, if that showed the checkout', async () => {
    const read = vi.fn<() => Promise<StoredCheckout>>(async () => ({ version: 1 }) as StoredCheckout);
    const repository = { getInBackground: read, follow: showsNothing } as unknown as CheckoutsRepository;
    const settings = { values: { STREAM_POLL_MS: POLL_MS } } as Settings;
    const watches = new Watches(repository, settings, silent, new CheckoutChanges());
    const readOnce = async (): Promise<Watcher['see']> => {
      const { see, end } = watcher();
      const { readNow, stop } = watches.watch(key, { see, end });
      readNow();
      await vi.advanceTimersByTimeAsync(0);
      stop();
      return see;
    };
    await readOnce();
    await vi.advanceTimersByTimeAsync(400);
    expect(await readOnce()).toHaveBeenCalledWith({ version: 1 });
    expect(read).toHaveBeenCalledTimes(1);
    await vi.advanceTimersByTimeAsync(500);
    await readOnce();
    expect(read).toHaveBeenCalledTimes(2);

    await vi.advanceTimersByTimeAsync(500);
    read.mockRejectedValueOnce(new Problem('not_found', 'gone'));
    await readOnce();
    expect(await readOnce()).toHaveBeenCalledWith({ version: 1 });
    expect(read).toHaveBeenCalledTimes(4);
  });

  it('reads nothing when it begins after its end', async () => {
    const reads = waiting(AbortSignal.abort());
    await vi.advanceTimersByTimeAsync(10 * POLL_MS);
    expect(reads).not.toHaveBeenCalled();
  });
});
