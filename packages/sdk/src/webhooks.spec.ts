import { Webhook } from 'standardwebhooks';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { checkoutOf } from '../test/api.js';
import { webhooks, WebhookVerificationError, type WebhookRefusal } from './webhooks.js';

const secretOf = (text: string): string => `whsec_${Buffer.from(text).toString('base64')}`;
const SECRET = secretOf('a secret of an endpoint, 24+');
const OLD = secretOf('the secret before it was rotated');
const BODY = JSON.stringify({
  type: 'checkout.paid',
  timestamp: '2026-11-21T05:31:02.310Z',
  data: checkoutOf({ status: 'paid', qr: null, description: 'ก๋วยเตี๋ยว ×2 — 拉麵 🍜' }),
});
const ID = 'evt_01';

/** The headers of a delivery, made by the package of the specification. */
function headersOf(body: string = BODY, { secret = SECRET, at = new Date(), id = ID } = {}): Record<string, string> {
  return {
    'webhook-id': id,
    'webhook-timestamp': String(Math.floor(at.getTime() / 1_000)),
    'webhook-signature': new Webhook(secret).sign(id, at, body),
  };
}

const refusalOf = (call: Promise<unknown>): Promise<WebhookRefusal> =>
  call.then(
    () => expect.fail('it was accepted'),
    (error: unknown) => {
      expect(error).toBeInstanceOf(WebhookVerificationError);
      return (error as WebhookVerificationError).reason;
    },
  );

describe('an event', () => {
  test('signed by the package of the specification is read, with its webhook-id', async () => {
    const event = await webhooks.verify(BODY, headersOf(), SECRET);
    expect(event).toEqual({ ...(JSON.parse(BODY) as object), id: ID });
    if (event.type !== 'checkout.paid') return expect.fail(event.type);
    expect(event.data.status).toBe('paid');
  });

  test('is verified on its bytes, as text, bytes, Buffer or ArrayBuffer', async () => {
    const bytes = new TextEncoder().encode(BODY);
    for (const body of [BODY, bytes, Buffer.from(BODY), bytes.buffer]) {
      expect(await webhooks.verify(body, headersOf(), SECRET)).toMatchObject({ id: ID });
    }
    const spaced = JSON.stringify(JSON.parse(BODY), null, 2);
    expect(await refusalOf(webhooks.verify(spaced, headersOf(), SECRET))).toBe('signature_mismatch');
    expect(await refusalOf(webhooks.verify(JSON.parse(BODY) as string, headersOf(), SECRET))).toBe('body_not_raw');
  });

  test('is accepted with any form of headers', async () => {
    const headers = headersOf();
    const upper = Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toUpperCase(), [value]]));
    for (const given of [headers, upper, new Headers(headers), Object.entries(headers)]) {
      expect(await webhooks.verify(BODY, given, SECRET)).toMatchObject({ type: 'checkout.paid' });
    }
  });

  test('is accepted with any of several secrets and any of several signatures', async () => {
    const [byNew, byOld] = [headersOf(), headersOf(BODY, { secret: OLD })];
    expect(await webhooks.verify(BODY, byOld, [SECRET, OLD])).toMatchObject({ id: ID });
    const signatures = ['v2,abc', 'v1,!', byOld['webhook-signature'], byNew['webhook-signature']].join(' ');
    const both = { ...byNew, 'webhook-signature': signatures };
    expect(await webhooks.verify(BODY, both, SECRET)).toMatchObject({ id: ID });
    expect(await refusalOf(webhooks.verify(BODY, byOld, [SECRET]))).toBe('signature_mismatch');
  });

  test('that tests an endpoint has its id, and no checkout', async () => {
    const body = JSON.stringify({ type: 'endpoint.test', timestamp: '', data: { endpoint: 'ep_1' } });
    const event = await webhooks.verify(body, headersOf(body), SECRET);
    if (event.type !== 'endpoint.test') return expect.fail(event.type);
    const endpoint: string = event.data.endpoint;
    expect(endpoint).toBe('ep_1');
  });

  test('costs at most ten passes over its body for each secret, and none for a text that is not a signature', async () => {
    const verify = vi.spyOn(crypto.subtle, 'verify');
    onTestFinished(() => verify.mockRestore());
    const { 'webhook-signature': signature = '', ...headers } = headersOf();
    const refuse = async (signatures: readonly string[]): Promise<number> => {
      verify.mockClear();
      const given = { ...headers, 'webhook-signature': signatures.join(' ') };
      expect(await refusalOf(webhooks.verify(BODY, given, SECRET))).toBe('signature_mismatch');
      return verify.mock.calls.length;
    };
    const other = headersOf(BODY, { secret: OLD })['webhook-signature'] ?? '';
    expect(await refuse([...Array<string>(10).fill(other), signature])).toBe(10);
    expect(await refuse(['v1,', 'v1,QQ==', `v1,${btoa('x'.repeat(33))}`, signature.slice(0, -8)])).toBe(0);
  });

  test('is accepted with a secret without its prefix', async () => {
    expect(await webhooks.verify(BODY, headersOf(), SECRET.replace('whsec_', ''))).toMatchObject({ id: ID });
  });

  test.each([
    ['another body', BODY.replace('paid', 'void'), headersOf()],
    ['another id', BODY, { ...headersOf(), 'webhook-id': 'evt_02' }],
    ['another time', BODY, { ...headersOf(), 'webhook-timestamp': String(Math.floor(Date.now() / 1_000) - 1) }],
    ['a time that is no number', BODY, { ...headersOf(), 'webhook-timestamp': 'NaN' }],
    [
      'a signature of another version',
      BODY,
      { ...headersOf(), 'webhook-signature': headersOf()['webhook-signature']?.replace('v1,', 'v1a,') },
    ],
    ['a cut signature', BODY, { ...headersOf(), 'webhook-signature': headersOf()['webhook-signature']?.slice(0, -4) }],
  ])('with %s is refused', async (_, body, headers) => {
    expect(await refusalOf(webhooks.verify(body, headers, SECRET))).toBe('signature_mismatch');
  });

  test.each(['webhook-id', 'webhook-timestamp', 'webhook-signature'])(
    'without %s, or with two, is refused',
    async (name) => {
      const headers = headersOf();
      expect(await refusalOf(webhooks.verify(BODY, { ...headers, [name]: undefined }, SECRET))).toBe('header_missing');
      const twice = { ...headers, [name]: [headers[name] ?? '', headers[name] ?? ''] };
      expect(await refusalOf(webhooks.verify(BODY, twice, SECRET))).toBe('header_missing');
    },
  );

  test('that is five minutes old is accepted, and a second older is refused, also from the future', async () => {
    const at = new Date('2026-11-21T05:31:02.000Z');
    const headers = headersOf(BODY, { at });
    for (const way of [1, -1]) {
      const now = at.getTime() + way * 300_000;
      expect(await webhooks.verify(BODY, headers, SECRET, { now })).toMatchObject({ id: ID });
      const late = webhooks.verify(BODY, headers, SECRET, { now: now + way * 1_000 });
      expect(await refusalOf(late)).toBe('timestamp_out_of_tolerance');
      const within = { now: now + way * 1_000, toleranceSeconds: 301 };
      expect(await webhooks.verify(BODY, headers, SECRET, within)).toMatchObject({ id: ID });
    }
    const never = webhooks.verify(BODY, headers, SECRET, { now: at.getTime(), toleranceSeconds: Number.NaN });
    expect(await refusalOf(never)).toBe('timestamp_out_of_tolerance');
  });

  test('whose signed time is no number is refused', async () => {
    const body = '{}';
    const [head, id] = [`${ID}.soon.`, { 'webhook-id': ID }];
    const { createHmac } = await import('node:crypto');
    const key = Buffer.from(SECRET.replace('whsec_', ''), 'base64');
    const signature = `v1,${createHmac('sha256', key).update(`${head}${body}`).digest('base64')}`;
    const headers = { ...id, 'webhook-timestamp': 'soon', 'webhook-signature': signature };
    expect(await refusalOf(webhooks.verify(body, headers, SECRET))).toBe('timestamp_malformed');
  });

  test.each([
    [[], 'no_secret'],
    ['', 'secret_malformed'],
    ['whsec_', 'secret_malformed'],
    ['whsec_*', 'secret_malformed'],
  ] as const)('is not verified with the secrets "%s"', async (secrets, reason) => {
    expect(await refusalOf(webhooks.verify(BODY, headersOf(), secrets))).toBe(reason);
  });

  test.each(['', 'not JSON', 'null', '{"type":"checkout.paid"}'])(
    'with a valid signature and the body "%s" is refused',
    async (body) => {
      expect(await refusalOf(webhooks.verify(body, headersOf(body), SECRET))).toBe('body_malformed');
    },
  );
});

test('the headers that sign makes are accepted by the package of the specification and by verify', async () => {
  const headers = await webhooks.sign(BODY, [OLD, SECRET], { id: ID });
  for (const secret of [OLD, SECRET]) expect(new Webhook(secret).verify(BODY, headers)).toEqual(JSON.parse(BODY));
  expect(await webhooks.verify(BODY, headers, SECRET)).toMatchObject({ id: ID });
});
