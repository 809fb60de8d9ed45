import { describe, expect, it, vi } from 'vitest';
import { Readings } from './readings.js';

describe('Readings', () => {
  const later = () => {
    let resolve: (result: { n: number }) => void = () => undefined;
    let reject: (error: Error) => void = () => undefined;
    const promise = new Promise<{ n: number }>((onResult, onError) => {
      resolve = onResult;
      reject = onError;
    });
    const begin = vi.fn<() => Promise<{ n: number }>>(() => promise);
    return { begin, resolve: (n: number) => resolve({ n }), reject: (error: Error) => reject(error) };
  };

  it('gives requests of the same time one read, and a later request a new one', async () => {
    const readings = new Readings<{ n: number }>({ keepMs: 1_000, atOnce: 2 });
    const { begin, resolve } = later();
    const both = [readings.read('a', begin, 60_000), readings.read('a', begin, 60_000)];
    resolve(1);
    expect(await Promise.all(both)).toEqual([{ n: 1 }, { n: 1 }]);
    expect(begin).toHaveBeenCalledTimes(1);
    expect(await readings.read('a', () => Promise.resolve({ n: 2 }), 60_000)).toEqual({ n: 2 });
  });

  it('keeps a result that came too late for its request, for the next request', async () => {
    const readings = new Readings<{ n: number }>({ keepMs: 1_000_000, atOnce: 2 });
    const { begin, resolve } = later();
    expect(await readings.read('a', begin, 0)).toBeNull();
    resolve(1);
    expect(await readings.read('a', begin, 60_000)).toEqual({ n: 1 });
    expect(begin).toHaveBeenCalledTimes(1);
  });

  it('reports a failure to the request that waits, and begins again', async () => {
    const readings = new Readings<{ n: number }>({ keepMs: 1_000, atOnce: 2 });
    const { begin, reject } = later();
    const waiting = readings.read('a', begin, 60_000);
    reject(new Error('no answer'));
    await expect(waiting).rejects.toThrow('no answer');
    expect(await readings.read('a', () => Promise.resolve({ n: 2 }), 60_000)).toEqual({ n: 2 });
  });

  it('answers the requests of the next seconds with one read, where it may', async () => {
    vi.useFakeTimers();
    try {
      const readings = new Readings<{ n: number }>({ keepMs: 60_000, freshMs: 3_000, atOnce: 2 });
      let reads = 0;
      const begin = (): Promise<{ n: number }> => Promise.resolve({ n: (reads += 1) });
      expect(await readings.read('a', begin, 60_000)).toEqual({ n: 1 });
      await vi.advanceTimersByTimeAsync(2_999);
      expect(await readings.read('a', begin, 60_000)).toEqual({ n: 1 });
      await vi.advanceTimersByTimeAsync(1);
      expect(await readings.read('a', begin, 60_000)).toEqual({ n: 2 });
    } finally {
      vi.useRealTimers();
    }
  });

  it('lets a request wait for a place, and for the read that another one begins meanwhile', async () => {
    const readings = new Readings<{ n: number }>({ keepMs: 1_000, atOnce: 1 });
    const [a, b, c] = [later(), later(), later()];
    const first = readings.read('a', a.begin, 60_000);
    const others = [
      readings.read('b', b.begin, 60_000),
      readings.read('b', b.begin, 60_000),
      readings.read('c', c.begin, 60_000),
    ];
    a.resolve(1);
    expect(await first).toEqual({ n: 1 });
    await vi.waitFor(() => expect(b.begin).toHaveBeenCalledTimes(1));
    expect(c.begin).not.toHaveBeenCalled();
    b.resolve(2);
    c.resolve(3);
    expect(await Promise.all(others)).toEqual([{ n: 2 }, { n: 2 }, { n: 3 }]);
    expect(b.begin).toHaveBeenCalledTimes(1);
  });

  it('begins no third read while two go on, joins those two, and begins it after one of them has ended or failed', async () => {
    const readings = new Readings<{ n: number }>({ keepMs: 1_000, atOnce: 2 });
    const [a, b, c] = [later(), later(), later()];
    const both = [readings.read('a', a.begin, 60_000), readings.read('b', b.begin, 60_000)];
    expect(await readings.read('c', c.begin, 0)).toBe('full');
    expect(c.begin).not.toHaveBeenCalled();
    const joined = readings.read('a', c.begin, 60_000);
    a.resolve(1);
    expect(await Promise.all([both[0], joined])).toEqual([{ n: 1 }, { n: 1 }]);
    const third = readings.read('c', c.begin, 60_000);
    expect(await readings.read('d', a.begin, 0)).toBe('full');
    b.reject(new Error('no answer'));
    await expect(both[1]).rejects.toThrow('no answer');
    expect(await readings.read('d', () => Promise.resolve({ n: 4 }), 60_000)).toEqual({ n: 4 });
    c.resolve(3);
    expect(await third).toEqual({ n: 3 });
  });

  it('a result that waits for the next request leaves its place to another read', async () => {
    const readings = new Readings<{ n: number }>({ keepMs: 1_000_000, atOnce: 1 });
    const { begin, resolve } = later();
    expect(await readings.read('a', begin, 0)).toBeNull();
    expect(await readings.read('b', begin, 0)).toBe('full');
    resolve(1);
    expect(await readings.read('a', begin, 60_000)).toEqual({ n: 1 });
    expect(await readings.read('b', () => Promise.resolve({ n: 2 }), 60_000)).toEqual({ n: 2 });
  });
});
