import { webhooks } from '@tillflow/payments-client';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { EdgeApi } from '../support/edge.js';
import { eventually } from '../support/eventually.js';
import { hintsOf } from '../support/hints.js';
import { chargeIdOf, Stack, type ProblemJson } from '../support/stack.js';

type Event = Readonly<Record<string, unknown>>;

const SECRET = Buffer.from('a secret').toString('base64');
const JSON_BODY = { 'content-type': 'application/json' };

const signed = (body: string): Record<string, string> =>
  webhooks.sign(body, { secret: SECRET, timestamp: Math.floor(Date.now() / 1_000) });

let id = 0;
const eventOf = (data: Event, key = 'charge.update'): string =>
  JSON.stringify({ object: 'event', id: `evnt_test_${(id += 1)}`, key, data });

const isRefused = (status: number): boolean => status === 429;

/**
 * The statuses of a flood of which the API refuses more than 50. The limit counts each second anew, so it refuses few of
 * a flood that a busy machine needs seconds for: then another one follows.
 */
const limitedFlood = (count: number, send: (n: number) => Promise<number>): Promise<readonly number[]> =>
  eventually(async () => {
    const statuses = await Promise.all(Array.from({ length: count }, (_, n) => send(n)));
    if (statuses.filter(isRefused).length <= 50) throw new Error('The API refused too few');
    return statuses;
  });

describe('a webhook without a valid signature', () => {
  let api: EdgeApi;
  beforeAll(async () => {
    api = await EdgeApi.start({ OPEN_RATE_LIMIT: '10' });
  });
  afterAll(() => api.close());

  const deliver = (body: string, headers: Record<string, string> = {}): Promise<Response> =>
    api.fetch('/webhooks/provider', { method: 'POST', headers: { ...JSON_BODY, ...headers }, body });

  it('is refused before the API parses its body', async () => {
    const answer = await deliver('no json at all');
    expect(answer.status).toBe(400);
    expect(((await answer.json()) as ProblemJson).code).toBe('signature_invalid');
  });

  it('of more than 64 KB is refused with 413, signed or not', async () => {
    const fits = `"${'x'.repeat(65_534)}"`;
    const large = `"${'x'.repeat(65_535)}"`;
    expect((await deliver(fits, signed(fits))).status).toBe(200);
    for (const headers of [{}, signed(large)]) {
      const answer = await deliver(large, headers);
      expect(answer.status).toBe(413);
      expect(((await answer.json()) as ProblemJson).code).toBe('body_too_large');
    }
  });

  it('is limited by address, and a signed webhook is never limited', async () => {
    const body = '{"object":"event","id":"evnt_1","key":"x","data":{}}';
    const all = Array.from({ length: 60 }, async (_, n) => {
      const isSigned = n % 2 === 1;
      return { isSigned, status: (await deliver(body, isSigned ? signed(body) : {})).status };
    });
    const answers = await Promise.all(all);
    const statusesOf = (isSigned: boolean): Set<number> =>
      new Set(answers.filter((one) => one.isSigned === isSigned).map(({ status }) => status));
    expect(statusesOf(true)).toEqual(new Set([200]));
    expect(statusesOf(false)).toEqual(new Set([400, 429]));
  });

  it('does not use up the limit of the other open routes, and they do not use up its limit', async () => {
    await Promise.all(Array.from({ length: 40 }, () => deliver('{}')));
    expect((await api.fetch('/errors/not_found')).status).toBe(200);
    await Promise.all(Array.from({ length: 40 }, () => api.fetch('/nothing')));
    const body = '{"object":"event","id":"evnt_1","key":"x","data":{}}';
    expect((await deliver(body, signed(body))).status).toBe(200);
  });

  it('gets 429 as a problem document with Retry-After', async () => {
    const answers = await Promise.all(Array.from({ length: 40 }, () => deliver('{}')));
    const refused = answers.find(({ status }) => status === 429);
    expect(refused?.headers.get('retry-after')).toBe('1');
    expect(await refused?.json()).toMatchObject({ code: 'rate_limited', detail: expect.any(String) });
  });
});

describe('when the provider does not sign its webhooks', () => {
  let stack: Stack;
  beforeAll(async () => {
    stack = await Stack.start({
      webhookUrl: null,
      api: { PROVIDER_WEBHOOK_SECRET: 'off', POLL_INTERVAL_MS: '3600000', OPEN_RATE_LIMIT: '50' },
    });
  });
  afterAll(() => stack.stop());

  const deliver = async (body: string): Promise<number> =>
    (await stack.request('POST', '/webhooks/provider', { body, key: null })).status;

  it('many webhooks of one checkout become few hints, and no hint is lost', async () => {
    const { body } = await stack.create();
    const about = (charge: string): Event => ({ object: 'charge', id: charge, metadata: { checkout: body.id } });
    const flood = Array.from({ length: 300 }, (_, n) => deliver(eventOf(about(`chrg_test_${n}`))));
    expect(new Set(await Promise.all(flood))).toEqual(new Set([200]));
    const hints = await hintsOf(stack, body);
    expect(hints.length).toBeLessThan(30);
    // A merged hint concerns every charge of the checkout.
    expect(hints.map(({ chargeId }) => chargeId)).toContain(null);
  });

  it('a payment is noticed in the middle of a flood of other webhooks of its checkout', async () => {
    const body = await stack.open();
    const charge = chargeIdOf(body);
    stack.sandbox.mark(charge, { status: 'successful' });
    const flood = Array.from({ length: 100 }, (_, n) =>
      deliver(eventOf({ object: 'charge', id: `chrg_test_${n}`, metadata: { checkout: body.id } })),
    );
    const payment = deliver(
      eventOf({ object: 'charge', id: charge, metadata: { checkout: body.id } }, 'charge.complete'),
    );
    expect(new Set(await Promise.all([...flood, payment]))).toEqual(new Set([200]));
    await stack.untilStatus(body.id, 'paid');
  });

  it.each(['[', '{"a":'])('a body that nests deep with %s is refused with 400', async (opening) => {
    expect(await deliver(opening.repeat(10_000))).toBe(400);
  });

  it('webhooks about invented charges are limited by address, so they cannot flood Temporal with searches', async () => {
    for (const made of [
      (n: number): Event => ({ object: 'refund', id: `rfnd_test_${n}`, charge: `chrg_test_made_${n}` }),
      (n: number): Event => ({ object: 'charge', id: 'chrg_test_x', metadata: { checkout: `chk_default_made-${n}` } }),
    ]) {
      const statuses = await limitedFlood(400, (n) => deliver(eventOf(made(n))));
      // 503 is Temporal's, on a machine that is too busy.
      expect([200, 429, 503]).toEqual(expect.arrayContaining([...new Set(statuses)]));
    }
  });

  it.each([
    ['no event', '{"a":1}'],
    ['no news of a checkout', '{"object":"event","id":"evnt_1","key":"customer.update","data":{}}'],
    ['no JSON', '{'],
  ])(
    'webhooks with a body that is %s are limited by address, and the API then refuses them unread',
    async (_, body) => {
      expect((await limitedFlood(200, () => deliver(body))).filter(isRefused).length).toBeGreaterThan(50);
    },
  );
});
