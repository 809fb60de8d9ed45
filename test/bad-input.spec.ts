import { connect } from 'node:net';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { FakeEngine } from './support/fake-engine.js';
import { KEYS, newReference, Stack, type Answer, type ProblemJson } from './support/stack.js';

let engine: FakeEngine;
let stack: Stack;
beforeAll(async () => {
  engine = await FakeEngine.start();
  stack = await Stack.start({
    worker: false,
    webhookUrl: null,
    shared: { TEMPORAL_ADDRESS: engine.address },
    api: { BODY_LIMIT_BYTES: '16384' },
  });
  await engine.untilListed();
});
afterAll(async () => {
  await stack.stop();
  engine.close();
});

const fine = (): Record<string, unknown> => ({ reference: newReference(), amount: 150_000, currency: 'THB' });

/** How many calls the provider and the engine have received. */
const callsMade = (): number => stack.sandbox.state().requests.length + engine.calls.length;

/** Refused with a problem document, and neither the provider nor the engine was called. */
async function expectRefused(body: unknown, status: number, code: string): Promise<ProblemJson> {
  return expectUntouched(status, code, () => stack.post<ProblemJson>('/v1/checkouts', body));
}

async function expectUntouched(
  status: number,
  code: string,
  ask: () => Promise<Answer<ProblemJson>>,
): Promise<ProblemJson> {
  const before = callsMade();
  const answer = await ask();
  expect(answer).toMatchObject({ status, body: { status, code } });
  expect(answer.headers.get('content-type')).toContain('application/problem+json');
  expect(answer.body.request_id).toBe(answer.headers.get('x-request-id'));
  expect(callsMade()).toBe(before);
  return answer.body;
}

const CHECKOUT = '/v1/checkouts/chk_default_test';

describe('a request for a checkout', () => {
  it.each([
    [{ amount: 1_999 }, 422, 'amount_out_of_range'],
    [{ amount: 15_000_001 }, 422, 'amount_out_of_range'],
    [{ amount: 99, currency: 'SGD' }, 422, 'amount_out_of_range'],
    [{ amount: 2_000_001, currency: 'SGD' }, 422, 'amount_out_of_range'],
    [{ amount: 3_000_001, currency: 'MYR' }, 422, 'amount_out_of_range'],
    [{ currency: 'USD' }, 422, 'unsupported_currency'],
    [{ currency: 'thb' }, 422, 'unsupported_currency'],
    [{ currency: 'THBX' }, 400, 'invalid_request'],
    [{ currency: 7 }, 400, 'invalid_request'],
    [{ amount: 0 }, 400, 'invalid_request'],
    [{ amount: -150_000 }, 400, 'invalid_request'],
    [{ amount: 1_500.5 }, 400, 'invalid_request'],
    [{ amount: '150000' }, 400, 'invalid_request'],
    [{ amount: 1e21 }, 400, 'invalid_request'],
    [{ amount: null }, 400, 'invalid_request'],
    [{ amount: undefined }, 400, 'invalid_request'],
    [{ reference: '' }, 400, 'invalid_request'],
    [{ reference: 'a/b' }, 400, 'invalid_request'],
    [{ reference: 'ü' }, 400, 'invalid_request'],
    [{ reference: 'a'.repeat(65) }, 400, 'invalid_request'],
    [{ reference: undefined }, 400, 'invalid_request'],
    [{ expires_in: 4 }, 400, 'invalid_request'],
    [{ expires_in: 86_401 }, 400, 'invalid_request'],
    [{ expires_in: 10.5 }, 400, 'invalid_request'],
    [{ description: 'x'.repeat(256) }, 400, 'invalid_request'],
    [{ metadata: { checkout: 'mine' } }, 400, 'invalid_request'],
    [{ metadata: { attempt: '1' } }, 400, 'invalid_request'],
    [{ metadata: { refund_key: 'k' } }, 400, 'invalid_request'],
    [{ metadata: { a: 'x'.repeat(201) } }, 400, 'invalid_request'],
    [{ metadata: { a: 7 } }, 400, 'invalid_request'],
    [{ metadata: Object.fromEntries(Array.from({ length: 21 }, (_, n) => [`k${n}`, 'v'])) }, 400, 'invalid_request'],
    [{ metadata: { 'a]': 'x' } }, 400, 'invalid_request'],
    [{ metadata: { 'a][b': 'x' } }, 400, 'invalid_request'],
    [{ metadata: { 'checkout]': 'x' } }, 400, 'invalid_request'],
    [{ metadata: { a: '\uD800' } }, 400, 'invalid_request'],
    [{ description: '\uDC00' }, 400, 'invalid_request'],
    [{ description: 'a\u0000b' }, 400, 'invalid_request'],
    [{ metadata: 'text' }, 400, 'invalid_request'],
    [{ terminal: 'a\nb' }, 400, 'invalid_request'],
    [{ source: '../charges' }, 400, 'invalid_request'],
    [{ expire_in: 60 }, 400, 'invalid_request'],
  ])('with %j is refused with %i %s, and neither the provider nor Temporal is called', async (change, status, code) => {
    await expectRefused({ ...fine(), ...change }, status, code);
  });

  it('names every wrong field', async () => {
    const { errors } = await expectRefused({ ...fine(), amount: 'x', expires_in: 1 }, 400, 'invalid_request');
    expect(errors?.map(({ path }) => path).toSorted()).toEqual(['amount', 'expires_in']);
  });

  it.each([
    ['{"amount":', 400, 'invalid_request'],
    ['[]', 400, 'invalid_request'],
    ['"text"', 400, 'invalid_request'],
    ['{"__proto__":{"amount":1}}', 400, 'invalid_request'],
    [JSON.stringify({ description: 'x'.repeat(20_000) }), 413, 'body_too_large'],
  ])('with the body $0 is refused with $1', async (body, status, code) => {
    await expectRefused(body, status, code);
  });

  it.each(['text/plain', 'application/x-www-form-urlencoded', 'application/xml'])(
    'with a body of type %s is refused with 415',
    async (type) => {
      const answer = await stack.request<ProblemJson>('POST', '/v1/checkouts', {
        body: 'reference=a&amount=150000&currency=THB',
        headers: { 'content-type': type },
      });
      expect(answer).toMatchObject({ status: 415, body: { code: 'unsupported_media_type' } });
    },
  );

  it('with a random body never causes a 5xx, and reaches the provider or Temporal only when it is valid', async () => {
    const before = callsMade();
    const near = fc.record(
      {
        reference: fc.oneof(fc.string(), fc.integer(), fc.constant(null)),
        amount: fc.oneof(fc.integer({ max: 1_999 }), fc.double(), fc.string()),
        currency: fc.oneof(fc.constant('THB'), fc.string(), fc.anything()),
        metadata: fc.anything(),
        expires_in: fc.anything(),
      },
      { requiredKeys: [] },
    );
    await fc.assert(
      fc.asyncProperty(fc.oneof(near, fc.jsonValue()), async (body) => {
        const { status } = await stack.post<ProblemJson>('/v1/checkouts', JSON.stringify(body) ?? 'null');
        expect(status).toBeGreaterThanOrEqual(400);
        expect(status).toBeLessThan(500);
      }),
      { numRuns: 150 },
    );
    expect(callsMade()).toBe(before);
  });
});

describe('a request for a new attempt', () => {
  it.each([
    '{"after":0}',
    '{"after":-1}',
    '{"after":1.5}',
    '{"after":"1"}',
    '{"after":null}',
    '{"after":1e21}',
    '{"after":[1]}',
    '{"before":1}',
    '{"after":1,"amount":1}',
    'null',
    '[]',
    '7',
    '"1"',
    '{"after":',
  ])('with the body %s is refused with 400, and neither the provider nor Temporal is called', async (body) => {
    await expectUntouched(400, 'invalid_request', () =>
      stack.request<ProblemJson>('POST', `${CHECKOUT}/attempts`, { body }),
    );
  });

  it('with a body that is not JSON is refused with 415', async () => {
    await expectUntouched(415, 'unsupported_media_type', () =>
      stack.request<ProblemJson>('POST', `${CHECKOUT}/attempts`, {
        body: 'after=1',
        headers: { 'content-type': 'application/x-www-form-urlencoded' },
      }),
    );
  });
});

describe('a request for a receipt', () => {
  const ask = (query: string, accept = '*/*') =>
    stack.request<ProblemJson>('GET', `${CHECKOUT}/receipt${query}`, { headers: { accept } });

  it.each(['?refund=', '?refund=a&refund=b', `?refund=${'x'.repeat(129)}`, '?copy=true'])(
    'with the query %s is refused with 400, and Temporal is not called',
    async (query) => {
      await expectUntouched(400, 'invalid_request', () => ask(query));
    },
  );

  it('in a form that it does not have is refused with 406, and Temporal is not called', async () => {
    await expectUntouched(406, 'not_acceptable', () => ask('', 'application/pdf'));
  });
});

describe('a request for a refund', () => {
  const ask = (body: unknown, headers: Record<string, string>) =>
    stack.request<ProblemJson>('POST', `${CHECKOUT}/refunds`, { body, headers });

  it.each([
    '{"amount":0}',
    '{"amount":-1}',
    '{"amount":1.5}',
    '{"amount":"1"}',
    '{"amount":null}',
    '{"amount":1e21}',
    '{"amount":true}',
    '{"currency":"THB"}',
    '{"amount":1,"kind":"void"}',
    '{"reason":7}',
    '{"reason":null}',
    '{"reason":"a\\u0000b"}',
    '{"reason":"a\\nb"}',
    '{"reason":"\\ud800"}',
    JSON.stringify({ reason: 'x'.repeat(201) }),
    'null',
    '[]',
    '"all"',
    '{"amount":',
  ])('with the body $0 is refused with 400, and neither the provider nor Temporal is called', async (body) => {
    await expectUntouched(400, 'invalid_request', () => ask(body, { 'idempotency-key': 'k' }));
  });

  it.each([
    ['a key of 129 characters', 'k'.repeat(129)],
    ['a key with a space', 'a b'],
    ['two keys', 'a, b'],
    ['a key with the reserved prefix auto:', 'auto:chrg_test_1'],
    ['a key that is not ASCII', '\u00e4'],
  ])('with %s is refused with 400, and neither the provider nor Temporal is called', async (_, key) => {
    await expectUntouched(400, 'invalid_request', () => ask({}, { 'idempotency-key': key }));
  });

  it.each<Record<string, string>>([{}, { 'idempotency-key': '' }])(
    'with the headers %j has no key, and is refused with 400',
    async (headers) => {
      await expectUntouched(400, 'idempotency_key_required', () => ask({}, headers));
    },
  );
});

describe('a request for an event stream', () => {
  it.each(['x', '-1', '1.5', '0x1', '7 7', '1, 2', '9'.repeat(16), `1' OR '1'='1`])(
    'with the Last-Event-ID %j is refused with 400',
    async (lastEventId) => {
      const headers = { 'last-event-id': lastEventId };
      await expectUntouched(400, 'invalid_request', () =>
        stack.request<ProblemJson>('GET', `${CHECKOUT}/events`, { headers }),
      );
    },
  );
});

describe('a request for a reconciliation', () => {
  const window = { from: '2026-11-01T00:00:00Z', to: '2026-11-02T00:00:00Z' };

  it.each([
    [{ from: '2026-11-03T00:00:00Z' }],
    [{ to: '2026-12-02T00:00:00.001Z' }],
    [{ to: '2027-11-01T00:00:00Z' }],
    [{ from: undefined }],
    [{ to: undefined }],
    [{ from: 'yesterday' }],
    [{ from: '2026-11-01' }],
    [{ from: '2026-02-30T00:00:00Z' }],
    [{ from: 1_793_491_200_000 }],
    [{ from: null }],
    [{ to: '9999-12-31T23:59:59-14:00' }],
    [{ dry_run: 'yes' }],
    [{ dry_run: 1 }],
    [{ account: 'other' }],
  ])('with the body %j is refused with 400, and neither the provider nor Temporal is called', async (change) => {
    await expectUntouched(400, 'invalid_request', () =>
      stack.request<ProblemJson>('POST', '/v1/reconciliations', { body: { ...window, ...change }, key: KEYS.ops }),
    );
  });

  it.each([
    [{}],
    [{ reason: '' }],
    [{ reason: '  ' }],
    [{ reason: 'two\nlines' }],
    [{ reason: 'x'.repeat(201) }],
    [{ reason: 5 }],
    [{ reason: 'known', by: 'another' }],
  ])('that acknowledges a break with the body %j is refused with 400, and changes nothing', async (body) => {
    const path = '/v1/reconciliations/rec_1-2_01a1fdd5-c8b3-7d0e-b138-1622b2e958f9/breaks/1/acknowledge';
    await expectUntouched(400, 'invalid_request', () =>
      stack.request<ProblemJson>('POST', path, { body, key: KEYS.ops }),
    );
  });

  it.each([
    ['/v1/reconciliations/nonsense', 404, 'not_found'],
    ['/v1/reconciliations/rec_1-2_01a1fdd5-c8b3-7d0e-b138-1622b2e958f9', 404, 'not_found'],
    ['/v1/reconciliations/rec_daily-2026-11-20T00:30:00Z_01a1fdd5-c8b3-7d0e-b138-1622b2e958f9', 404, 'not_found'],
    ['/v1/reconciliations/rec_1-2_not-a-run/export', 404, 'not_found'],
    ['/v1/reconciliations/rec_1-2_01a1fdd5-c8b3-7d0e-b138-1622b2e958f9/export?format=xml', 400, 'invalid_request'],
    [`/v1/reconciliations/${'a'.repeat(201)}`, 400, 'invalid_request'],
    ['/v1/reconciliations?limit=0', 400, 'invalid_request'],
    ['/v1/reconciliations?cursor=AAAA', 400, 'invalid_request'],
    ['/v1/reconciliations?status=running', 400, 'invalid_request'],
  ])('to the path %s is refused with %i %s', async (path, status, code) => {
    const answer = await stack.request<ProblemJson>('GET', path, { key: KEYS.ops });
    expect(answer).toMatchObject({ status, body: { code } });
  });

  it.each([
    ['POST', '/v1/reconciliations'],
    ['GET', '/v1/reconciliations'],
    ['GET', '/v1/reconciliations/rec_1-2_01a1fdd5-c8b3-7d0e-b138-1622b2e958f9'],
    ['GET', '/v1/reconciliations/rec_1-2_01a1fdd5-c8b3-7d0e-b138-1622b2e958f9/export'],
    ['POST', '/v1/reconciliations/rec_1-2_01a1fdd5-c8b3-7d0e-b138-1622b2e958f9/breaks/1/acknowledge'],
  ])('%s %s is refused with 403 for a till', async (method, path) => {
    const body = method === 'POST' ? window : undefined;
    await expectUntouched(403, 'forbidden', () => stack.request<ProblemJson>(method, path, { body }));
  });
});

describe('a request', () => {
  it.each([
    ['GET', '/v1/checkouts/chk_default_nothing', 404, 'not_found'],
    ['GET', '/v1/checkouts/chk_default_nothing/timeline', 404, 'not_found'],
    ['GET', '/v1/checkouts/chk_default_nothing/qr', 404, 'not_found'],
    ['POST', '/v1/checkouts/chk_default_nothing/cancel', 404, 'not_found'],
    ['POST', '/v1/checkouts/chk_default_nothing/attempts', 404, 'not_found'],
    ['GET', '/v1/checkouts/chk_default_nothing/refunds', 404, 'not_found'],
    ['GET', '/v1/checkouts/chk_default_nothing/events', 404, 'not_found'],
    ['POST', '/v1/checkouts/chk_other_x/attempts', 404, 'not_found'],
    ['GET', '/v1/checkouts/nonsense/refunds', 404, 'not_found'],
    ['GET', '/v1/checkouts/nonsense/events', 404, 'not_found'],
    ['POST', '/v1/checkouts/%00/attempts', 404, 'not_found'],
    ['GET', `/v1/checkouts/${'a'.repeat(300)}/events`, 400, 'invalid_request'],
    ['POST', '/v1/checkouts/chk_default_nothing/refunds', 400, 'idempotency_key_required'],
    ['PUT', '/v1/checkouts/chk_default_nothing/refunds', 405, 'method_not_allowed'],
    ['DELETE', '/v1/checkouts/chk_default_nothing', 405, 'method_not_allowed'],
    ['POST', '/v1/availability', 405, 'method_not_allowed'],
    ['GET', '/v1/checkouts/chk_other_x', 404, 'not_found'],
    ['GET', '/v1/checkouts/..%2f..%2fetc', 404, 'not_found'],
    ['GET', '/v1/checkouts/%00', 404, 'not_found'],
    ['GET', '/v1/nothing', 404, 'not_found'],
    ['GET', '/v1/checkouts?limit=0', 400, 'invalid_request'],
    ['GET', '/v1/checkouts?limit=101', 400, 'invalid_request'],
    ['GET', '/v1/checkouts?limit=x', 400, 'invalid_request'],
    ['GET', '/v1/checkouts?status=happy', 400, 'invalid_request'],
    ['GET', '/v1/checkouts?from=yesterday', 400, 'invalid_request'],
    ['GET', '/v1/checkouts?from=2026-01-01T00:00:00.1234567890Z', 400, 'invalid_request'],
    ['GET', '/v1/checkouts?from=0000-01-01T00:00:00Z', 400, 'invalid_request'],
    ['GET', '/v1/checkouts?to=9999-12-31T23:59:59-14:00', 400, 'invalid_request'],
    ['GET', '/v1/checkouts/%zz', 400, 'invalid_request'],
    ['GET', `/v1/checkouts/${'a'.repeat(300)}`, 400, 'invalid_request'],
    ['GET', "/v1/checkouts?reference=a'%20OR%20'1'='1", 400, 'invalid_request'],
    ['GET', '/v1/checkouts?cursor=%27', 400, 'invalid_request'],
    ['GET', '/v1/checkouts?cursor=AAAA', 400, 'invalid_request'],
    ['GET', '/v1/checkouts?unknown=1', 400, 'invalid_request'],
  ])('%s %s is refused with %i %s', async (method, path, status, code) => {
    const answer = await stack.request<ProblemJson>(method, path);
    expect(answer).toMatchObject({ status, body: { status, code } });
  });

  it.each(['NONSENSE\r\n\r\n', `GET / HTTP/1.1\r\nHost: a\r\nX: ${'x'.repeat(40_000)}\r\n\r\n`])(
    'that is not valid HTTP ($0) also gets a problem document',
    async (text) => {
      const { hostname, port } = new URL(stack.api.url);
      const answer = await new Promise<string>((resolve, reject) => {
        let received = '';
        const socket = connect(Number(port), hostname, () => socket.write(text));
        socket.on('data', (chunk) => (received += chunk.toString()));
        socket.on('close', () => resolve(received));
        socket.on('error', reject);
      });
      expect(answer).toMatch(/^HTTP\/1\.1 4\d\d /);
      expect(answer).toContain('application/problem+json');
    },
  );

  it('with a wrong key gets 429 when its address sends too many of them', async () => {
    await stack.withApi({ OPEN_RATE_LIMIT: '5' }, async () => {
      const guesses = Array.from({ length: 30 }, (_, n) =>
        stack.request<ProblemJson>('GET', '/v1/checkouts', { key: `guess-${n}` }),
      );
      const statuses = (await Promise.all(guesses)).map(({ status }) => status);
      expect(statuses.filter((status) => status === 401).length).toBeGreaterThan(0);
      expect(statuses.filter((status) => status === 429).length).toBeGreaterThan(0);
    });
  });

  it('that is refused gets a link to a page that explains the error', async () => {
    const { body } = await stack.get<ProblemJson>('/v1/checkouts/chk_default_nothing');
    const page = await fetch(body.type);
    expect(page.status).toBe(200);
    expect(await page.text()).toContain('not_found');
  });

  it('over the limit of its key is refused with 429 and Retry-After, and other keys are not', async () => {
    await stack.withApi({ RATE_LIMIT: '5' }, async () => {
      const burst = await Promise.all(
        Array.from({ length: 30 }, () => stack.get<ProblemJson>('/v1/checkouts/chk_default_nothing')),
      );
      const refused = burst.filter(({ status }) => status === 429);
      expect(refused.length).toBeGreaterThan(0);
      expect(refused[0]?.body.code).toBe('rate_limited');
      expect(refused[0]?.headers.get('retry-after')).toBe('1');
      const other = await stack.request('GET', '/v1/checkouts/chk_default_nothing', { key: 'key-of-an-operator' });
      expect(other.status).toBe(404);
    });
  });
});

describe('without a key', () => {
  it.each(['/health/live', '/health/ready', '/openapi.json', '/docs'])('%s answers 200', async (path) => {
    expect((await stack.request('GET', path, { key: null })).status).toBe(200);
  });

  it.each([
    ['POST', '/v1/checkouts'],
    ['GET', '/v1/checkouts'],
    ['GET', '/v1/checkouts/chk_default_a'],
    ['GET', '/v1/checkouts/chk_default_a/qr'],
    ['GET', '/v1/checkouts/chk_default_a/timeline'],
    ['POST', '/v1/checkouts/chk_default_a/cancel'],
    ['POST', '/v1/checkouts/chk_default_a/attempts'],
    ['POST', '/v1/checkouts/chk_default_a/refunds'],
    ['GET', '/v1/checkouts/chk_default_a/refunds'],
    ['GET', '/v1/checkouts/chk_default_a/events'],
    ['POST', '/v1/reconciliations'],
    ['GET', '/v1/reconciliations'],
    ['GET', '/v1/reconciliations/rec_1-2_a'],
    ['GET', '/v1/reconciliations/rec_1-2_a/export'],
    ['POST', '/v1/reconciliations/rec_1-2_a/breaks/1/acknowledge'],
    ['HEAD', '/v1/checkouts/chk_default_a/events'],
  ])('%s %s answers 401', async (method, path) => {
    const answer = await stack.request<ProblemJson>(method, path, {
      key: null,
      ...(method === 'POST' ? { body: fine() } : {}),
    });
    expect(answer.status).toBe(401);
    if (method !== 'HEAD') expect(answer.body).toMatchObject({ code: 'unauthorized' });
  });
});

it('no key, secret or signature is in any log line', () => {
  const written = stack.logs.join('');
  expect(written.length).toBeGreaterThan(0);
  const { secret, public: open, webhookSecrets } = stack.sandbox.keys;
  for (const hidden of [secret, open, ...webhookSecrets, 'key-of-a-till', 'key-of-an-operator', 'sig=']) {
    expect(written).not.toContain(hidden);
  }
});

it('the OpenAPI document describes every route of the checkouts', async () => {
  const { body } = await stack.get<{ paths: Record<string, unknown> }>('/openapi.json');
  expect(Object.keys(body.paths)).toEqual(
    expect.arrayContaining([
      '/v1/checkouts',
      '/v1/checkouts/{id}',
      '/v1/checkouts/{id}/cancel',
      '/v1/checkouts/{id}/qr',
      '/webhooks/provider',
    ]),
  );
  expect(JSON.stringify(body)).toContain('#/components/schemas/Checkout"');
});
