import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { connect } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { answerOf, EdgeApi, problemOf, type RawAnswer } from '../support/edge.js';
import { KEYS, type ProblemJson } from '../support/stack.js';

let api: EdgeApi;
beforeAll(async () => {
  api = await EdgeApi.start({ OPEN_RATE_LIMIT: '10000' });
});
afterAll(() => api.close());

const KEY = `Authorization: Bearer ${KEYS.ops}`;
const CLOSE = 'Host: a\r\nConnection: close';

/** The head of a request, without its last empty line. */
const head = (start: string, ...lines: string[]): string => [start, ...lines].join('\r\n');

function expectProblem(answer: RawAnswer, status: number, code: string): ProblemJson {
  const problem = problemOf(answer);
  expect({ status: answer.status, type: answer.headers.get('content-type') }).toEqual({
    status,
    type: 'application/problem+json; charset=utf-8',
  });
  expect(problem).toEqual({
    type: `${api.url}/errors/${code}`,
    title: expect.stringMatching(/./),
    status,
    code,
    detail: expect.stringMatching(/./),
    request_id: expect.stringMatching(/^[0-9a-f-]{36}$/),
  });
  expect(answer.headers.get('x-request-id')).toBe(problem.request_id);
  expect(answer.headers.get('x-content-type-options')).toBe('nosniff');
  expect(answer.headers.get('referrer-policy')).toBe('no-referrer');
  expect(answer.headers.get('content-security-policy')).toContain("default-src 'none'");
  expect(answer.headers.get('cache-control')).toBe('no-store');
  return problem;
}

describe('a request without a key', () => {
  it.each([
    'POST /v1/checkouts',
    'POST /v1/checkouts/chk_default_a/refunds',
    'POST /v1/checkouts/chk_default_a/cancel',
    'POST /v1/reconciliations',
    'POST /v1/recurring-plans',
    'PATCH /v1/account',
    'POST /v1/disputes/dspt_test_a/evidence',
    'POST /codec/decode',
    'POST /codec/1.forged/decode',
  ])('to %s is refused before its body arrives', async (start) => {
    // The body never comes: an API that reads it first does not answer.
    const answer = await api.raw(
      `${head(`${start} HTTP/1.1`, CLOSE, 'Content-Type: application/json', 'Content-Length: 100')}\r\n\r\n`,
    );
    expectProblem(answer, 401, 'unauthorized');
  });

  it('is also refused when Authorization has text after the key, another scheme, or two keys', async () => {
    for (const authorization of [`Bearer ${KEYS.ops} junk`, `Bearer ${KEYS.ops},x`, KEYS.ops, `Basic ${KEYS.ops}`]) {
      const answer = await api.fetch('/v1/codec-address', { headers: { authorization } });
      expect({ authorization, status: answer.status }).toEqual({ authorization, status: 401 });
    }
    const twice = await api.raw(`${head('GET /v1/codec-address HTTP/1.1', CLOSE, KEY, KEY)}\r\n\r\n`);
    expectProblem(twice, 401, 'unauthorized');
    expect((await api.asOperator('/v1/codec-address')).status).toBe(200);
  });
});

describe('an Expect header', () => {
  const start = head('POST /v1/checkouts HTTP/1.1', CLOSE, 'Content-Type: application/json', 'Content-Length: 2');

  it('with 100-continue gets 100 only when the caller may send the body', async () => {
    const refused = await api.raw(`${head(start, 'Expect: 100-continue')}\r\n\r\n`);
    expectProblem(refused, 401, 'unauthorized');
    const socket = api.connect();
    socket.write(`${head(start, KEY, 'Expect: 100-continue')}\r\n\r\n`);
    const [go] = (await once(socket, 'data')) as [Buffer];
    expect(go.toString()).toBe('HTTP/1.1 100 Continue\r\n\r\n');
    socket.write('{}');
    expect((await answerOf(socket)).status).toBe(400);
  });

  it('with an unknown value is ignored', async () => {
    const answer = await api.raw(`${head(start, 'Expect: a miracle')}\r\n\r\n`);
    expectProblem(answer, 401, 'unauthorized');
  });
});

describe('a body', () => {
  const post = (body: string, path = '/v1/checkouts'): Promise<Response> =>
    api.asOperator(path, { method: 'POST', headers: { 'content-type': 'application/json' }, body });

  it('that is not UTF-8 is refused with 400, not stored with other characters', async () => {
    const text = '{"reference":"a","amount":5000,"currency":"THB","description":"caf\u00e9"}';
    const init = { method: 'POST', headers: { 'content-type': 'application/json' }, body: Buffer.from(text, 'latin1') };
    const answer = await api.asOperator('/v1/checkouts', init);
    expect(answer.status).toBe(400);
    expect(((await answer.json()) as ProblemJson).detail).toContain('UTF-8');
  });

  it.each(['[', '{"a":'])('that nests deep with %s is refused with 400 on every route', async (opening) => {
    const deep = opening.repeat(20_000);
    for (const path of ['/v1/checkouts', '/codec/decode', '/v1/reconciliations', '/v1/recurring-plans']) {
      const answer = await post(deep, path);
      expect({ path, status: answer.status }).toEqual({ path, status: 400 });
      expect(await answer.json()).toMatchObject({ code: 'invalid_request', detail: expect.stringContaining('nests') });
    }
  });

  it('with many brackets inside a text is not refused as too deep', async () => {
    const answer = await post(JSON.stringify({ reference: '[{'.repeat(1_000) + '"'.repeat(3) }));
    expect(await answer.json()).toMatchObject({ code: 'invalid_request', detail: 'See errors' });
  });

  const NAMES = ['constructor', '__proto__', 'prototype'];

  it.each(NAMES)(
    'with a field named %s at any depth is refused with 400; the API does not just drop the field',
    async (name) => {
      const sale = { reference: 'a', amount: 150_000, currency: 'THB' };
      const bodies = [
        JSON.stringify({ ...sale, metadata: { x: 'y' } }).replace('"x"', `"${name}"`),
        JSON.stringify({ ...sale, x: 'y' }).replace('"x"', `"${name}"`),
        JSON.stringify({ ...sale, metadata: { x: { z: 1 } } }).replace('"x"', `"${name}"`),
        JSON.stringify({ ...sale, metadata: { x: 'y' } }).replace(
          '"x"',
          `"\\u00${name.charCodeAt(0).toString(16)}${name.slice(1)}"`,
        ),
      ];
      for (const body of bodies) {
        const answer = await post(body);
        expect({ body, status: answer.status }).toEqual({ body, status: 400 });
        expect(await answer.json()).toMatchObject({ errors: [{ path: expect.stringContaining(name) }] });
      }
    },
  );

  it.each(['constructor', '__proto__', 'prototype', 'toString', 'hasOwnProperty'])(
    'a query with the name %s is refused with 400',
    async (name) => {
      for (const path of ['/v1/checkouts', '/v1/receipts', '/v1/reconciliations']) {
        const answer = await api.asOperator(`${path}?${name}=1`);
        expect({ path, status: answer.status }).toEqual({ path, status: 400 });
      }
    },
  );
});

describe('the Host header', () => {
  it.each([
    ['named twice', ['Host: a', 'Host: a']],
    ['named twice, differently', ['Host: a', 'Host: b']],
    ['not named', []],
    ['with a path', ['Host: a/b']],
    ['with a user', ['Host: me@a']],
    ['with a blank', ['Host: a b']],
    ['with no port behind its colon', ['Host: a:b']],
    ['that is empty', ['Host: ']],
  ])('(%s) is refused with 400', async (_, hosts) => {
    const answer = await api.raw(`${head('GET /health/live HTTP/1.1', ...hosts, 'Connection: close')}\r\n\r\n`);
    expectProblem(answer, 400, 'invalid_request');
  });

  it.each(['a', 'a:80', '127.0.0.1:3000', '[::1]:3000', 'till-7.shop.example.'])(
    'with the value %s is accepted',
    async (host) => {
      const answer = await api.raw(
        `${head('GET /health/live HTTP/1.1', `Host: ${host}`, 'Connection: close')}\r\n\r\n`,
      );
      expect(answer.status).toBe(200);
    },
  );

  it('may be left out in HTTP/1.0, as some health checks do', async () => {
    expect((await api.raw('GET /health/live HTTP/1.0\r\n\r\n')).status).toBe(200);
  });
});

describe('a method that a route does not have', () => {
  it.each([
    ['PUT', '/v1/checkouts', 'GET, HEAD, POST, OPTIONS'],
    ['DELETE', '/v1/checkouts/chk_default_a', 'GET, HEAD, OPTIONS'],
    ['GET', '/v1/checkouts/chk_default_a/cancel', 'POST, OPTIONS'],
    ['POST', '/v1/account', 'GET, HEAD, PATCH, OPTIONS'],
    ['POST', '/health/live', 'GET, HEAD, OPTIONS'],
    ['GET', '/webhooks/provider', 'POST, OPTIONS'],
    ['POST', '/openapi.json', 'GET, HEAD, OPTIONS'],
    ['QUERY', '/v1/checkouts', 'GET, HEAD, POST, OPTIONS'],
    ['TRACE', '/v1/checkouts', 'GET, HEAD, POST, OPTIONS'],
    ['PROPFIND', '/v1/checkouts', 'GET, HEAD, POST, OPTIONS'],
    ['M-SEARCH', '/v1/checkouts?limit=1', 'GET, HEAD, POST, OPTIONS'],
  ])('(%s %s) gets 405, and Allow lists the methods of the route', async (method, path, allow) => {
    const answer = await api.raw(`${head(`${method} ${path} HTTP/1.1`, CLOSE, KEY)}\r\n\r\n`);
    expectProblem(answer, 405, 'method_not_allowed');
    expect(answer.headers.get('allow')).toBe(allow);
  });

  it('is missing in the Allow header of OPTIONS, which gets 204 and gives other origins no permission', async () => {
    const answer = await api.fetch('/v1/checkouts', {
      method: 'OPTIONS',
      headers: { origin: 'https://other.example', 'access-control-request-method': 'POST' },
    });
    expect(answer.status).toBe(204);
    expect(answer.headers.get('allow')).toBe('GET, HEAD, POST, OPTIONS');
    expect([...answer.headers.keys()].filter((name) => name.startsWith('access-control'))).toEqual([]);
  });

  it.each(['/nothing', '/v1/checkouts//qr', '/v1/checkouts/'])(
    'gets 404 at %s, where there is no route',
    async (path) => {
      for (const method of ['GET', 'PUT', 'OPTIONS']) {
        expect({ method, status: (await api.asOperator(path, { method })).status }).toEqual({ method, status: 404 });
      }
    },
  );

  it.each(['NONSENSE', 'get', 'CONNECT'])(
    '(%s) gets 400, because the API does not accept it as an HTTP method',
    async (method) => {
      const target = method === 'CONNECT' ? 'a:80' : '/v1/checkouts';
      expectProblem(await api.raw(`${method} ${target} HTTP/1.1\r\n${CLOSE}\r\n\r\n`), 400, 'invalid_request');
    },
  );
});

it('a client that sends CONNECT and breaks the connection does not end the API', async () => {
  const { hostname, port } = new URL(api.url);
  for (let tries = 0; tries < 20; tries += 1) {
    const socket = connect({ host: hostname, port: Number(port), allowHalfOpen: true });
    socket.write('CONNECT a:80 HTTP/1.1\r\nHost: a\r\n\r\n');
    // Odd ones wait for the answer.
    await once(socket, tries % 2 === 0 ? 'connect' : 'data');
    socket.resetAndDestroy();
  }
  expect((await fetch(`${api.url}/health/live`)).status).toBe(200);
});

describe('a request with a deep text in place of a session', () => {
  const deep = Buffer.from('['.repeat(6_000) + ']'.repeat(6_000)).toString('base64url');
  const SESSION = `Authorization: Bearer tills_${deep}.x`;

  it.each([
    ['a route', '/v1/checkouts', 401],
    ['a path that cannot be decoded', '/%zz', 400],
    ['a path with a long part', `/v1/checkouts/${'a'.repeat(300)}`, 400],
  ])('is refused at %s, and does not end the API', async (_, path, refused) => {
    const { status } = await api.raw(`${head(`GET ${path} HTTP/1.1`, CLOSE, SESSION)}\r\n\r\n`);
    expect(status).toBe(refused);
    expect((await fetch(`${api.url}/health/live`)).status).toBe(200);
  });
});

it('CONNECT behind a request in progress gets no answer, because the client would take it for that of the request', async () => {
  // Temporal is not there: this takes a second.
  const working = head('GET /v1/checkouts/chk_default_a HTTP/1.1', 'Host: a', KEY);
  await expect(api.raw(`${working}\r\n\r\nCONNECT a:80 HTTP/1.1\r\nHost: a\r\n\r\n`)).rejects.toThrow(
    'closed after ""',
  );
});

describe('bytes that are not HTTP', () => {
  it.each([
    ['no request line', 'nonsense\r\n\r\n', 400, 'invalid_request'],
    ['a broken header', `GET / HTTP/1.1\r\n${CLOSE}\r\na b: c\r\n\r\n`, 400, 'invalid_request'],
    [
      'two lengths',
      `POST / HTTP/1.1\r\n${CLOSE}\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n`,
      400,
      'invalid_request',
    ],
    ['too large a head', `GET / HTTP/1.1\r\n${CLOSE}\r\nX: ${'x'.repeat(40_000)}\r\n\r\n`, 431, 'headers_too_large'],
  ])('(%s) get a complete problem document', async (_, text, status, code) => {
    expectProblem(await api.raw(text), status, code);
  });

  it('after a request in progress get no answer, because the client would take it for the answer to that request', async () => {
    // Temporal is not there: this takes a second.
    const working = head('GET /v1/checkouts/chk_default_a HTTP/1.1', 'Host: a', KEY);
    await expect(api.raw(`${working}\r\n\r\nnonsense\r\n\r\n`)).rejects.toThrow('closed after ""');
  });
});

describe('the signature of a link', () => {
  it.each([
    '/v1/checkouts/%zz/qr?sig=SECRET-SIGNATURE',
    '/v1/checkouts/%zz?sig=SECRET-SIGNATURE',
    `/v1/checkouts/${'a'.repeat(300)}/qr?sig=SECRET-SIGNATURE`,
    '/v1/nothing?sig=SECRET-SIGNATURE',
    '/v1/checkouts/chk_default_a/qr?sig=SECRET-SIGNATURE',
  ])('is in no answer and in no log (%#)', async (path) => {
    const answer = await api.raw(`${head(`GET ${path} HTTP/1.1`, CLOSE)}\r\n\r\n`);
    expect(answer.status).toBeGreaterThanOrEqual(400);
    expect(JSON.stringify([...answer.headers, answer.body])).not.toContain('SECRET-SIGNATURE');
    expect(api.logs.join('')).not.toContain('SECRET-SIGNATURE');
  });

  it('a request with a malformed address is logged once', async () => {
    const { request_id } = problemOf(await api.raw(`${head('GET /v1/checkouts/%zz HTTP/1.1', CLOSE)}\r\n\r\n`));
    await expect.poll(() => api.logs.filter((line) => line.includes(request_id)).length).toBe(1);
  });
});

describe('a request that arrives slowly', () => {
  let slow: EdgeApi;
  beforeAll(async () => {
    slow = await EdgeApi.start({ REQUEST_TIMEOUT_MS: '1000', OPEN_RATE_LIMIT: '10000' });
  });
  afterAll(() => slow.close());

  /** Writes a byte each 100 ms until the connection is closed. */
  async function drip(start: string, byte: string): Promise<RawAnswer> {
    const { hostname, port } = new URL(slow.url);
    const socket = connect(Number(port), hostname);
    const timer = setInterval(() => socket.write(byte), 100);
    socket.write(start);
    try {
      const answered = answerOf(socket);
      await once(socket, 'close');
      return await answered;
    } finally {
      clearInterval(timer);
    }
  }

  const body = 'Host: a\r\nContent-Type: application/json\r\nContent-Length: 1000';

  it('loses its connection when its sender reads no answer', async () => {
    const { hostname, port } = new URL(slow.url);
    const socket = connect(Number(port), hostname);
    const asked = 40;
    socket.write('GET /docs/swagger-ui-bundle.js HTTP/1.1\r\nHost: a\r\n\r\n'.repeat(asked));
    await pause(3_000);
    let received = 0;
    socket.on('data', (chunk: Buffer) => (received += chunk.length)).on('error', () => undefined);
    await once(socket, 'close');
    const { headers } = await slow.fetch('/docs/swagger-ui-bundle.js', { method: 'HEAD' });
    expect(received).toBeLessThan(asked * Number(headers.get('content-length')));
  });

  it('in its body is answered 408, and its connection is closed', async () => {
    const answer = await drip(`POST /v1/checkouts HTTP/1.1\r\n${KEY}\r\n${body}\r\n\r\n`, ' ');
    expect(answer.status).toBe(408);
    expect(problemOf(answer)).toMatchObject({ code: 'request_timeout', status: 408 });
    expect(answer.headers.get('connection')).toBe('close');
  });

  it('in its head is answered 408, and its connection is closed', async () => {
    const answer = await drip('GET /health/live HTTP/1.1\r\nHost: a\r\nX: ', 'x');
    expect(answer.status).toBe(408);
    expect(problemOf(answer)).toMatchObject({ code: 'request_timeout', status: 408 });
  });

  it.each([
    ['to the webhooks', 'POST /webhooks/provider HTTP/1.1'],
    ['in chunks', `POST /v1/checkouts HTTP/1.1\r\n${KEY}\r\nTransfer-Encoding: chunked\r\nX: y`],
  ])('%s is answered 408', async (_, start) => {
    const length = start.includes('chunked') ? 'Host: a\r\nContent-Type: application/json' : body;
    const answer = await drip(`${start}\r\n${length}\r\n\r\n`, start.includes('chunked') ? '1\r\n \r\n' : ' ');
    expect(answer.status).toBe(408);
  });

  it.each([
    ['without a key', ''],
    ['with a key of the wrong role', `Authorization: Bearer ${KEYS.checkout}\r\n`],
  ])('with evidence %s does not get the time of an upload', async (_, authorization) => {
    const socket = slow.connect();
    const closed = once(socket, 'close');
    socket.resume();
    socket.write(`POST /v1/disputes/dspt_test_a/evidence HTTP/1.1\r\n${authorization}${body}\r\n\r\n`);
    expect(await closed).toBeDefined();
  });

  it('with evidence and the key for it gets the time of an upload', async () => {
    const socket = slow.connect();
    let isClosed = false;
    socket.once('close', () => (isClosed = true)).resume();
    const multipart = 'Host: a\r\nContent-Type: multipart/form-data; boundary=x\r\nContent-Length: 1000';
    socket.write(`POST /v1/disputes/dspt_test_a/evidence HTTP/1.1\r\n${KEY}\r\n${multipart}\r\n\r\n--x\r\n`);
    await pause(2_500);
    expect(isClosed).toBe(false);
    socket.destroy();
  });

  it('is not an idle connection between two requests, which stays open', async () => {
    const socket = slow.connect();
    const get = 'GET /health/live HTTP/1.1\r\nHost: a\r\n\r\n';
    let received = '';
    socket.on('data', (chunk) => (received += chunk.toString()));
    socket.write(get);
    await pause(2_500);
    socket.write(get);
    await expect.poll(() => received.match(/HTTP\/1\.1 200/g)?.length).toBe(2);
    socket.destroy();
  });
});

it('a change whose caller disconnects before the answer is in the log and in the audit', async () => {
  const socket = api.connect();
  const checkout = `chk_default_${randomUUID()}`;
  socket.end(`POST /v1/checkouts/${checkout}/cancel HTTP/1.1\r\nHost: a\r\n${KEY}\r\nContent-Length: 0\r\n\r\n`, () =>
    socket.destroy(),
  );
  type Line = { readonly request_id?: string; readonly audit?: { readonly target: { readonly id?: string } } };
  const lines = () => {
    const all = api.logs.map((line) => JSON.parse(line) as Line);
    const id = all.find(({ audit }) => audit?.target.id === checkout)?.request_id;
    return all.filter(({ request_id }) => id !== undefined && request_id === id);
  };
  await expect
    .poll(lines, { timeout: 20_000 })
    .toMatchObject([
      { msg: 'request failed' },
      { msg: 'request', method: 'POST', status: 503, disconnected: true },
      { msg: 'audit', audit: { operation: 'cancelCheckout', status: 503 } },
    ]);
});
