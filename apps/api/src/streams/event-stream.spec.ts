import { PassThrough, Writable } from 'node:stream';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { EventStream } from './event-stream.js';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

const HEARTBEAT_MS = 15_000;
const settled = (): Promise<unknown> => vi.advanceTimersByTimeAsync(0);

/** A reader that reads one chunk at a time, when the test asks for it. */
class SlowReader extends Writable {
  readonly taken: string[] = [];
  #next: (() => void) | null = null;

  constructor() {
    super({ highWaterMark: 1 });
  }

  override _write(chunk: Buffer, _: BufferEncoding, done: () => void): void {
    this.taken.push(chunk.toString());
    this.#next = done;
  }

  take(): void {
    const next = this.#next;
    this.#next = null;
    next?.();
  }
}

function textOf(stream: EventStream): { text: string } {
  const read = { text: '' };
  stream.pipe(new PassThrough()).on('data', (chunk: Buffer) => (read.text += chunk.toString()));
  return read;
}

describe('an event stream', () => {
  it('sends the retry time, and then each state with its version', async () => {
    const stream = new EventStream(HEARTBEAT_MS);
    const read = textOf(stream);
    stream.show('checkout', 1, '{"status":"creating"}');
    await settled();
    stream.show('checkout', 2, '{"status":"paid"}');
    await settled();
    expect(read.text).toBe(
      'retry: 2000\n\n' +
        'id: 1\nevent: checkout\ndata: {"status":"creating"}\n\n' +
        'id: 2\nevent: checkout\ndata: {"status":"paid"}\n\n',
    );
    stream.destroy();
  });

  it('sends heartbeats while there is no event', async () => {
    const stream = new EventStream(HEARTBEAT_MS);
    const read = textOf(stream);
    await vi.advanceTimersByTimeAsync(2 * HEARTBEAT_MS);
    expect(read.text).toBe('retry: 2000\n\n: still here\n\n: still here\n\n');
    stream.destroy();
  });

  it('keeps only the latest state for a slow reader', async () => {
    const stream = new EventStream(HEARTBEAT_MS);
    const reader = new SlowReader();
    stream.pipe(reader);
    await settled();
    for (let version = 1; version <= 1_000; version += 1) {
      stream.show('checkout', version, 'x'.repeat(10_000));
      if (version % 100 === 0) await vi.advanceTimersByTimeAsync(HEARTBEAT_MS);
    }
    // What Node holds on either side of the pipe: a state or two, not a thousand.
    expect(stream.readableLength + reader.writableLength).toBeLessThan(40_000);
    for (let step = 0; step < 10; step += 1) {
      reader.take();
      await settled();
    }
    const ids = [...reader.taken.join('').matchAll(/^id: (\d+)$/gm)].map(([, id]) => Number(id));
    expect(ids.at(-1)).toBe(1_000);
    expect(ids.length).toBeLessThan(5);
    stream.destroy();
  });

  it('ends after its last state, without more heartbeats', async () => {
    const stream = new EventStream(HEARTBEAT_MS);
    const read = textOf(stream);
    const ended = new Promise((resolve) => stream.once('close', resolve));
    stream.show('checkout', 7, '{}');
    stream.finish();
    stream.finish();
    stream.show('checkout', 8, '{}');
    await settled();
    await ended;
    expect(read.text).toBe('retry: 2000\n\nid: 7\nevent: checkout\ndata: {}\n\n');
    expect(vi.getTimerCount()).toBe(0);
  });

  it('sends no heartbeats after its reader left', () => {
    const stream = new EventStream(HEARTBEAT_MS);
    stream.destroy();
    stream.show('checkout', 1, '{}');
    stream.finish();
    expect(vi.getTimerCount()).toBe(0);
  });
});
