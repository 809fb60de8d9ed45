import { describe, expect, it } from 'vitest';
import type { ChargeJson, RequestRecord, SandboxState } from '../index.js';
import { NEW_CHARGE, openReceiver, openSandbox, type Bench } from '../../test/harness.js';

const AT = '2026-03-10T09:00:00.000Z';
const open = (): Promise<Bench> => openSandbox({ seed: 's', now: AT, frozen: true });
const createCharge = async ({ call }: Bench): Promise<ChargeJson> =>
  (await call<ChargeJson>('POST', '/charges', { form: NEW_CHARGE })).body;

describe('the state', () => {
  it('shows all records, and every request with its route, key, form and status', async () => {
    const bench = await open();
    const charge = await createCharge(bench);
    await bench.call('GET', `/charges/${charge.id}?x=1`, { key: 'wrong' });
    bench.sandbox.mark(charge.id, { status: 'successful' });
    await bench.call('POST', `/charges/${charge.id}/refunds`, { form: { amount: 1 } });
    const { status, body } = await bench.control<SandboxState>('GET', '/state');
    expect(status).toBe(200);
    expect(body).toEqual(JSON.parse(JSON.stringify(bench.sandbox.state())));
    expect(body).toMatchObject({ now: AT, frozen: true, seed: 's', requests_forgotten: 0, faults: [], deliveries: [] });
    const { sources, charges, refunds, events, transactions } = body;
    expect([sources, charges, refunds, events, transactions].map(({ length }) => length)).toEqual([1, 1, 1, 3, 2]);
    expect(body.requests).toEqual([
      {
        id: expect.stringMatching(/^req_/),
        at: AT,
        method: 'POST',
        route: '/charges',
        path: '/charges',
        query: '',
        key: 'secret',
        status: 200,
        fault: null,
        fault_id: null,
        form: { amount: '150000', currency: 'THB', source: { type: 'wallet_mpm' } },
      },
      expect.objectContaining({
        method: 'GET',
        route: '/charges/{id}',
        path: `/charges/${charge.id}`,
        query: 'x=1',
        key: 'wrong',
        status: 401,
      }),
      expect.objectContaining({ route: '/charges/{id}/refunds', form: { amount: '1' } }),
    ]);
    expect(JSON.stringify(body)).not.toContain(bench.sandbox.keys.secret);
  });

  it('shows only the requested sections', async () => {
    const bench = await open();
    const { body } = await bench.control<SandboxState>('GET', '/state?only=charges,refunds');
    expect(Object.keys(body)).toEqual(['seed', 'now', 'frozen', 'requests_forgotten', 'charges', 'refunds']);
    expect((await bench.control('GET', '/state?only=secrets')).status).toBe(400);
  });

  it('shows a bounded number of requests and counts the dropped ones', async () => {
    const bench = await openSandbox({ assumptions: { rememberedRequests: 10 } });
    for (let i = 0; i < 25; i += 1) await bench.call('GET', '/account');
    const { requests, requests_forgotten } = bench.sandbox.state();
    expect(requests.length + requests_forgotten).toBe(25);
    expect(requests.length).toBeLessThanOrEqual(10);
    expect(requests.length).toBeGreaterThanOrEqual(5);
  });
});

describe('the streamed state', () => {
  it('is that of the moment of the request, however slowly the caller reads', async () => {
    const bench = await open();
    // More than what the buffers on the way hold.
    const form = { ...NEW_CHARGE, description: 'x'.repeat(40_000) };
    for (let i = 0; i < 400; i += 1) await bench.call('POST', '/charges', { form });
    const wanted = bench.sandbox.state(['charges', 'events']);
    const response = await fetch(`${bench.url}/__sandbox/state?only=charges,events`);
    const reader = response.body?.getReader();
    const chunks: Uint8Array[] = [];
    for (let read = await reader?.read(); read?.value !== undefined; read = await reader?.read()) {
      chunks.push(read.value);
      if (chunks.length > 1) continue;
      // The reader stops while the world goes on.
      for (const { id } of wanted.charges ?? []) bench.sandbox.mark(id, { status: 'successful' });
      await createCharge(bench);
    }
    expect(JSON.parse(Buffer.concat(chunks).toString())).toEqual(wanted);
  });

  it('has every section', async () => {
    const bench = await open();
    bench.sandbox.seedRecords({
      cards: [{}],
      disputes: [{ documents: [{ file: btoa('%PDF-') }] }],
      schedules: [{}],
      receipts: [{}],
    });
    await createCharge(bench);
    const { body } = await bench.control<SandboxState>('GET', '/state');
    expect(body).toEqual(JSON.parse(JSON.stringify(bench.sandbox.state())));
    for (const section of [
      'customers',
      'cards',
      'disputes',
      'documents',
      'schedules',
      'occurrences',
      'receipts',
    ] as const) {
      expect(body[section]).toHaveLength(1);
    }
  });
});

describe('a reset', () => {
  it('deletes everything: records, faults, webhook settings, requests, and resets the clock', async () => {
    const bench = await open();
    const receiver = await openReceiver();
    await createCharge(bench);
    bench.sandbox.faults.add({ action: 'hang', path: '/nowhere' });
    bench.sandbox.webhooks.configure({ url: receiver.url, secret: 'c2VjcmV0', drop: 1 });
    bench.sandbox.advance(1_000);
    expect((await bench.control('POST', '/reset')).body).toEqual({ seed: 's', now: AT, frozen: true });
    expect(bench.sandbox.state()).toMatchObject({
      now: AT,
      sources: [],
      charges: [],
      refunds: [],
      events: [],
      transactions: [],
      deliveries: [],
      requests: [],
      faults: [],
      account: { webhook_uri: null },
    });
    expect((await bench.control('GET', '/webhooks')).body).toMatchObject({ url: null, drop: 0 });
  });

  it('without a seed never repeats an id, with a seed starts the ids again', async () => {
    const bench = await open();
    const first = (await createCharge(bench)).id;
    await bench.control('POST', '/reset', {});
    const second = (await createCharge(bench)).id;
    expect(second).not.toBe(first);
    for (const seed of ['s', 's', 7, 7]) {
      expect((await bench.control('POST', '/reset', { seed })).body).toMatchObject({ seed: String(seed) });
      expect((await createCharge(bench)).id === first).toBe(seed === 's');
    }
  });

  it('cancels the expiry of earlier charges', async () => {
    const bench = await open();
    await createCharge(bench);
    bench.sandbox.reset();
    bench.sandbox.advance(48 * 3_600);
    expect(bench.sandbox.state().events).toEqual([]);
  });
});

describe('marking', () => {
  it('a charge as successful or failed settles it', async () => {
    const bench = await open();
    const [one, two, three] = [await createCharge(bench), await createCharge(bench), await createCharge(bench)];
    const mark = async (id: string, body: unknown) =>
      (await bench.control<ChargeJson>('POST', `/charges/${id}/mark`, body)).body;
    expect(await mark(one.id, { status: 'successful' })).toMatchObject({
      id: one.id,
      status: 'successful',
      paid: true,
    });
    expect(await mark(two.id, { status: 'failed', failure_code: 'insufficient_fund' })).toMatchObject({
      status: 'failed',
      failure_code: 'insufficient_fund',
    });
    expect(await mark(three.id, { status: 'failed' })).toMatchObject({ failure_code: 'payment_rejected' });
  });

  it.each([
    ['nothing', undefined],
    ['no JSON', '{'],
    ['a list', []],
    ['another status', { status: 'expired' }],
    ['no status', { failure_code: 'payment_rejected' }],
    ['an unknown failure code', { status: 'failed', failure_code: 'bad_luck' }],
    ['a failure code for a success', { status: 'successful', failure_code: 'payment_rejected' }],
    ['another field', { status: 'successful', amount: 1 }],
  ])('with %s is refused and changes nothing', async (_case, body) => {
    const bench = await open();
    const { id } = await createCharge(bench);
    const reply = await bench.control('POST', `/charges/${id}/mark`, body);
    expect(reply).toMatchObject({ status: 400, body: { object: 'error', code: 'bad_request' } });
    expect(reply.body.message).not.toBe('');
    expect(bench.sandbox.state().charges[0]?.status).toBe('pending');
  });

  it('an unknown charge is not found, one no longer pending is refused unless forced', async () => {
    const bench = await open();
    expect((await bench.control('POST', '/charges/x/mark', { status: 'successful' })).status).toBe(404);
    const { id } = await createCharge(bench);
    await bench.call('POST', `/charges/${id}/expire`);
    expect((await bench.control('POST', `/charges/${id}/mark`, { status: 'successful' })).status).toBe(400);
    const forced = await bench.control<ChargeJson>('POST', `/charges/${id}/mark`, {
      status: 'successful',
      force: true,
    });
    expect(forced.body).toMatchObject({ status: 'successful', paid: true, expired: false, expired_at: null });
    const again = await bench.control('POST', `/charges/${id}/mark`, { status: 'successful', force: true });
    expect(again.status).toBe(400);
    expect(bench.sandbox.state().transactions).toHaveLength(1);
  });
});

describe('the clock route', () => {
  it('advances by seconds, jumps to an instant, freezes', async () => {
    const bench = await open();
    const clock = async (body: unknown) => (await bench.control('POST', '/clock', body)).body;
    expect(await clock({ advance: 1.5 })).toEqual({ now: '2026-03-10T09:00:01.500Z', frozen: true });
    expect(await clock({ now: '2027-01-01T00:00:00+07:00' })).toEqual({
      now: '2026-12-31T17:00:00.000Z',
      frozen: true,
    });
    expect(await clock({ advance: 0 })).toEqual({ now: '2026-12-31T17:00:00.000Z', frozen: true });
    expect(await clock({ frozen: false })).toMatchObject({ frozen: false });
    expect(await clock({ frozen: true, advance: 3_600 })).toMatchObject({ frozen: true });
    expect((await bench.control('GET', '/clock')).body).toMatchObject({ frozen: true });
  });

  it.each([
    [{ advance: -1 }],
    [{ now: '2026-03-10T08:59:59.999Z' }],
    [{ now: '2026-03-10' }],
    [{ now: 'later' }],
    [{ now: 5 }],
    [{ now: '9999-12-31T00:00:00Z' }],
    [{ advance: '60' }],
    [{ advance: 1e15 }],
    [{ advance: 1, now: '2027-01-01T00:00:00Z' }],
    [{}],
    [undefined],
    [{ forward: 1 }],
    [{ frozen: false, advance: -1 }],
    ['not JSON'],
  ])('refuses %j and does not move the clock', async (body) => {
    const bench = await open();
    expect(await bench.control('POST', '/clock', body)).toMatchObject({ status: 400, body: { code: 'bad_request' } });
    expect((await bench.control('GET', '/clock')).body).toEqual({ now: AT, frozen: true });
  });
});

describe('the faults route', () => {
  it('adds one or several, lists them, and clears them', async () => {
    const bench = await open();
    const [hang, delay] = [{ action: 'hang' }, { action: 'delay', path: '/charges', delay_ms: 5 }];
    expect((await bench.control('POST', '/faults', hang)).body).toMatchObject([hang]);
    expect((await bench.control('POST', '/faults', [delay])).body).toMatchObject([hang, delay]);
    expect((await bench.control('GET', '/faults')).body).toMatchObject([hang, delay]);
    expect((await bench.control('DELETE', '/faults')).body).toEqual([]);
    expect((await bench.call('GET', '/account')).status).toBe(200);
  });

  it.each([
    [{}],
    [{ action: 'explode' }],
    [{ action: 'status', status: 99 }],
    [{ action: 'status', status: '500' }],
    [{ action: 'hang', probability: 2 }],
    [{ action: 'hang', probability: -0.1 }],
    [{ action: 'hang', times: 0 }],
    [{ action: 'hang', times: 1.5 }],
    [{ action: 'hang', after: -1 }],
    [{ action: 'hang', path: 'charges' }],
    [{ action: 'hang', method: '' }],
    [{ action: 'hang', delay_ms: -1 }],
    [{ action: 'hang', when: 'now' }],
    [[{ action: 'hang' }, { action: 'explode' }]],
    ['nonsense'],
    [null],
  ])('refuses %j and adds none', async (body) => {
    const bench = await open();
    expect(await bench.control('POST', '/faults', body)).toMatchObject({ status: 400, body: { code: 'bad_request' } });
    expect(bench.sandbox.faults.list()).toEqual([]);
  });
});

describe('the webhooks route', () => {
  it('sets the address, which the account shows, and answers with the rates', async () => {
    const bench = await open();
    const body = { url: 'http://127.0.0.1:9/hook', secret: 'c2VjcmV0', duplicate: 0.5, reorder: 0.1 };
    const settings = { url: body.url, duplicate: 0.5, drop: 0, delay_ms: 0, reorder: 0.1, corrupt_signature: 0 };
    expect((await bench.control('POST', '/webhooks', body)).body).toEqual(settings);
    expect(bench.sandbox.state().account.webhook_uri).toBe(body.url);
    expect((await bench.control('POST', '/webhooks', { drop: 1 })).body).toEqual({
      ...settings,
      duplicate: 0,
      reorder: 0,
      drop: 1,
    });
    expect((await bench.control('DELETE', '/webhooks')).body).toMatchObject({ url: null, drop: 0 });
  });

  it.each([
    [{}],
    [{ secret: 'c2VjcmV0' }],
    [{ url: 'ftp://a.example', secret: 'c2VjcmV0' }],
    [{ url: 'javascript:alert(1)', secret: 'c2VjcmV0' }],
    [{ url: '/hook', secret: 'c2VjcmV0' }],
    [{ url: 'http://127.0.0.1:9', secret: 'not base64!' }],
    [{ url: 'http://127.0.0.1:9', secret: '' }],
    [{ url: 'http://127.0.0.1:9', secret: 'c2VjcmV0', drop: 1.1 }],
    [{ url: 'http://127.0.0.1:9', secret: 'c2VjcmV0', drop: -1 }],
    [{ url: 'http://127.0.0.1:9', secret: 'c2VjcmV0', delay_ms: -1 }],
    [{ url: 'http://127.0.0.1:9', secret: 'c2VjcmV0', lose: 1 }],
    [{ url: 5 }],
  ])('refuses %j and changes nothing', async (body) => {
    const bench = await open();
    expect(await bench.control('POST', '/webhooks', body)).toMatchObject({
      status: 400,
      body: { code: 'bad_request' },
    });
    expect((await bench.control('GET', '/webhooks')).body).toMatchObject({ url: null, drop: 0 });
  });
});

describe('the other control routes', () => {
  it('answer health, accept a seed of nothing, and refuse what is unknown', async () => {
    const bench = await open();
    expect((await bench.control('GET', '/health')).body).toEqual({ status: 'ok', url: bench.url, now: AT });
    expect((await bench.control('POST', '/seed', {})).status).toBe(200);
    expect((await bench.control('POST', '/seed', { customers: [] })).status).toBe(200);
    expect((await bench.control('POST', '/seed', { planets: [] })).status).toBe(400);
    expect((await bench.control('POST', '/reset', { seed: {} })).status).toBe(400);
    expect((await bench.control('GET', '/nowhere')).status).toBe(404);
    expect((await bench.control('GET', '/reset')).status).toBe(404);
    expect(bench.sandbox.state().requests).toEqual([]);
  });
});

describe('an observer', () => {
  it('is called at each moment of a request, with the records of that moment', async () => {
    const bench = await open();
    const seen: string[] = [];
    const note = (moment: string) => (request: RequestRecord) => {
      seen.push(
        `${moment} ${request.method} ${request.route} ${request.status} ${bench.sandbox.state().charges.length}`,
      );
    };
    for (const moment of ['request', 'committed', 'response'] as const) bench.sandbox.on(moment, note(moment));
    await createCharge(bench);
    await bench.call('POST', '/charges', { form: {} });
    expect(seen).toEqual([
      'request POST /charges null 0',
      'committed POST /charges null 1',
      'response POST /charges 200 1',
      'request POST /charges null 1',
      'response POST /charges 400 1',
    ]);
  });

  it('that was removed is not called', async () => {
    const bench = await open();
    bench.sandbox.on('request', () => expect.unreachable())();
    expect((await bench.call('GET', '/account')).status).toBe(200);
  });
});

describe('two sandboxes', () => {
  const story = async (seed: string): Promise<SandboxState> => {
    const bench = await openSandbox({ seed, now: AT, frozen: true, publicUrl: 'http://sandbox.example' });
    bench.sandbox.faults.add({ action: 'status', path: '/account', probability: 0.5 });
    for (let i = 0; i < 4; i += 1) {
      const { id } = await createCharge(bench);
      await bench.call('GET', '/account');
      bench.sandbox.advance(10);
      if (i % 2 === 0) bench.sandbox.mark(id, { status: 'successful' });
      await bench.call('POST', `/charges/${id}/refunds`, { form: { amount: 5 } });
    }
    return bench.sandbox.state();
  };

  it('with the same seed and the same requests have the same records, with another seed other ids', async () => {
    const first = await story('a');
    expect(await story('a')).toEqual(first);
    expect((await story('b')).charges.map(({ id }) => id)).not.toEqual(first.charges.map(({ id }) => id));
  });

  it('give a charge the same id, even when one of them gets extra polls', async () => {
    const [quiet, polled] = [await openSandbox({ seed: 'a' }), await openSandbox({ seed: 'a' })];
    for (let i = 0; i < 3; i += 1) await polled.call('GET', '/charges');
    expect((await createCharge(polled)).id).toBe((await createCharge(quiet)).id);
  });
});
