import { documents } from '@tillflow/api';
import { CounterLinks } from '@tillflow/temporal';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { EventReader } from './support/event-reader.js';
import { KEYS, newReference, Stack, type Answer, type CheckoutJson, type ProblemJson } from './support/stack.js';
import { operatorOf, tillflow } from './support/tillflow.js';

type LinkJson = { id: string; url: string; terminal: string; expires_at: string };
type SessionJson = { session: string; terminal: string; now: string; expires_at: string };
type Page = { data: CheckoutJson[] };

const STORE = { id: 'silom', name: 'Silom Road' };
const SALE = { amount: 150_000, currency: 'THB' };

let stack: Stack;
let till: string;
let ownLink: LinkJson;
let session: string;
let own: CheckoutJson;
let other: CheckoutJson;
beforeAll(async () => {
  stack = await Stack.start({ api: { SHOP_NAME: 'Coffee and more' } });
  till = `till-${newReference().slice(-12)}`;
  ownLink = await createLink({ terminal: till, store: STORE });
  session = (await exchange(ownLink)).body.session;
  own = (await withSession('POST', '/v1/checkouts', { reference: newReference(), ...SALE })).body;
  other = (await stack.begin({ terminal: till, store: { id: 'sathorn' } })).body;
});
afterAll(() => stack.stop());

async function createLink(till: object): Promise<LinkJson> {
  const { status, body } = await stack.post<LinkJson>('/v1/counter-links', till);
  expect(status).toBe(201);
  return body;
}

const exchange = <T = SessionJson>({ url }: Pick<LinkJson, 'url'>): Promise<Answer<T>> =>
  stack.request<T>('POST', '/v1/counter-sessions', { key: null, body: { token: new URL(url).hash.slice(1) } });

const withSession = <T = CheckoutJson>(method: string, path: string, body?: unknown): Promise<Answer<T>> =>
  stack.request<T>(method, path, { key: session, body });

describe('a link to the counter', () => {
  it('opens a session of its till, which says the time of the API', async () => {
    const link = await createLink({ terminal: till, store: STORE, expires_in: 3_600 });
    expect(new URL(link.url)).toMatchObject({ pathname: '/counter', search: '' });
    const before = Date.now();
    const { status, body } = await exchange(link);
    expect(status).toBe(201);
    expect(body).toMatchObject({ terminal: till, store: STORE, shop: 'Coffee and more', expires_at: link.expires_at });
    expect(Date.parse(body.now) - before).toBeLessThan(60_000);
    const again = await stack.request<SessionJson>('GET', '/v1/counter-session', { key: body.session });
    expect([again.status, again.body.terminal]).toEqual([200, till]);
  });

  it.each([
    ['that the API did not sign', (token: string) => `${token.slice(0, -2)}AA`],
    [
      'of another till',
      (token: string) => token.replace(/^[^.]*/, Buffer.from('["clnk_a","t",null,null,9e9]').toString('base64url')),
    ],
    ['that is no token', () => 'W10'],
    ['whose content is no JSON', () => 'A.A'],
  ])('%s opens no session', async (_, changed) => {
    const { url } = await createLink({ terminal: till });
    const token = changed(new URL(url).hash.slice(1));
    const answer = await stack.request<ProblemJson>('POST', '/v1/counter-sessions', { key: null, body: { token } });
    expect([answer.status, answer.body.code]).toEqual([401, 'unauthorized']);
  });

  it('is no session itself, and a session is no link', async () => {
    const link = await createLink({ terminal: till });
    const key = new URL(link.url).hash.slice(1);
    for (const token of [key, `tills_${key}`]) {
      expect((await stack.request('GET', '/v1/counter-session', { key: token })).status).toBe(401);
    }
    const reused = { url: `http://x/#${session.replace('tills_', '')}` };
    expect((await exchange(reused)).status).toBe(401);
  });

  const links = () => new CounterLinks(stack.temporal, { taskQueue: stack.taskQueue, readWithinMs: 5_000 });

  it.each([
    ['by the API', async (id: string) => (await stack.request('DELETE', `/v1/counter-links/${id}`)).status === 204],
    ['elsewhere', (id: string) => links().revoke(id, 'cli:somchai')],
  ])('that was revoked %s ends its sessions, with their streams and waits, and opens no other', async (_, revoke) => {
    const link = await createLink({ terminal: till, store: STORE });
    const { session: key } = (await exchange(link)).body;
    const sale = `/v1/checkouts/${own.id}`;
    const wait = stack.request<ProblemJson>('GET', `${sale}?wait=25`, { key });
    const stream = await EventReader.open(`${stack.api.url}${sale}/events`, { authorization: `Bearer ${key}` });
    await stream.until(({ id }) => id === own.id);
    expect(await revoke(link.id)).toBe(true);
    expect(await stream.ended).toBe('ended');
    expect(await wait).toMatchObject({ status: 401, body: { code: 'unauthorized' } });
    for (const path of ['/v1/counter-session', `/v1/checkouts/${own.id}`, '/v1/availability']) {
      const answer = await stack.request<ProblemJson>('GET', path, { key });
      expect([path, answer.status, answer.body.code]).toEqual([path, 401, 'unauthorized']);
    }
    expect((await exchange(link)).status).toBe(401);
    expect((await stack.request('DELETE', `/v1/counter-links/${link.id}`)).status).toBe(404);
  });

  it('is listed for operators until it is revoked, on the command line too', async () => {
    const list = async () =>
      (await stack.request<{ data: { id: string; url?: string }[] }>('GET', '/v1/counter-links', { key: KEYS.ops }))
        .body;
    const link = await createLink({ terminal: till });
    await expect.poll(async () => (await list()).data.map(({ id }) => id)).toContain(link.id);
    expect(JSON.stringify(await list())).not.toContain(new URL(link.url).hash.slice(1));
    const operator = operatorOf(stack);
    expect(await tillflow(['counter-link'], operator)).toMatchObject({
      err: '',
      out: expect.stringContaining(link.id) as string,
    });
    expect((await tillflow(['counter-link', '--revoke', link.id], operator)).code).toBe(0);
    await expect.poll(async () => (await list()).data.map(({ id }) => id)).not.toContain(link.id);
    expect((await tillflow(['counter-link', '--revoke', link.id], operator)).code).toBe(1);
    const { out } = await tillflow(['counter-link', '--terminal', till, '--store', 'silom', '--json'], operator);
    const made = JSON.parse(out) as LinkJson;
    expect((await exchange(made)).body).toMatchObject({ terminal: till, store: { id: 'silom', name: null } });
  });

  it('and its sessions end when it expires', async () => {
    const link = await createLink({ terminal: till, expires_in: 60 });
    const key = (await exchange(link)).body.session;
    // The clock of this process is the API's.
    const now = Date.now;
    try {
      Date.now = () => now() + 61_000;
      const { status, body } = await stack.request<ProblemJson>('GET', '/v1/counter-session', { key });
      expect([status, body.code]).toEqual([401, 'unauthorized']);
      expect((await exchange(link)).status).toBe(401);
    } finally {
      Date.now = now;
    }
    expect(await links().isOpen(link.id)).toBe(true);
    expect((await stack.request('GET', '/v1/counter-session', { key })).status).toBe(200);
  });

  it.each([
    {},
    { terminal: '' },
    { terminal: 't', expires_in: 59 },
    { terminal: 't', store: { id: 'a b' } },
    { terminal: 't', role: 'ops' },
  ])('is not created with %j', async (body) => {
    expect((await stack.post<ProblemJson>('/v1/counter-links', body)).body.code).toBe('invalid_request');
  });
});

describe('a session of the counter', () => {
  /** Everything that a session may call besides what is open to everyone. */
  const PERMITTED = new Set([
    'GET /v1/availability',
    'GET /v1/checkouts',
    'POST /v1/checkouts',
    'GET /v1/checkouts/{id}',
    'POST /v1/checkouts/{id}/attempts',
    'POST /v1/checkouts/{id}/cancel',
    'GET /v1/checkouts/{id}/events',
    'GET /v1/checkouts/{id}/qr',
    'GET /v1/checkouts/{id}/receipt',
    'GET /v1/counter-session',
    'GET /v1/counter-session/today',
  ]);
  const { paths } = JSON.parse(documents().get('openapi.json') ?? '{}') as {
    paths: Record<string, Record<string, { security: readonly unknown[] }>>;
  };
  const routes = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, { security }]) => ({
      route: `${method.toUpperCase()} ${path}`,
      method: method.toUpperCase(),
      path,
      isOpen: security.length === 0,
    })),
  );
  const closed = routes.filter(({ route, isOpen }) => !isOpen && !PERMITTED.has(route));

  it('is permitted only what exists', () => {
    const known = new Set(routes.map(({ route }) => route));
    expect([...PERMITTED].filter((route) => !known.has(route))).toEqual([]);
    expect(closed.length).toBeGreaterThan(30);
  });

  it.each(closed)('is not allowed to call $route', async ({ method, path }) => {
    const answer = await withSession<ProblemJson>(method, path.replace('{id}', own.id).replaceAll(/\{\w+\}/g, 'x'));
    expect([answer.status, answer.body.code]).toEqual([403, 'forbidden']);
  });

  const withId = [...PERMITTED].filter((route) => route.includes('{id}'));
  it.each(withId)('finds no checkout of another till: %s', async (route) => {
    const [method = '', path = ''] = route.split(' ');
    for (const { id } of [other, { id: `chk_default_${newReference()}` }]) {
      const answer = await withSession<ProblemJson>(method, path.replace('{id}', id));
      expect([answer.status, answer.body.code]).toEqual([404, 'not_found']);
    }
  });

  it('sells at its own till and in its own store', async () => {
    expect(own).toMatchObject({ terminal: till, store: STORE, status: 'awaiting_payment' });
    const { body } = await withSession<{ detail: string }>('POST', `/v1/checkouts/${own.id}/cancel`);
    expect(body).toMatchObject({ status: 'cancelled' });
    const timeline = await stack.timeline(own.id);
    expect(timeline.map(({ by }) => by)).toContain(`counter:${ownLink.id}:${till}`);
  });

  it.each([{ terminal: 'another' }, { store: STORE }, { source: 'src_test_1' }])(
    'does not choose %j itself',
    async (fields) => {
      const body = { reference: newReference(), ...SALE, ...fields };
      const answer = await withSession<ProblemJson>('POST', '/v1/checkouts', body);
      expect([answer.status, answer.body.code]).toEqual([403, 'forbidden']);
      expect((await stack.get(`/v1/checkouts/chk_default_${body.reference}`)).status).toBe(404);
    },
  );

  it('does not get the checkout of another till by its reference, whatever the amount', async () => {
    for (const amount of [SALE.amount, SALE.amount + 1]) {
      const sale = { reference: other.reference, amount, currency: 'THB' };
      const answer = await withSession<ProblemJson>('POST', '/v1/checkouts', sale);
      expect([answer.status, answer.body.code]).toEqual([409, 'reference_conflict']);
      expect(JSON.stringify(answer.body)).not.toMatch(/1,500|sathorn/);
    }
  });

  it('lists only its own sales, whatever it asks for', async () => {
    for (const query of ['', '?terminal=another', '?store=sathorn', `?reference=${other.reference}`]) {
      await expect
        .poll(async () => (await withSession<Page>('GET', `/v1/checkouts${query}`)).body.data.map(({ id }) => id))
        .toEqual(query.includes('reference') ? [] : [own.id]);
    }
  });

  it('of a till without a store has its sales and its totals, beside tills of stores that have its name', async () => {
    const terminal = newReference().padEnd(64, '.');
    const bare = await createLink({ terminal });
    const { session: key } = (await exchange(bare)).body;
    const body = { reference: newReference(), ...SALE };
    const { body: sale } = await stack.request('POST', '/v1/checkouts', { key, body });
    const [opened] = await stack.timeline(sale.id);
    expect(opened?.by).toBe(`counter:${bare.id}:${terminal}`.slice(0, 80));
    for (let more = 0; more < 3; more += 1) await stack.begin({ terminal, store: STORE });
    const all = async () => (await stack.get<Page>(`/v1/checkouts?terminal=${terminal}`)).body.data;
    await expect.poll(async () => (await all()).length).toBe(4);
    const page = await stack.request<Page>('GET', '/v1/checkouts?limit=2', { key });
    expect(page.body.data.map(({ id }) => id)).toEqual([sale.id]);
    for (const { attempts } of await all()) {
      stack.sandbox.mark(attempts[0]?.charge_id ?? '', { status: 'successful' });
    }
    const today = async () =>
      (await stack.request<{ totals: object[] }>('GET', '/v1/counter-session/today', { key })).body.totals;
    const sales = { currency: 'THB', sales: { count: 1, amount: 150_000 }, refunds: { count: 0, amount: 0 } };
    await expect.poll(today).toEqual([sales]);
  });

  it('watches a payment, shows its receipt and the totals of the day, and the customer opens the receipt without a key', async () => {
    const { body: sale } = await withSession('POST', '/v1/checkouts', { reference: newReference(), ...SALE });
    expect(sale.receipt_url).toBeNull();
    const stream = await EventReader.open(`${stack.api.url}/v1/checkouts/${sale.id}/events`, {
      authorization: `Bearer ${session}`,
    });
    stack.sandbox.mark(stack.chargesOf(sale.id)[0]?.id ?? '', { status: 'successful' });
    const paid = await stream.until(({ status }) => status === 'paid');
    stream.leave();
    const { receipt_url: url } = paid.checkout;
    const page = await fetch(url ?? '', { headers: { accept: 'text/html,*/*;q=0.8', 'accept-language': 'th' } });
    expect([page.status, page.headers.get('content-type')]).toEqual([200, 'text/html; charset=utf-8']);
    expect(await page.text()).toContain(sale.reference);
    expect((await fetch(`${url}&refund=x`)).status).toBe(401);
    expect((await withSession('GET', `/v1/checkouts/${sale.id}/receipt`)).status).toBe(200);
    const today = async () => (await withSession<{ totals: object[] }>('GET', '/v1/counter-session/today')).body.totals;
    const sales = { currency: 'THB', sales: { count: 1, amount: 150_000 }, refunds: { count: 0, amount: 0 } };
    await expect.poll(today).toEqual([sales]);
  });

  it('makes at most as many requests as its link may', async () => {
    await stack.withApi({ OPEN_RATE_LIMIT: '5' }, async () => {
      const answers = await Promise.all(Array.from({ length: 30 }, () => withSession('GET', '/v1/counter-session')));
      expect(answers.map(({ status }) => status)).toContain(429);
    });
  });
});
