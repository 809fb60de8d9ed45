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
    const readings = new Readings<{ n: number }>(1_000);
    const { begin, resolve } = later();
    const both = [readings.read('a', begin, 60_000), readings.read('a', begin, 60_000)];
    resolve(1);
    expect(await Promise.all(both)).toEqual([{ n: 1 }, { n: 1 }]);
    expect(begin).toHaveBeenCalledTimes(1);
    expect(await readings.read('a', () => Promise.resolve({ n: 2 }), 60_000)).toEqual({ n: 2 });
  });

  it('keeps a result that came too late for its request, for the next request', async () => {
    const readings = new Readings<{ n: number }>(1_000_000);
    const { begin, resolve } = later();
    expect(await readings.read('a', begin, 0)).toBeNull();
    resolve(1);
    expect(await readings.read('a', begin, 60_000)).toEqual({ n: 1 });
    expect(begin).toHaveBeenCalledTimes(1);
  });

  it('reports a failure to the request that waits, and begins again', async () => {
    const readings = new Readings<{ n: number }>(1_000);
    const { begin, reject } = later();
    const waiting = readings.read('a', begin, 60_000);
    reject(new Error('no answer'));
    await expect(waiting).rejects.toThrow('no answer');
    expect(await readings.read('a', () => Promise.resolve({ n: 2 }), 60_000)).toEqual({ n: 2 });
  });
});
