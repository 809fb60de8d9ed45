import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { EdgeApi } from '../support/edge.js';
import { KEYS, type ProblemJson } from '../support/stack.js';

type Sent = Omit<RequestInit, 'headers'> & { readonly headers?: Readonly<Record<string, string>> };

let api: EdgeApi;
beforeAll(async () => {
  api = await EdgeApi.start({ OPEN_RATE_LIMIT: '10000' });
});
afterAll(() => api.close());

/** Runs the check against an API with settings of its own. */
async function withApi(
  settings: Readonly<Record<string, string>>,
  check: (limited: EdgeApi) => Promise<void>,
): Promise<void> {
  const limited = await EdgeApi.start(settings);
  try {
    await check(limited);
  } finally {
    await limited.close();
  }
}

/** The statuses of so many requests at once, each with its count. */
async function statusesOf(count: number, ask: (n: number) => Promise<Response>): Promise<Map<number, number>> {
  const answers = await Promise.all(
    Array.from({ length: count }, async (_, n) => {
      const answer = await ask(n);
      await answer.arrayBuffer();
      return answer.status;
    }),
  );
  const counts = new Map<number, number>();
  for (const status of answers) counts.set(status, (counts.get(status) ?? 0) + 1);
  return counts;
}

describe('the description of the API', () => {
  it('has a strong ETag, and a request with this ETag gets 304 without a body', async () => {
    const first = await api.fetch('/openapi.json');
    const etag = first.headers.get('etag') ?? '';
    expect({ status: first.status, etag }).toEqual({ status: 200, etag: expect.stringMatching(/^"[\w-]+"$/) });
    expect(await first.json()).toHaveProperty('openapi');
    for (const known of [etag, `"other", ${etag}`, `W/${etag}`, '*']) {
      const again = await api.fetch('/openapi.json', { headers: { 'if-none-match': known } });
      expect({ status: again.status, body: await again.text() }).toEqual({ status: 304, body: '' });
    }
    expect((await api.fetch('/openapi.json', { headers: { 'if-none-match': '"other"' } })).status).toBe(200);
  });

  it('answers HEAD as GET, without the body', async () => {
    const whole = await api.fetch('/openapi.json');
    const head = await api.fetch('/openapi.json', { method: 'HEAD' });
    expect(head.status).toBe(200);
    expect(head.headers.get('etag')).toBe(whole.headers.get('etag'));
    expect(head.headers.get('content-length')).toBe(String((await whole.arrayBuffer()).byteLength));
  });

  it.each(['/docs-yaml', '/docs-json', '/docs/openapi.yaml', '/docs/..%2fpackage.json', '/docs/package.json'])(
    'is not served at %s',
    async (path) => {
      expect((await api.fetch(path)).status).toBe(404);
    },
  );

  it('is not served with DOCS_OPEN=false', async () => {
    await withApi({ DOCS_OPEN: 'false' }, async (closed) => {
      for (const path of ['/openapi.json', '/docs', '/docs/', '/docs/swagger-ui-bundle.js', '/docs/swagger-ui.css']) {
        expect({ path, status: (await closed.fetch(path)).status }).toEqual({ path, status: 404 });
      }
      expect((await closed.fetch('/health/live')).status).toBe(200);
    });
  });
});

describe('a flood from one address', () => {
  const FLOOD = 60;
  let limited: EdgeApi;
  beforeAll(async () => {
    limited = await EdgeApi.start({
      OPEN_RATE_LIMIT: '3',
      RATE_LIMIT: '3',
      TRUST_PROXY: '127.0.0.1',
      TEMPORAL_ADDRESS: inject('temporalAddress'),
    });
  });
  afterAll(() => limited.close());

  let floods = 0;
  /** Sends requests from an address that no other test uses. */
  const newAddress = () => {
    floods += 1;
    const forwarded = { 'x-forwarded-for': `192.0.2.${floods}` };
    return (path: string, init: Sent = {}) =>
      limited.fetch(path, { ...init, headers: { ...init.headers, ...forwarded } });
  };

  it.each<[string, string, Sent]>([
    ['without a key', '/v1/checkouts', {}],
    ['with wrong keys', '/v1/checkouts', { headers: { authorization: 'Bearer wrong' } }],
    ['at unknown routes', '/nothing', {}],
    ['at malformed addresses', '/v1/checkouts/%zz', {}],
    ['with wrong methods', '/v1/checkouts', { method: 'PUT' }],
    ['of preflights', '/v1/checkouts', { method: 'OPTIONS' }],
    ['of preflights of the codec', '/codec/decode', { method: 'OPTIONS' }],
    ['at the documentation', '/openapi.json', {}],
    ['at the pages of the errors', '/errors/not_found', {}],
    ['with a forged link', '/v1/checkouts/chk_default_a/qr?sig=forged', {}],
  ])('%s is limited', async (_, path, init) => {
    const send = newAddress();
    const statuses = await statusesOf(FLOOD, () => send(path, init));
    // A second may end during the flood, and each second has its own count.
    expect(statuses.get(429) ?? 0).toBeGreaterThan(FLOOD / 3);
  });

  it('gets a problem document with Retry-After', async () => {
    const send = newAddress();
    const answers = await Promise.all(Array.from({ length: FLOOD }, () => send('/nothing')));
    const refused = answers.find(({ status }) => status === 429);
    expect(refused?.headers.get('retry-after')).toBe('1');
    expect(await refused?.json()).toMatchObject({ code: 'rate_limited', status: 429, detail: expect.any(String) });
  });

  it('never limits the health routes', async () => {
    const send = newAddress();
    await statusesOf(FLOOD, () => send('/nothing'));
    expect(await statusesOf(FLOOD, () => send('/health/live'))).toEqual(new Map([[200, FLOOD]]));
    expect(await statusesOf(FLOOD, () => send('/health/ready'))).toEqual(new Map([[200, FLOOD]]));
  });

  it('does not limit a caller with a key at the same address', async () => {
    // The rate of a key has its own limit.
    await withApi({ OPEN_RATE_LIMIT: '3' }, async (generous) => {
      const anonymous = statusesOf(FLOOD, () => generous.fetch('/v1/checkouts'));
      // An id that no checkout can have is answered without Temporal.
      const known = statusesOf(FLOOD, () => generous.asOperator('/v1/checkouts/nonsense'));
      expect(await known).toEqual(new Map([[404, FLOOD]]));
      expect((await anonymous).get(429) ?? 0).toBeGreaterThan(0);
    });
  });
});

describe('the address of a client', () => {
  const from = (address: string): RequestInit => ({ headers: { 'x-forwarded-for': address } });
  const COUNT = 30;

  it('is the connection, whatever X-Forwarded-For says, while no proxy is trusted', async () => {
    await withApi({ OPEN_RATE_LIMIT: '5' }, async (limited) => {
      const statuses = await statusesOf(COUNT, (n) => limited.fetch('/nothing', from(`192.0.2.${n}`)));
      expect(statuses.get(429) ?? 0).toBeGreaterThan(0);
    });
  });

  it.each(['127.0.0.1', '10.0.0.0/8, 127.0.0.0/8', '1'])(
    'is the address that the proxy names, with TRUST_PROXY=%s',
    async (TRUST_PROXY) => {
      await withApi({ OPEN_RATE_LIMIT: '5', TRUST_PROXY }, async (limited) => {
        const many = await statusesOf(COUNT, (n) => limited.fetch('/nothing', from(`192.0.2.${n}`)));
        expect(many).toEqual(new Map([[404, COUNT]]));
        const one = await statusesOf(COUNT, () => limited.fetch('/nothing', from('198.51.100.7')));
        expect(one.get(429) ?? 0).toBeGreaterThan(0);
        // The API ignores addresses that a client wrote before the one that the proxy added.
        const forged = await statusesOf(COUNT, (n) => limited.fetch('/nothing', from(`192.0.2.${n}, 198.51.100.8`)));
        expect(forged.get(429) ?? 0).toBeGreaterThan(0);
      });
    },
  );

  it('counts by its /64 network when it is an IPv6 address', async () => {
    await withApi({ OPEN_RATE_LIMIT: '5', TRUST_PROXY: '127.0.0.1' }, async (limited) => {
      const same = await statusesOf(COUNT, (n) => limited.fetch('/nothing', from(`2001:db8:0:7::${n.toString(16)}`)));
      expect(same.get(429) ?? 0).toBeGreaterThan(0);
      const different = await statusesOf(COUNT, (n) => limited.fetch('/nothing', from(`2001:db8:1:${n}::1`)));
      expect(different).toEqual(new Map([[404, COUNT]]));
    });
  });
});

describe('the security headers', () => {
  it.each<[string, string, RequestInit]>([
    ['a page', '/docs', {}],
    ['JSON', '/health/live', {}],
    ['the page of an error', '/errors/not_found', {}],
    ['a refusal', '/v1/checkouts', {}],
    ['an unknown route', '/nothing', {}],
    ['a malformed address', '/v1/checkouts/%zz', {}],
    ['a preflight', '/v1/checkouts', { method: 'OPTIONS' }],
  ])(
    'of %s forbid a browser to guess the content type, to send a referrer and to show the answer in a frame',
    async (_, path, init) => {
      const { headers } = await api.fetch(path, init);
      expect(headers.get('x-content-type-options')).toBe('nosniff');
      expect(headers.get('referrer-policy')).toBe('no-referrer');
      expect(headers.get('content-security-policy')).toContain("default-src 'none'");
      expect(headers.get('content-security-policy')).toContain("frame-ancestors 'none'");
      expect(headers.get('strict-transport-security')).toBeNull();
    },
  );

  it('keep JSON out of caches', async () => {
    for (const path of ['/v1/checkouts/nonsense', '/health/live', '/nothing', '/v1/codec-address']) {
      expect({ path, cache: (await api.asOperator(path)).headers.get('cache-control') }).toEqual({
        path,
        cache: 'no-store',
      });
    }
  });

  it('include Strict-Transport-Security only when the client uses TLS', async () => {
    await withApi({ PUBLIC_URL: 'https://pay.example' }, async (behindTls) => {
      expect((await behindTls.fetch('/nothing')).headers.get('strict-transport-security')).toBe('max-age=31536000');
    });
    await withApi({ TRUST_PROXY: '127.0.0.1' }, async (proxied) => {
      const overTls = await proxied.fetch('/nothing', { headers: { 'x-forwarded-proto': 'https' } });
      expect(overTls.headers.get('strict-transport-security')).toBe('max-age=31536000');
      expect((await proxied.fetch('/nothing')).headers.get('strict-transport-security')).toBeNull();
    });
    const untrusted = await api.fetch('/nothing', { headers: { 'x-forwarded-proto': 'https' } });
    expect(untrusted.headers.get('strict-transport-security')).toBeNull();
  });
});

it('GET /metrics needs an ops key', async () => {
  const answer = await api.fetch('/metrics', { headers: { authorization: `Bearer ${KEYS.checkout}` } });
  expect(answer.status).toBe(403);
  expect((await answer.json()) as ProblemJson).toMatchObject({ code: 'forbidden' });
  expect((await api.fetch('/metrics')).status).toBe(401);
});
