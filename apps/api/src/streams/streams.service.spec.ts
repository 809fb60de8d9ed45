import 'reflect-metadata';
import { initialState } from '@tillflow/workflows';
import { sampleIntent } from '@tillflow/workflows/testing';
import { pino } from 'pino';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { ConfiguredKeys, Key, StoredCheckout } from '@tillflow/temporal';
import { SignedLinks } from '../auth/signed-links.js';
import { Signatures } from '../auth/signatures.js';
import type { CheckoutsRepository } from '../checkouts/checkouts.repository.js';
import { LinkReads } from '../checkouts/link-reads.js';
import { CheckoutChanges } from '../checkouts/checkout-changes.js';
import { CheckoutPresenter } from '../checkouts/presenter.js';
import type { OpenLinks } from '../counter/open-links.js';
import { Problem } from '../problems/problem.js';
import type { ApiSettings } from '../settings.js';
import { Settings } from '../providers.js';
import type { Connection, EventStream } from './event-stream.js';
import { StreamsService, type StreamRequest } from './streams.service.js';
import { Watches } from '../checkouts/watches.js';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

const ID = 'chk_default_a';

const intent = sampleIntent();

const NOWHERE: Connection = { socket: null, writableLength: 0, destroy: () => {} };
const tomorrow = (): number => Math.floor(Date.now() / 1_000) + 86_400;
const linkFrom = (address: string) => ({ expires: tomorrow(), address });

/** The service on a checkout that the test changes, without Temporal. */
function service(limit = 10) {
  const stored = { version: 1, closed: false, isDown: false };
  const get = vi.fn<() => Promise<StoredCheckout>>(async () => {
    if (stored.isDown) throw new Problem('temporal_unavailable', 'down');
    const { version, closed } = stored;
    return { intent, state: initialState(intent), requestNonce: '', timeline: [], refunds: [], version, closed };
  });
  const settings = new Settings({
    STREAM_POLL_MS: 1_000,
    STREAM_HEARTBEAT_MS: 15_000,
    STREAM_LIMIT: limit,
    URL_SIGNING_KEY: ['signs the links of tests and nothing else'],
    PUBLIC_URL: 'http://pay.example',
  } as unknown as ApiSettings);
  const repository = { get, getInBackground: get } as unknown as CheckoutsRepository;
  const changes = new CheckoutChanges();
  const watches = new Watches(repository, settings, pino({ enabled: false }), changes);
  const presenter = new CheckoutPresenter(new SignedLinks(new Signatures(settings), settings));
  const reads = new LinkReads(repository, changes);
  /** Ends the sessions that hold a stream open. */
  const revoke = new Set<() => void>();
  const hold: OpenLinks['hold'] = (_session, end) => {
    const one = (): void => end(new Problem('unauthorized', 'as the test says'));
    revoke.add(one);
    return () => void revoke.delete(one);
  };
  const keys = { isInForce: vi.fn<() => boolean>(() => true) };
  const streams = new StreamsService(
    repository,
    reads,
    presenter,
    watches,
    { hold } as OpenLinks,
    keys as unknown as ConfiguredKeys,
    settings,
  );
  const open = (request: Partial<StreamRequest> = {}): Promise<EventStream | null> =>
    streams.open({ id: ID, seen: null, link: null, till: null, key: null, connection: NOWHERE, ...request });
  return { stored, get, changes, streams, open, revoke, keys };
}

/** The ids of the events that a reader of the stream gets. */
function idsOf(stream: EventStream | null): number[] {
  const ids: number[] = [];
  stream?.on('data', (chunk: Buffer) => {
    for (const [, id] of chunk.toString().matchAll(/^id: (\d+)$/gm)) ids.push(Number(id));
  });
  return ids;
}

const pass = (ms: number): Promise<unknown> => vi.advanceTimersByTimeAsync(ms);

describe('a stream', () => {
  it('sends the current state, and each change once', async () => {
    const { stored, open } = service();
    const ids = idsOf(await open());
    await pass(3_000);
    stored.version = 2;
    await pass(3_000);
    expect(ids).toEqual([1, 2]);
  });

  it.each([1, 2, 999])('after Last-Event-ID %i sends nothing until the next change', async (seen) => {
    const { stored, open } = service();
    const ids = idsOf(await open({ seen }));
    await pass(3_000);
    expect(ids).toEqual([]);
    stored.version = 2;
    await pass(1_000);
    expect(ids).toEqual([2]);
  });

  it('after an older Last-Event-ID sends the current state', async () => {
    const { stored, open } = service();
    stored.version = 5;
    const ids = idsOf(await open({ seen: 3 }));
    await pass(0);
    expect(ids).toEqual([5]);
  });

  it('costs one read per poll with any number of readers, and none without readers', async () => {
    const { get, open } = service(100);
    const streams = await Promise.all(Array.from({ length: 20 }, () => open()));
    get.mockClear();
    await pass(3_000);
    expect(get).toHaveBeenCalledTimes(3);
    for (const stream of streams) stream?.destroy();
    get.mockClear();
    await pass(10_000);
    expect(get).not.toHaveBeenCalled();
    expect(vi.getTimerCount()).toBe(0);
  });

  it('reads at once after a change of its checkout, not of another', async () => {
    const { stored, changes, open } = service();
    const ids = idsOf(await open());
    stored.version = 2;
    changes.announce('chk_default_other', 'changed');
    await pass(500);
    expect(ids).toEqual([1]);
    changes.announce(ID, 'changed');
    await pass(0);
    expect(ids).toEqual([1, 2]);
  });

  it('stays open while Temporal is down, and continues afterwards', async () => {
    const { stored, open } = service();
    const stream = await open();
    const ids = idsOf(stream);
    await pass(0);
    stored.isDown = true;
    await pass(30_000);
    expect(stream?.destroyed).toBe(false);
    stored.isDown = false;
    stored.version = 2;
    await pass(1_000);
    expect(ids).toEqual([1, 2]);
  });

  it('sends the last state and ends when the checkout closes', async () => {
    const { stored, open } = service();
    const stream = await open();
    const ids = idsOf(stream);
    await pass(0);
    Object.assign(stored, { version: 2, closed: true });
    await pass(1_000);
    expect(ids).toEqual([1, 2]);
    expect(stream?.destroyed).toBe(true);
    expect(vi.getTimerCount()).toBe(0);
  });

  it('of a closed checkout sends its last state to a reader with a key that has not seen it, and nothing to a reader with a link', async () => {
    const { stored, open } = service();
    Object.assign(stored, { version: 2, closed: true });
    const stream = await open({ seen: 1 });
    const ids = idsOf(stream);
    await pass(0);
    expect(ids).toEqual([2]);
    expect(stream?.destroyed).toBe(true);
    expect(await open({ seen: 2 })).toBeNull();
    expect(await open({ link: linkFrom('192.0.2.1') })).toBeNull();
    expect(await open({ link: linkFrom('192.0.2.1'), seen: 1 })).toBeNull();
  });
});

describe('too many streams', () => {
  const refusal = { code: 'too_many_streams', status: 503 };

  it('of one checkout are refused at half the limit, and accepted again when one ends', async () => {
    const { open } = service(4);
    const first = await open();
    await open();
    await expect(open()).rejects.toMatchObject(refusal);
    first?.destroy();
    await pass(0);
    expect(await open()).not.toBeNull();
  });

  it('that open at the same time are counted as soon as they are requested', async () => {
    const { open } = service(4);
    const results = await Promise.allSettled(Array.from({ length: 5 }, () => open()));
    expect(results.filter(({ status }) => status === 'rejected')).toHaveLength(3);
  });

  it('of many checkouts are refused at the limit', async () => {
    const { open } = service(3);
    for (const id of ['chk_default_a', 'chk_default_b', 'chk_default_c']) await open({ id });
    await expect(open({ id: 'chk_default_d' })).rejects.toMatchObject(refusal);
  });

  it('do not include streams that could not open', async () => {
    const { stored, open } = service(2);
    stored.isDown = true;
    for (let count = 0; count < 5; count += 1) {
      await expect(open()).rejects.toMatchObject({ code: 'temporal_unavailable' });
    }
    stored.isDown = false;
    expect(await open()).not.toBeNull();
  });
});

const [many, refused] = [Array.from({ length: 60 }, (_, number) => number), { code: 'too_many_streams' }];
/** How many of these are taken. */
async function taken(results: readonly Promise<EventStream | null>[]): Promise<number> {
  const settled = await Promise.allSettled(results);
  for (const result of settled) if (result.status === 'rejected') expect(result.reason).toMatchObject(refused);
  return settled.filter(({ status }) => status === 'fulfilled').length;
}

describe('streams by links', () => {
  const addressOf = (number: number): string => `192.0.2.${number}`;

  it('have at most half of the places, also for one checkout: keys have the others', async () => {
    const { open } = service(8);
    expect(await taken(many.map((number) => open({ link: linkFrom(addressOf(number)) })))).toBe(4);
    expect(await taken(many.map((number) => open({ id: `chk_default_${number % 2}` })))).toBe(4);
  });

  it('of one checkout have at most a twentieth of the places, at least 10', async () => {
    for (const [limit, most] of [
      [1_000, 50],
      [100, 10],
    ]) {
      const { open } = service(limit);
      expect(await taken(many.map((number) => open({ link: linkFrom(addressOf(number)) })))).toBe(most);
      expect(await open({ id: 'chk_default_other', link: linkFrom(addressOf(1)) })).not.toBeNull();
    }
  });

  it('from one network have at most a fifth of the places, at least 50', async () => {
    const { open } = service(200);
    const from = (address: (number: number) => string, numbers = many) =>
      numbers.map((number) => open({ id: `chk_default_${number}`, link: linkFrom(address(number)) }));
    expect(await taken(from((number) => `2001:db8::${number}`))).toBe(50);
    expect(await taken(from(() => '2001:db8:0:1::1', many.slice(0, 20)))).toBe(20);
  });

  it('end after an hour, and a browser opens them again', async () => {
    const { open } = service(1);
    const stream = await open({ link: linkFrom(addressOf(1)) });
    idsOf(stream);
    await pass(3_599_000);
    expect(stream?.destroyed).toBe(false);
    await pass(1_000);
    expect(stream?.destroyed).toBe(true);
    expect(await open({ link: linkFrom(addressOf(1)), seen: 1 })).not.toBeNull();
  });

  it('end when the link expires', async () => {
    const { open } = service();
    const stream = await open({ link: { expires: Math.floor(Date.now() / 1_000) + 60, address: addressOf(1) } });
    idsOf(stream);
    await pass(58_000);
    expect(stream?.destroyed).toBe(false);
    await pass(2_000);
    expect(stream?.destroyed).toBe(true);
    expect(vi.getTimerCount()).toBe(0);
  });
});

describe('streams of one key', () => {
  const key = { name: 'till-7' } as Key;

  it('have at most half of the places, whatever their checkouts are', async () => {
    const { open } = service(8);
    expect(await taken(many.map((number) => open({ id: `chk_default_${number}`, key })))).toBe(4);
    expect(await open({ key: { name: 'other' } as Key })).not.toBeNull();
  });

  it('end with their next heartbeat when the key is not in force any more', async () => {
    const { open, keys } = service();
    const stream = await open({ key });
    stream?.resume();
    await pass(15_000);
    expect(stream?.readableEnded).toBe(false);
    keys.isInForce.mockReturnValue(false);
    await pass(15_000);
    expect(stream?.readableEnded).toBe(true);
  });
});

describe('streams of a session of the counter', () => {
  const till = { link: 'clnk_a', terminal: 'till-7', store: null, expires: 9_999_999_999 };

  it('have at most a tenth of the places together with those of the same link, at least 10', async () => {
    const { open } = service(110);
    expect(await taken(many.map((number) => open({ id: `chk_default_${number}`, till })))).toBe(11);
    expect(await open({ till: { ...till, link: 'clnk_b' } })).not.toBeNull();
  });

  it('end when its link ends', async () => {
    const { open, revoke } = service();
    const stream = await open({ till });
    idsOf(stream);
    await pass(120_000);
    expect(stream?.destroyed).toBe(false);
    for (const end of revoke) end();
    await pass(0);
    expect(stream?.destroyed).toBe(true);
    expect([vi.getTimerCount(), revoke.size]).toEqual([0, 0]);
  });

  it('end after an hour, like those of a link', async () => {
    const { open } = service();
    const stream = await open({ till });
    idsOf(stream);
    await pass(3_600_000);
    expect(stream?.destroyed).toBe(true);
  });
});

describe('a reader that reads nothing', () => {
  it('is disconnected after three heartbeats, and its place is free', async () => {
    const { open } = service(1);
    const destroy = vi.fn<() => void>();
    const socket = { bytesWritten: 2_000, writableLength: 1_500 };
    await open({ connection: { socket, writableLength: 1_500, destroy } });
    await pass(45_000);
    expect(destroy).not.toHaveBeenCalled();
    // What is added to what waits is no sign of a reader.
    Object.assign(socket, { bytesWritten: 3_000, writableLength: 2_500 });
    await pass(15_000);
    expect(destroy).toHaveBeenCalledTimes(1);
    expect(await open()).not.toBeNull();
  });

  it('is also disconnected when the stream has ended', async () => {
    const { open } = service(1);
    const destroy = vi.fn<() => void>();
    const socket = { bytesWritten: 2_000, writableLength: 1_500 };
    const link = { expires: Math.floor(Date.now() / 1_000) + 60, address: '192.0.2.1' };
    await open({ link, connection: { socket, writableLength: 1_500, destroy } });
    await pass(20_000);
    Object.assign(socket, { writableLength: 1_000 });
    await pass(100_000);
    expect(destroy).toHaveBeenCalledTimes(1);
    expect(await open()).not.toBeNull();
  });

  it('stays connected while it reads something between heartbeats', async () => {
    const { open } = service();
    const destroy = vi.fn<() => void>();
    const socket = { bytesWritten: 2_000, writableLength: 1_500 };
    await open({ connection: { socket, writableLength: 1_500, destroy } });
    for (let heartbeat = 0; heartbeat < 10; heartbeat += 1) {
      await pass(30_000);
      socket.writableLength -= 10;
    }
    expect(destroy).not.toHaveBeenCalled();
  });
});

describe('a process that stops', () => {
  it('ends every stream, and disconnects a reader that does not read the end', async () => {
    const { streams, open } = service();
    const reading = await open();
    idsOf(reading);
    const destroy = vi.fn<() => void>();
    await open({ connection: { ...NOWHERE, destroy } });
    streams.beforeApplicationShutdown();
    await pass(0);
    expect(reading?.destroyed).toBe(true);
    expect(destroy).not.toHaveBeenCalled();
    await pass(1_000);
    expect(destroy).toHaveBeenCalledTimes(1);
    const late = await open();
    idsOf(late);
    await pass(0);
    expect(late?.destroyed).toBe(true);
  });
});
