import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { ImageCache, type QrImage } from './image-cache.js';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

const LIMITS = { keepMs: 5_000, maxEntries: 3, maxBytes: 100, maxLoading: 4 };
const image = (size = 10): QrImage => ({ type: 'image/png', bytes: Buffer.alloc(size) });

function cache() {
  const images = new ImageCache(LIMITS);
  const loads: string[] = [];
  const get = (key: string, load: () => Promise<QrImage> = async () => image()): Promise<QrImage> | null =>
    images.get(key, () => {
      loads.push(key);
      return load();
    });
  return { get, loads };
}

describe('the cache of images', () => {
  it('loads an image once for all requests within its time, and then again', async () => {
    const { get, loads } = cache();
    await Promise.all([get('a'), get('a'), get('b')]);
    await vi.advanceTimersByTimeAsync(4_999);
    await get('a');
    expect(loads).toEqual(['a', 'b']);
    await vi.advanceTimersByTimeAsync(1);
    await get('a');
    expect(loads).toEqual(['a', 'b', 'a']);
  });

  it('caches failures as well', async () => {
    const { get, loads } = cache();
    const fail = async (): Promise<QrImage> => {
      throw new Error('down');
    };
    await expect(get('a', fail)).rejects.toThrow('down');
    await expect(get('a', fail)).rejects.toThrow('down');
    expect(loads).toEqual(['a']);
  });

  it('stores the newest images within its limits of entries and bytes', async () => {
    const { get, loads } = cache();
    for (const key of ['a', 'b', 'c', 'd']) await get(key);
    await get('d');
    await get('a');
    expect(loads).toEqual(['a', 'b', 'c', 'd', 'a']);
    await get('large', async () => image(95));
    await get('d');
    expect(loads.slice(5)).toEqual(['large', 'd']);
    await get('too large', async () => image(101));
    await get('too large', async () => image(101));
    expect(loads.slice(7)).toEqual(['too large', 'too large']);
  });

  it('limits the images that load at the same time', async () => {
    const { get } = cache();
    const never = (): Promise<QrImage> => new Promise(() => {});
    const results = ['a', 'b', 'c', 'd', 'e', 'a'].map((key) => get(key, never));
    expect(results.map((result) => result === null)).toEqual([false, false, false, false, true, false]);
  });
});
