import { createHash, createHmac } from 'node:crypto';
import { apiSettings, startApi } from '@tillflow/api';
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import { EventReader } from '../support/event-reader.js';
import { rawRequest } from '../support/raw-request.js';
import { KEYS, SIGNING_KEY, Stack, type CheckoutJson, type ProblemJson } from '../support/stack.js';

const DAY_MS = 86_400_000;
const CUSTOMER_SEES = [
  'id',
  'status',
  'amount',
  'currency',
  'qr',
  'expires_at',
  'paid_at',
  'version',
  'created_at',
  'updated_at',
];

let stack: Stack;
const readers: EventReader[] = [];
beforeAll(async () => {
  stack = await Stack.start();
});
afterAll(() => stack.stop());
afterEach(() => {
  vi.useRealTimers();
  for (const reader of readers.splice(0)) reader.leave();
});

async function watch(url: string, headers?: Record<string, string>): Promise<EventReader> {
  const reader = await EventReader.open(url, headers);
  readers.push(reader);
  return reader;
}

const eventsOf = ({ events_url }: CheckoutJson): URL => new URL(events_url ?? '');
const imageOf = ({ qr }: CheckoutJson): URL => new URL(qr?.image_url ?? '');
const withKey = { authorization: `Bearer ${KEYS.checkout}` };

/** Only the clock: timers and sockets go on. */
const setClock = (ms: number): void => void vi.useFakeTimers({ toFake: ['Date'], now: ms });

async function statusOf(url: string | URL): Promise<number> {
  const abort = new AbortController();
  const { status } = await fetch(url, { signal: abort.signal });
  abort.abort();
  return status;
}

/** A 401 that says why, and does not repeat the signature. */
async function refusalOf(url: string | URL): Promise<ProblemJson> {
  const response = await fetch(url);
  const text = await response.text();
  expect(response.status).toBe(401);
  const signatures = new URL(url).searchParams.getAll('sig').filter((signature) => signature !== '');
  for (const signature of signatures) expect(text).not.toContain(signature);
  return JSON.parse(text) as ProblemJson;
}

function changed(url: URL, change: (query: URLSearchParams) => void): URL {
  const other = new URL(url);
  change(other.searchParams);
  return other;
}

describe('a stream', () => {
  it('by a link shows what the customer may see, and neither metadata nor attempts', async () => {
    const { body } = await stack.create({ description: 'Two coffees', metadata: { order: '142' } });
    const reader = await watch(body.events_url ?? '');
    const { event, checkout } = await reader.until(() => true);
    expect(event).toBe('checkout');
    expect(Object.keys(checkout).toSorted()).toEqual(CUSTOMER_SEES.toSorted());
    expect(checkout).toMatchObject({
      id: body.id,
      status: 'awaiting_payment',
      amount: 150_000,
      currency: 'THB',
      qr: body.qr,
      expires_at: body.attempts[0]?.expires_at,
      paid_at: null,
    });
  });

  it('with a key shows the checkout as GET answers it, even when the request also carries a link', async () => {
    const { body } = await stack.create({ metadata: { order: '142' } });
    for (const url of [`${stack.api.url}${body.location}/events`, body.events_url ?? '']) {
      const reader = await watch(url, withKey);
      expect((await reader.until(() => true)).checkout).toEqual(body);
    }
  });

  it('by a link ends when the link expires', async () => {
    const { body } = await stack.create();
    setClock(Number(eventsOf(body).searchParams.get('expires')) * 1_000 - 500);
    const reader = await watch(body.events_url ?? '');
    await reader.until(() => true);
    expect(await reader.ended).toBe('ended');
  });
});

describe('a checkout', () => {
  it('has a version that grows with each change, and that is the id of the event in its stream', async () => {
    const { body } = await stack.create();
    const reader = await watch(body.events_url ?? '');
    const first = await reader.until(() => true);
    expect(first.id).toBe(body.version);
    await stack.post(`${body.location}/cancel`);
    const cancelled = await stack.untilStatus(body.id, 'cancelled');
    expect(cancelled.version).toBeGreaterThan(body.version);
  });
});

describe('a signed link', () => {
  it('does not open when any part of it is changed', async () => {
    const { body } = await stack.create();
    const { body: other } = await stack.create();
    for (const url of [eventsOf(body), imageOf(body)]) {
      expect(await statusOf(url)).toBe(200);
      const [expires, signature] = [url.searchParams.get('expires') ?? '', url.searchParams.get('sig') ?? ''];
      const flipped = `${signature.startsWith('A') ? 'B' : 'A'}${signature.slice(1)}`;
      const elsewhere = new URL(url);
      elsewhere.pathname = url.pathname.replace(body.id, other.id);
      const onAnotherRoute = new URL(url);
      onAnotherRoute.pathname = url.pathname.replace(/\w+$/, (last) => (last === 'qr' ? 'events' : 'qr'));
      for (const wrong of [
        elsewhere,
        onAnotherRoute,
        changed(url, (query) => query.set('expires', String(Number(expires) + 1))),
        changed(url, (query) => query.set('expires', `0${expires}`)),
        changed(url, (query) => query.set('expires', `${expires}.0`)),
        changed(url, (query) => query.delete('expires')),
        changed(url, (query) => query.delete('sig')),
        changed(url, (query) => query.set('sig', flipped)),
        changed(url, (query) => query.set('sig', `${signature}x`)),
        changed(url, (query) => query.set('sig', '')),
        changed(url, (query) => query.append('sig', signature)),
        changed(url, (query) => query.append('expires', expires)),
        changed(url, (query) => query.append('id', other.id)),
        changed(url, (query) => query.append('__proto__', '1')),
      ]) {
        await refusalOf(wrong);
      }
    }
  });

  it('opens no other route of its checkout', async () => {
    const { body } = await stack.create();
    for (const { search } of [eventsOf(body), imageOf(body)]) {
      for (const path of ['', '/refunds', '/timeline', '/attempts', '/cancel']) {
        const method = ['/attempts', '/cancel'].includes(path) ? 'POST' : 'GET';
        const answer = await stack.request(method, `${body.location}${path}${search}`, { key: null });
        expect(answer.status).toBe(401);
      }
    }
  });

  it('opens no other checkout however its address is spelled, and does not reveal whether the other checkout exists', async () => {
    const { body: mine } = await stack.create();
    const { body: victim } = await stack.create();
    const answerTo = async (path: string): Promise<string> => {
      const { status, text } = await rawRequest(stack.api.url, path);
      expect([400, 401, 404]).toContain(status);
      // No link reaches the search for a checkout.
      expect(text).not.toContain('No checkout has this id');
      expect(text).not.toContain(eventsOf(mine).searchParams.get('sig'));
      return `${status} ${text.replace(/"request_id":"[^"]*"/, '')}`;
    };
    const upper = (id: string): string => id.toUpperCase();
    const spellings: ((id: string) => string)[] = [
      (id) => `${id}\\..\\${mine.id}`,
      (id) => `${id}%5c..%5c${mine.id}`,
      (id) => `${id}/../${mine.id}`,
      (id) => `${mine.id}/../${id}`,
      (id) => `${id}/%2e%2e/${mine.id}`,
      (id) => `${mine.id}/%2e%2e/${id}`,
      (id) => `${id}%2f..%2f${mine.id}`,
      (id) => `${mine.id}%2f..%2f${id}`,
      (id) => `/${id}`,
      (id) => `${id};${mine.id}`,
      (id) => `${id};`,
      (id) => `${id}%00`,
      (id) => `${id}%00${mine.id}`,
      (id) => `${id}%20`,
      (id) => `${id}%3F${mine.id}`,
      (id) => `${id}%23${mine.id}`,
      upper,
      (id) => id,
    ];
    for (const link of [eventsOf(mine), imageOf(mine)]) {
      const end = link.pathname.slice(link.pathname.lastIndexOf('/'));
      for (const spell of spellings) {
        for (const suffix of [end, `${end}/`, `/${end}`, `${end};x`, end.toUpperCase()]) {
          const [there, not] = await Promise.all(
            [victim.id, `${victim.id.slice(0, -1)}_`].map((id) =>
              answerTo(`/v1/checkouts/${spell(id)}${suffix}${link.search}`),
            ),
          );
          expect(not).toBe(there);
        }
      }
    }
  });

  it('expires one day after the time to pay, and the API then answers that it has expired', async () => {
    const { body } = await stack.create({ expires_in: 600 });
    const openUntil = Date.parse(body.attempts[0]?.expires_at ?? '');
    for (const url of [eventsOf(body), imageOf(body)]) {
      setClock(openUntil + DAY_MS - 1);
      expect([200, 404]).toContain(await statusOf(url));
      setClock(openUntil + DAY_MS + 1_000);
      expect((await refusalOf(url)).detail).toContain('expired');
      const forged = changed(url, (query) => query.set('sig', 'A'.repeat(43)));
      expect((await refusalOf(forged)).detail).not.toContain('expired');
    }
  });

  it('gets a later expiry with a new attempt, and is null once it would have expired', async () => {
    const { body } = await stack.create({ expires_in: 600 });
    const { body: renewed } = await stack.post(`${body.location}/attempts`, { after: 1 });
    const expiries = [body, renewed].map((checkout) => eventsOf(checkout).searchParams.get('expires'));
    const ends = [body.attempts[0], renewed.attempts[1]].map((attempt) => Date.parse(attempt?.expires_at ?? ''));
    expect(expiries).toEqual(ends.map((end) => String(Math.ceil(end / 1_000) + DAY_MS / 1_000)));
    setClock((ends[1] ?? 0) + DAY_MS + 1_000);
    expect((await stack.get(body.location)).body.events_url).toBeNull();
  });
});

describe('URL_SIGNING_KEY', () => {
  const pathOf = (url: string | null): string => new URL(url ?? '').pathname + new URL(url ?? '').search;
  const opens = (api: { url: string }, url: string | null): Promise<number> => statusOf(`${api.url}${pathOf(url)}`);

  async function withApi(key: string, run: (api: { url: string }) => Promise<void>): Promise<void> {
    const settings = apiSettings({ ...stack.apiEnvironment(), URL_SIGNING_KEY: key });
    const api = await startApi(settings, stack.logger);
    try {
      await run(api);
    } finally {
      await api.close();
    }
  }

  async function read<T>(api: { url: string }, path: string, key: string): Promise<T> {
    const response = await fetch(`${api.url}${path}`, { headers: { authorization: `Bearer ${key}` } });
    expect(response.status).toBe(200);
    return (await response.json()) as T;
  }

  it.each([[undefined], ['short'], [`${'k'.repeat(40)},short`]])(
    'must have at least 32 characters in each secret, and is refused as %s',
    (key) => {
      const { URL_SIGNING_KEY: _, ...others } = stack.apiEnvironment() as Record<string, string>;
      const environment = { ...others, ...(key === undefined ? {} : { URL_SIGNING_KEY: key }) };
      expect(() => apiSettings(environment)).toThrow('URL_SIGNING_KEY');
    },
  );

  it('makes the same link for the same state on every instance', async () => {
    const { body } = await stack.create();
    await withApi(SIGNING_KEY, async (other) => {
      const there = await read<CheckoutJson>(other, body.location, KEYS.checkout);
      expect(pathOf(there.events_url)).toBe(pathOf(body.events_url));
      expect(pathOf(there.qr?.image_url ?? null)).toBe(pathOf(body.qr?.image_url ?? null));
    });
  });

  it('can be rotated without ending a link, a cursor or a codec address', async () => {
    const { body } = await stack.create();
    await stack.create();
    const next = 'another secret of 32 characters!';
    const list = '/v1/checkouts?limit=1';
    const { next_cursor } = await read<{ next_cursor: string }>(stack.api, list, KEYS.ops);
    const { url: address } = await read<{ url: string }>(stack.api, '/v1/codec-address', KEYS.ops);
    const decode = (api: { url: string }): Promise<Response> =>
      fetch(`${api.url}${pathOf(address)}/decode`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: '{}',
      });
    await withApi(`${next}, ${SIGNING_KEY}`, async (api) => {
      expect(await opens(api, body.events_url)).toBe(200);
      expect((await decode(api)).status).toBe(200);
      await read(api, `${list}&cursor=${next_cursor}`, KEYS.ops);
      const renewed = await read<CheckoutJson>(api, body.location, KEYS.checkout);
      expect(renewed.events_url).not.toBe(body.events_url);
      expect(await opens(api, renewed.events_url)).toBe(200);
      expect(await opens(stack.api, renewed.events_url)).toBe(401);
    });
    await withApi(next, async (api) => {
      expect(await opens(api, body.events_url)).toBe(401);
      expect((await decode(api)).status).toBe(401);
      const headers = { authorization: `Bearer ${KEYS.ops}` };
      expect((await fetch(`${api.url}${list}&cursor=${next_cursor}`, { headers })).status).toBe(400);
    });
  });

  it('is the only secret that signs: a signature made with a hash of API_KEYS is refused', async () => {
    const { body } = await stack.create();
    const hashes = (stack.apiEnvironment()['API_KEYS'] ?? '').split(',').map((entry) => entry.split(':')[2] ?? '');
    for (const secret of [hashes.join(), ...hashes]) {
      const key = createHash('sha256').update(`tillflow signed links\n${secret}`).digest();
      const sign = (text: string): string => createHmac('sha256', key).update(text).digest('base64url');
      const until = Date.now() + 3_600_000;
      const forged = `${stack.api.url}/codec/${until}.${sign(`codec until ${until}`)}/decode`;
      const answer = await fetch(forged, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: '{}',
      });
      expect(answer.status).toBe(401);
      await refusalOf(`${stack.api.url}${body.location}/qr?sig=${sign(`${body.location}/qr`)}`);
    }
  });
});

describe('an address of the codec', () => {
  const decode = (path: string, body: string): Promise<Response> =>
    fetch(`${stack.api.url}${path}/decode`, { method: 'POST', headers: { 'content-type': 'application/json' }, body });

  async function address(): Promise<string> {
    const { body } = await stack.request<{ url: string }>('GET', '/v1/codec-address', { key: KEYS.ops });
    return new URL(body.url).pathname;
  }

  it('is refused when it would be valid for more than twelve hours', async () => {
    setClock(Date.now() + 3_600_000);
    const path = await address();
    expect((await decode(path, '{}')).status).toBe(200);
    vi.useRealTimers();
    expect((await decode(path, '{}')).status).toBe(401);
  });

  it.each([
    ['beside the payloads', (deep: string) => `{"payloads":[],"more":${deep}}`],
    ['in a payload', (deep: string) => `{"payloads":[{"more":${deep}}]}`],
    ['in place of a payload', (deep: string) => `{"payloads":[${deep}]}`],
    ['as metadata', (deep: string) => `{"payloads":[{"metadata":${deep}}]}`],
    ['as the body', (deep: string) => deep],
  ])('answers 400 to deep JSON %s', async (_, wrap) => {
    const path = await address();
    const depth = 30_000;
    for (const deep of [
      '['.repeat(depth) + ']'.repeat(depth),
      '{"a":'.repeat(depth / 2) + '1' + '}'.repeat(depth / 2),
    ]) {
      for (const answer of [
        await decode(path, wrap(deep)),
        await fetch(`${stack.api.url}/codec/decode`, {
          method: 'POST',
          headers: { 'content-type': 'application/json', authorization: `Bearer ${KEYS.ops}` },
          body: wrap(deep),
        }),
      ]) {
        expect(answer.status).toBe(400);
        expect(await answer.json()).toMatchObject({ code: 'invalid_request' });
      }
    }
  });
});
