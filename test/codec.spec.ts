import { randomBytes } from 'node:crypto';
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import { KEYS, Stack, type Answer, type ProblemJson } from './support/stack.js';
import { payloadsIn } from './support/stored.js';

const UI = 'http://temporal.example:8233';
const key = (id: string): string => `${id}:${randomBytes(32).toString('base64')}`;

type PayloadJson = { metadata: Record<string, string>; data: string };
type Payloads = { payloads: PayloadJson[] };

const base64 = (text: Uint8Array | string): string => Buffer.from(text).toString('base64');
const plain = (value: unknown): PayloadJson => ({
  metadata: { encoding: base64('json/plain') },
  data: base64(JSON.stringify(value)),
});

let stack: Stack;
beforeAll(async () => {
  stack = await Stack.start({
    shared: { PAYLOAD_KEYS: key('first') },
    api: { TEMPORAL_UI_URL: `https://other.example, ${UI}/`, BODY_LIMIT_BYTES: '16384' },
  });
});
afterAll(() => stack.stop());
afterEach(() => {
  vi.useRealTimers();
});

const call = <T = Payloads>(path: string, body: unknown, withKey: string | null = KEYS.ops): Promise<Answer<T>> =>
  stack.request<T>('POST', path, { body, key: withKey });

/** The path of a fresh address, as the UI uses it. */
async function address(): Promise<string> {
  const { status, body, headers } = await stack.request<{ url: string; expires_at: string }>(
    'GET',
    '/v1/codec-address',
    { key: KEYS.ops },
  );
  expect(status).toBe(200);
  expect(headers.get('cache-control')).toBe('no-store');
  expect(Math.abs(Date.parse(body.expires_at) - Date.now() - 12 * 3_600_000)).toBeLessThan(60_000);
  expect(body.url.startsWith(`${stack.api.url}/codec/`)).toBe(true);
  return new URL(body.url).pathname;
}

/** The stored intent of a checkout, as Temporal's UI sends it. */
async function storedIntent(description: string): Promise<PayloadJson> {
  const { body } = await stack.create({ description });
  const { events } = await stack.temporal.client.workflow
    .getHandle(`checkout/default/${body.reference}`)
    .fetchHistory();
  const intent = events?.[0]?.workflowExecutionStartedEventAttributes?.memo?.fields?.['intent'];
  expect(payloadsIn(intent).map(({ encoding }) => encoding)).toEqual(['binary/encrypted']);
  const metadata = Object.entries(intent?.metadata ?? {}).map(([name, value]) => [name, base64(value)] as const);
  return { metadata: Object.fromEntries(metadata), data: base64(intent?.data ?? '') };
}

describe('the codec', () => {
  it('decodes stored payloads at a signed address without a key, and with an ops key', async () => {
    const stored = await storedIntent('Coffee for Somchai');
    const path = await address();
    for (const answer of [
      await call(`${path}/decode`, { payloads: [stored] }, null),
      await call('/codec/decode', { payloads: [stored] }),
    ]) {
      expect(answer.status).toBe(200);
      expect(answer.headers.get('cache-control')).toBe('no-store');
      const [payload] = answer.body.payloads;
      expect(payload?.metadata).toEqual({ encoding: base64('json/plain') });
      expect(JSON.parse(Buffer.from(payload?.data ?? '', 'base64').toString())).toMatchObject({
        description: 'Coffee for Somchai',
      });
    }
  });

  it('encrypts payloads for an ops key, and decrypts them again in the same order', async () => {
    const payloads = [plain('a'), plain({ b: 2 }), { metadata: { encoding: base64('binary/null') }, data: '' }];
    const { body } = await call('/codec/encode', { payloads });
    expect(body.payloads.map(({ metadata }) => metadata['encoding'])).toEqual(
      payloads.map(() => base64('binary/encrypted')),
    );
    expect((await call('/codec/decode', body)).body).toEqual({ payloads });
  });

  it('returns a payload unchanged when it is unencrypted, or encrypted with a key that the API does not have', async () => {
    const foreign = {
      metadata: { encoding: base64('binary/encrypted'), 'encryption-key-id': base64('other') },
      data: base64('x'),
    };
    const payloads = [plain('open'), foreign];
    expect((await call('/codec/decode', { payloads })).body).toEqual({ payloads });
    expect((await call('/codec/decode', {})).body).toEqual({ payloads: [] });
  });

  it('does not encrypt at a signed address', async () => {
    const answer = await call<ProblemJson>(`${await address()}/encode`, { payloads: [plain('a')] }, null);
    expect(answer).toMatchObject({ status: 403, body: { code: 'forbidden' } });
  });

  it.each([
    ['decode', null, 401],
    ['encode', null, 401],
    ['decode', KEYS.checkout, 403],
    ['encode', KEYS.checkout, 403],
    ['decode', 'a key that is not configured', 401],
  ])('refuses to %s with the key %s', async (what, withKey, status) => {
    const answer = await call<ProblemJson>(`/codec/${what}`, { payloads: [plain('a')] }, withKey);
    expect(answer.status).toBe(status);
  });

  it.each([null, KEYS.checkout])('creates no signed address for the key %s', async (withKey) => {
    const answer = await stack.request<ProblemJson>('GET', '/v1/codec-address', { key: withKey });
    expect(answer.status).toBe(withKey === null ? 401 : 403);
  });

  it('refuses an address that was changed', async () => {
    const path = await address();
    const [, until = '', signature = ''] = /^\/codec\/(\d+)\.(.+)$/.exec(path) ?? [];
    const flipped = `${signature.startsWith('A') ? 'B' : 'A'}${signature.slice(1)}`;
    for (const token of [`${Number(until) + 1}.${signature}`, `${until}.${flipped}`, `${until}.`, 'token']) {
      const answer = await call<ProblemJson>(`/codec/${token}/decode`, { payloads: [] }, null);
      expect(answer).toMatchObject({ status: 401, body: { code: 'unauthorized' } });
    }
  });

  it('refuses an address that has expired', async () => {
    const path = await address();
    vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + 12 * 3_600_000 + 1 });
    const answer = await call<ProblemJson>(`${path}/decode`, { payloads: [] }, null);
    expect(answer).toMatchObject({ status: 401, body: { code: 'unauthorized' } });
  });

  it.each([
    [{ payloads: 'x' }, 400],
    [{ payloads: [{ metadata: { encoding: '{}' } }] }, 400],
    [{ payloads: [{ data: 7 }] }, 400],
    ['[', 400],
    [{ payloads: [{ data: 'A'.repeat(20_000) }] }, 413],
  ])('answers the body $0 with $1 and a problem document', async (body, status) => {
    const answer = await call<ProblemJson>('/codec/decode', body);
    expect(answer.status).toBe(status);
    expect(answer.headers.get('content-type')).toContain('application/problem+json');
  });

  it('is not in the OpenAPI document, but the route that creates its address is', async () => {
    const { body } = await stack.get<{ paths: Record<string, unknown> }>('/openapi.json');
    const paths = Object.keys(body.paths);
    expect(paths).toContain('/v1/codec-address');
    expect(paths.filter((path) => path.startsWith('/codec'))).toEqual([]);
  });

  it('writes neither its address nor a payload to the log', async () => {
    const path = await address();
    const { body } = await call(`${path}/decode`, { payloads: [plain('do not log me')] }, null);
    expect(body.payloads.length).toBe(1);
    const written = stack.logs.join('');
    for (const text of [path, path.slice(-20), base64(JSON.stringify('do not log me')), 'do not log me']) {
      expect(written).not.toContain(text);
    }
  });
});

describe("a page of the Temporal UI's origin", () => {
  const preflight = (path: string, origin: string): Promise<Response> =>
    fetch(`${stack.api.url}${path}`, {
      method: 'OPTIONS',
      headers: {
        origin,
        'access-control-request-method': 'POST',
        'access-control-request-headers': 'content-type,x-namespace',
      },
    });

  it('may call the codec with its headers', async () => {
    const path = await address();
    const asked = await preflight(`${path}/decode`, UI);
    expect(asked.status).toBe(204);
    expect(asked.headers.get('access-control-allow-origin')).toBe(UI);
    expect(asked.headers.get('access-control-allow-methods')).toBe('POST');
    expect(asked.headers.get('access-control-allow-headers')).toContain('x-namespace');
    const answer = await stack.request('POST', `${path}/decode`, {
      key: null,
      body: { payloads: [] },
      headers: { origin: UI, 'x-namespace': 'default' },
    });
    expect(answer.status).toBe(200);
    expect(answer.headers.get('access-control-allow-origin')).toBe(UI);
  });

  it('can read the refusal of its request', async () => {
    const refused = await stack.request('POST', '/codec/decode', { key: null, body: {}, headers: { origin: UI } });
    expect(refused.status).toBe(401);
    expect(refused.headers.get('access-control-allow-origin')).toBe(UI);
  });

  it.each(['http://evil.example', 'http://temporal.example:8234', `${UI}.evil.example`, 'null'])(
    'is required: a page of the origin %s gets no permission',
    async (origin) => {
      const asked = await preflight('/codec/decode', origin);
      expect(asked.status).toBe(204);
      expect(asked.headers.get('access-control-allow-origin')).toBeNull();
    },
  );

  it('gets no permission for any other route', async () => {
    const asked = await preflight('/v1/checkouts', UI);
    expect(asked.headers.get('access-control-allow-origin')).toBeNull();
    const address = await stack.request('GET', '/v1/codec-address', { key: KEYS.ops, headers: { origin: UI } });
    expect(address.headers.get('access-control-allow-origin')).toBeNull();
  });
});

it('without PAYLOAD_KEYS and TEMPORAL_UI_URL, the codec returns payloads unchanged and permits no page to call it', async () => {
  const bare = await Stack.start({ worker: false });
  try {
    const payloads = [plain({ a: 1 })];
    for (const path of ['/codec/encode', '/codec/decode']) {
      const options = { body: { payloads }, key: KEYS.ops, headers: { origin: UI } };
      const { body, headers } = await bare.request<Payloads>('POST', path, options);
      expect(body).toEqual({ payloads });
      expect(headers.get('access-control-allow-origin')).toBeNull();
    }
    const asked = await fetch(`${bare.api.url}/codec/decode`, { method: 'OPTIONS', headers: { origin: UI } });
    expect(asked.status).toBe(204);
    expect(asked.headers.get('access-control-allow-origin')).toBeNull();
  } finally {
    await bare.stop();
  }
});
