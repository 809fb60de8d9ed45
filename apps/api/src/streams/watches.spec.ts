import { pino } from 'pino';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { StoredCheckout } from '@tillflow/temporal';
import { Problem } from '../problems/problem.js';
import { Watch, type Watcher } from './watches.js';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

const POLL_MS = 1_000;
const silent = pino({ enabled: false });

/** A watched checkout. The test decides what a read returns. */
function watched(read: () => Promise<unknown> = async () => ({ version: 1 })) {
  const reads = vi.fn<() => Promise<StoredCheckout>>(read as () => Promise<StoredCheckout>);
  return { reads, watch: new Watch(reads, POLL_MS, silent) };
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
    const { watch, reads } = watched();
    const [first, second] = [watcher(), watcher()];
    watch.add(first);
    watch.add(second);
    watch.remove(first);
    await vi.advanceTimersByTimeAsync(POLL_MS);
    expect(reads).toHaveBeenCalledTimes(1);
    expect(first.see).not.toHaveBeenCalled();
    watch.remove(second);
    watch.wake();
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

  it('is read at once after an announced change, a few times soon after, and then as before', async () => {
    const { watch, reads } = watched();
    watch.add(watcher());
    watch.wake();
    await vi.advanceTimersByTimeAsync(0);
    expect(reads).toHaveBeenCalledTimes(1);
    await vi.advanceTimersByTimeAsync(750);
    expect(reads).toHaveBeenCalledTimes(5);
    await vi.advanceTimersByTimeAsync(POLL_MS);
    expect(reads).toHaveBeenCalledTimes(6);
  });

  it('is read again when a change is announced during a read', async () => {
    let show: (checkout: unknown) => void = () => {};
    const { watch, reads } = watched(() => new Promise((resolve) => (show = resolve)));
    watch.add(watcher());
    await vi.advanceTimersByTimeAsync(POLL_MS);
    watch.wake();
    await vi.advanceTimersByTimeAsync(0);
    expect(reads).toHaveBeenCalledTimes(1);
    show({ version: 1 });
    await vi.advanceTimersByTimeAsync(0);
    expect(reads).toHaveBeenCalledTimes(2);
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
