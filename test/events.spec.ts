import { connect } from 'node:net';
import { afterAll, afterEach, beforeAll, describe, expect, inject, it } from 'vitest';
import { CutLine } from '@tillflow/tools';
import { EventReader } from './support/event-reader.js';
import { chargeIdOf, KEYS, Stack, type CheckoutJson, type ProblemJson } from './support/stack.js';

const ORIGIN = 'https://till.example';

let stack: Stack;
const readers: EventReader[] = [];
beforeAll(async () => {
  // The polls of a stream are too far apart to help: only a notification shows a change.
  stack = await Stack.start({ api: { STREAM_POLL_MS: '60000', CORS_ORIGINS: `https://other.example, ${ORIGIN}` } });
});
afterAll(() => stack.stop());
afterEach(() => {
  for (const reader of readers.splice(0)) reader.leave();
});

async function open(
  checkout: Pick<CheckoutJson, 'events_url'>,
  headers?: Record<string, string>,
): Promise<EventReader> {
  const reader = await EventReader.open(checkout.events_url ?? '', headers);
  readers.push(reader);
  return reader;
}

/** A reader with a key, which sees all of the checkout. */
async function openWithKey(checkout: CheckoutJson): Promise<EventReader> {
  const reader = await EventReader.open(pathOf(checkout), withKey);
  readers.push(reader);
  return reader;
}

/** The part of the checkout that a link shows too. */
const inCommon = (seen: CheckoutJson): object =>
  Object.fromEntries(Object.entries(seen).filter(([name]) => name !== 'expires_at'));

const withKey = { authorization: `Bearer ${KEYS.checkout}` };
const pathOf = ({ id }: { id: string }): string => `${stack.api.url}/v1/checkouts/${id}/events`;

const end = (checkout: CheckoutJson): Promise<unknown> =>
  stack.temporal.client.workflow.getHandle(`checkout/default/${checkout.reference}`).terminate('as its end');

describe('the events of a checkout', () => {
  it('begin with its present state and continue with each change, without a key', async () => {
    const { body } = await stack.create();
    const reader = await open(body);
    expect(reader.response.status).toBe(200);
    expect(reader.response.headers.get('content-type')).toBe('text/event-stream; charset=utf-8');
    expect(reader.response.headers.get('cache-control')).toBe('no-store');
    const first = await reader.until(() => true);
    expect(first.event).toBe('checkout');
    expect(body).toMatchObject(inCommon(first.checkout));
    expect(first.id).toBeGreaterThan(0);
    stack.sandbox.mark(chargeIdOf(body), { status: 'successful' });
    const { checkout } = await reader.until(({ status }) => status === 'paid');
    expect((await stack.get(`/v1/checkouts/${body.id}`)).body).toMatchObject(inCommon(checkout));
    const ids = reader.events.map(({ id }) => id);
    expect(ids).toEqual([...new Set(ids)].toSorted((a, b) => a - b));
  });

  it('show at once a change that a request made through the same process', async () => {
    const { body } = await stack.create();
    const reader = await openWithKey(body);
    await reader.until(() => true);
    await stack.post(`/v1/checkouts/${body.id}/attempts`, { after: 1 });
    await reader.until(({ attempts, qr }) => attempts.length === 2 && qr !== null);
    await stack.post(`/v1/checkouts/${body.id}/cancel`);
    const { checkout } = await reader.until(({ status }) => status === 'cancelled');
    expect((await stack.get(`/v1/checkouts/${body.id}`)).body).toEqual(checkout);
  });

  it('reach every reader', async () => {
    const body = await stack.open();
    const watching = await Promise.all(Array.from({ length: 20 }, () => open(body)));
    stack.sandbox.mark(chargeIdOf(body), { status: 'successful' });
    const seen = await Promise.all(watching.map((reader) => reader.until(({ status }) => status === 'paid')));
    expect(new Set(seen.map(({ id }) => id)).size).toBe(1);
  });

  it('are not repeated to a reader that sends their id as Last-Event-ID', async () => {
    const body = await stack.open();
    const before = await open(body);
    const { id } = await before.until(() => true);
    before.leave();
    const silent = await open(body, { 'last-event-id': String(id) });
    const newer = await open(body, { 'last-event-id': String(id + 1_000) });
    const older = await open(body, { 'last-event-id': '0' });
    await older.until(({ status }) => status === 'awaiting_payment');
    stack.sandbox.mark(chargeIdOf(body), { status: 'successful' });
    for (const reader of [silent, newer]) {
      await reader.until(({ status }) => status === 'paid');
      expect(reader.statuses).not.toContain('awaiting_payment');
    }
  });

  it('open with a key, and not without one when the link is missing, forged or for something else', async () => {
    const { body } = await stack.create();
    const other = await stack.create();
    await (await openWithKey(body)).until(() => true);
    const signature = new URL(body.events_url ?? '').search;
    const image = new URL(body.qr?.image_url ?? '').search;
    for (const url of [
      pathOf(body),
      `${pathOf(body)}${signature}x`,
      `${pathOf(body)}${image}`,
      `${pathOf(other.body)}${signature}`,
    ]) {
      const refused = await fetch(url);
      expect(refused.status).toBe(401);
      expect(refused.headers.get('content-type')).toContain('application/problem+json');
    }
  });

  it('are refused with 404 for a checkout that does not exist', async () => {
    for (const method of ['GET', 'HEAD']) {
      const refused = await fetch(pathOf({ id: 'chk_default_nothing' }), { method, headers: withKey });
      expect(refused.status).toBe(404);
      await refused.text();
    }
    const { body } = await stack.create();
    const head = await fetch(body.events_url ?? '', { method: 'HEAD' });
    expect(head.status).toBe(200);
    expect(head.headers.get('content-type')).toContain('text/event-stream');
    expect(await head.text()).toBe('');
  });

  it.each(['x', '-1', '1.5', '1e3', '9'.repeat(16)])('are refused with the invalid Last-Event-ID %s', async (id) => {
    const { body } = await stack.create();
    const refused = await fetch(body.events_url ?? '', { headers: { 'last-event-id': id } });
    expect(refused.status).toBe(400);
    expect(((await refused.json()) as ProblemJson).errors).toMatchObject([{ path: 'Last-Event-ID' }]);
  });

  it('end when the checkout closes, and a page that reconnects gets 204', async () => {
    const watched = await Stack.start({ api: { STREAM_POLL_MS: '50' } });
    try {
      const { body } = await watched.create();
      const reader = await open(body);
      const { id } = await reader.until(() => true);
      await watched.temporal.client.workflow.getHandle(`checkout/default/${body.reference}`).terminate('as its end');
      expect(await reader.ended).toBe('ended');
      const back = await fetch(body.events_url ?? '', { headers: { 'last-event-id': String(id) } });
      expect(back.status).toBe(204);
      expect(await back.text()).toBe('');
    } finally {
      await watched.stop();
    }
  });

  it('no longer open by a link once the checkout has closed; with a key they show the last state once', async () => {
    const { body } = await stack.create();
    await end(body);
    expect((await stack.get(`/v1/checkouts/${body.id}`)).body.events_url).toBeNull();
    expect((await fetch(body.events_url ?? '')).status).toBe(204);
    const reader = await EventReader.open(pathOf(body), withKey);
    expect(await reader.ended).toBe('ended');
    expect(reader.events).toMatchObject([{ checkout: { id: body.id, events_url: null } }]);
    const headers = { ...withKey, 'last-event-id': String(reader.events[0]?.id) };
    expect((await fetch(pathOf(body), { headers })).status).toBe(204);
  });
});

describe('an event stream without webhooks', () => {
  it('shows a change by polling, and sends heartbeats', async () => {
    const polling = await Stack.start({
      webhookUrl: null,
      api: { STREAM_POLL_MS: '50', STREAM_HEARTBEAT_MS: '50', POLL_INTERVAL_MS: '200' },
    });
    try {
      const body = await polling.open();
      const reader = await open(body);
      await expect.poll(() => reader.comments).toBeGreaterThan(2);
      polling.sandbox.mark(chargeIdOf(body), { status: 'successful' });
      await reader.until(({ status }) => status === 'paid');
    } finally {
      await polling.stop();
    }
  });
});

describe('an event stream', () => {
  it('stays open while Temporal cannot be reached, and continues afterwards', async () => {
    const line = await CutLine.to(inject('temporalAddress'));
    const cut = await Stack.start({
      api: { TEMPORAL_ADDRESS: line.address, STREAM_POLL_MS: '50', STREAM_HEARTBEAT_MS: '50' },
    });
    try {
      const body = await cut.open();
      const reader = await open(body);
      await reader.until(() => true);
      line.cut();
      await expect.poll(async () => (await cut.get('/health/ready')).status).toBe(503);
      const heard = reader.comments;
      await expect.poll(() => reader.comments).toBeGreaterThan(heard + 3);
      line.mend();
      cut.sandbox.mark(chargeIdOf(body), { status: 'successful' });
      await reader.until(({ status }) => status === 'paid', 40_000);
    } finally {
      await cut.stop();
      line.close();
    }
  });
});

describe('an API process that stops', () => {
  it('ends all streams, also one whose reader reads nothing, and does not wait for idle connections', async () => {
    const stopping = await Stack.start();
    const { body } = await stopping.create();
    const reader = await open(body);
    await reader.until(() => true);
    const { hostname, port, pathname, search } = new URL(body.events_url ?? '');
    const deaf = connect(Number(port), hostname);
    deaf.pause();
    await new Promise((resolve) => deaf.write(`GET ${pathname}${search} HTTP/1.1\r\nHost: a\r\n\r\n`, resolve));
    // As browsers do, in advance.
    const unused = connect(Number(port), hostname);
    await new Promise((resolve) => unused.once('connect', resolve));
    await stopping.stop();
    expect(await reader.ended).toBe('ended');
    deaf.destroy();
    unused.destroy();
  });
});

describe('more streams than a process holds', () => {
  it('are refused with 503, and accepted again when a reader has left', async () => {
    const small = await Stack.start({ worker: true, api: { STREAM_LIMIT: '4' } });
    try {
      const { body } = await small.create();
      const other = await small.create();
      const third = await small.create();
      const first = await open(body);
      await open(other.body);
      const refused = await fetch(third.body.events_url ?? '');
      expect(refused.status).toBe(503);
      expect(refused.headers.get('retry-after')).toBe('5');
      expect(await refused.json()).toMatchObject({ code: 'too_many_streams' });
      first.leave();
      await expect.poll(async () => (await open(third.body)).response.status).toBe(200);
    } finally {
      await small.stop();
    }
  });
});

describe('a page of another origin', () => {
  it('may read streams and QR images when its origin is in the settings, and nothing else', async () => {
    const { body } = await stack.create();
    const allowedFor = async (url: string, origin: string): Promise<string | null> => {
      const abort = new AbortController();
      const { headers } = await fetch(url, { headers: { ...withKey, origin }, signal: abort.signal });
      abort.abort();
      return headers.get('access-control-allow-origin');
    };
    for (const url of [body.events_url ?? '', body.qr?.image_url ?? '', pathOf({ id: 'chk_default_nothing' })]) {
      expect(await allowedFor(url, ORIGIN)).toBe(ORIGIN);
      expect(await allowedFor(url, 'https://evil.example')).toBeNull();
      expect(await allowedFor(url, 'null')).toBeNull();
    }
    for (const path of ['/v1/checkouts', `/v1/checkouts/${body.id}`, `/v1/checkouts/${body.id}/refunds`]) {
      expect(await allowedFor(`${stack.api.url}${path}`, ORIGIN)).toBeNull();
    }
  });

  it('may read nothing unless its origin is in the settings', async () => {
    const closed = await Stack.start({ worker: false, webhookUrl: null });
    try {
      const url = `${closed.api.url}/v1/checkouts/chk_default_nothing/events`;
      const { headers } = await fetch(url, { headers: { ...withKey, origin: ORIGIN } });
      expect(headers.get('access-control-allow-origin')).toBeNull();
    } finally {
      await closed.stop();
    }
  });
});
