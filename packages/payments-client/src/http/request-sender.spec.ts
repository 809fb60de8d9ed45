import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { Agent, MockAgent, Pool } from 'undici';
import { describe, expect, onTestFinished, test } from 'vitest';
import {
  type Answer,
  chargeOf,
  clientOf,
  deadAddress,
  provider,
  PUBLIC_KEY,
  refundOf,
  refuse,
  reply,
  reset,
  sourceOf,
  stall,
  tcpProvider,
  virtualClock,
} from '../../test/provider.js';
import type { PaymentsClient } from '../client.js';
import {
  AuthenticationError,
  ConnectionError,
  InvalidRequestError,
  NotFoundError,
  type Outcome,
  PaymentsError,
  PermissionError,
  RateLimitError,
  RequestAbortedError,
  ServerError,
  TimeoutError,
  UnexpectedResponseError,
} from '../errors.js';
import type { RequestOptions } from '../options.js';
import { path } from '../request/path.js';
import { z } from 'zod';
import { resolveSettings } from '../options.js';
import { RequestSender } from './request-sender.js';
import { SECRET_KEY } from '../../test/provider.js';
import { REQUEST_CHANNEL, type RequestReport } from './reporting.js';

const money = { amount: 150_000, currency: 'THB' };
const create = (client: PaymentsClient, options?: RequestOptions): Promise<unknown> =>
  client.charges.create({ ...money, source: { type: 'wallet_mpm' } }, options);
const retrieve = (client: PaymentsClient, options?: RequestOptions): Promise<unknown> =>
  client.charges.retrieve('chrg_test_1', options);

/** The error of a call that must fail. */
async function failureOf(call: Promise<unknown>): Promise<PaymentsError> {
  const error = await call.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  if (!(error instanceof PaymentsError)) throw new Error(`expected a PaymentsError, got ${String(error)}`);
  return error;
}

const paid = reply(200, chargeOf({ status: 'successful', paid: true }));
const ok = reply(200, chargeOf());

describe('what is sent', () => {
  test('a charge is created by one form request with Basic credentials and the version header', async () => {
    const fake = await provider(ok);
    await create(clientOf(fake, { apiVersion: '2025-06-09', userAgent: 'till/1' }));
    expect(fake.seen).toMatchObject([
      {
        method: 'POST',
        url: '/charges',
        headers: {
          authorization: `Basic ${Buffer.from(`${SECRET_KEY}:`).toString('base64')}`,
          accept: 'application/json',
          'content-type': 'application/x-www-form-urlencoded',
          'api-version': '2025-06-09',
          'user-agent': 'till/1',
        },
        body: 'amount=150000&currency=THB&source%5Btype%5D=wallet_mpm',
      },
    ]);
  });

  test('without a version there is no version header, and its name can be set', async () => {
    const fake = await provider(ok);
    await retrieve(clientOf(fake));
    await retrieve(clientOf(fake, { apiVersion: '2025-06-09', apiVersionHeader: 'X-Version' }));
    expect(fake.seen[0]?.headers).not.toHaveProperty('api-version');
    expect(fake.seen[1]?.headers).toMatchObject({ 'x-version': '2025-06-09' });
  });

  test('a base address keeps its path, with or without a final slash', async () => {
    const fake = await provider(ok);
    await retrieve(clientOf({ baseUrl: `${fake.baseUrl}/gateway/v1/` }));
    await retrieve(clientOf({ baseUrl: `${fake.baseUrl}/gateway/v1` }));
    expect(fake.seen.map(({ url }) => url)).toEqual([
      '/gateway/v1/charges/chrg_test_1',
      '/gateway/v1/charges/chrg_test_1',
    ]);
  });

  test("the public key signs only where useKey is 'public'", async () => {
    const fake = await provider(reply(200, sourceOf()));
    const client = clientOf(fake, { publicKey: PUBLIC_KEY });
    await client.sources.create({ ...money, type: 'wallet_mpm' }, { useKey: 'public' });
    await client.sources.retrieve('src_test_1');
    expect(fake.seen.map(({ headers }) => headers.authorization)).toEqual([
      `Basic ${Buffer.from(`${PUBLIC_KEY}:`).toString('base64')}`,
      `Basic ${Buffer.from(`${SECRET_KEY}:`).toString('base64')}`,
    ]);
  });

  test('without a public key, useKey public sends nothing', async () => {
    const fake = await provider(reply(200, sourceOf()));
    const error = await failureOf(
      clientOf(fake).sources.create({ ...money, type: 'wallet_mpm' }, { useKey: 'public' }),
    );
    expect(error).toMatchObject({ code: 'missing_public_key', outcome: 'not_sent', retryable: false });
    expect(fake.seen).toEqual([]);
  });

  test('a POST without parameters has a body of length 0 and no content type', async () => {
    const fake = await provider(ok);
    await clientOf(fake).charges.expire('chrg_test_1');
    expect(fake.seen[0]).toMatchObject({ method: 'POST', body: '', headers: { 'content-length': '0' } });
    expect(fake.seen[0]?.headers).not.toHaveProperty('content-type');
  });

  test('an encoded body goes out as it is, under its own content type', async () => {
    const fake = await provider(reply(200, {}));
    const http = new RequestSender(resolveSettings({ baseUrl: fake.baseUrl, secretKey: SECRET_KEY }));
    const body = { contentType: 'multipart/form-data; boundary=b', bytes: Buffer.from('--b--\r\n') };
    await http.upload(
      path`/disputes/${'dspt_1'}/documents`,
      () => Promise.resolve(body),
      z.looseObject({}),
      undefined,
      () => [],
    );
    await http.close();
    expect(fake.seen[0]).toMatchObject({
      body: '--b--\r\n',
      headers: { 'content-type': 'multipart/form-data; boundary=b', 'content-length': '7' },
    });
  });

  test.each(['', ' ', '.', '..', '\ud800'])('the id %j is refused before anything is sent', async (id) => {
    const fake = await provider(ok);
    const error = await failureOf(clientOf(fake).charges.retrieve(id));
    expect(error).toBeInstanceOf(InvalidRequestError);
    expect(error).toMatchObject({ code: 'invalid_id', outcome: 'not_sent', retryable: false });
    expect(fake.seen).toEqual([]);
  });

  test('an id cannot leave its place in the path', async () => {
    const id = '../events?x=1#%2e';
    const fake = await provider(reply(200, chargeOf({ id })));
    await clientOf(fake).charges.retrieve(id);
    expect(fake.seen[0]?.url).toBe('/charges/..%2Fevents%3Fx%3D1%23%252e');
  });

  test.each([{ timeoutMs: 0 }, { deadlineMs: Number.NaN }, { maxRetries: 1.5 }, { maxRetries: -1 }])(
    'the option %j is refused before anything is sent',
    async (options) => {
      const fake = await provider(ok);
      expect(await failureOf(create(clientOf(fake), options))).toMatchObject({
        code: 'invalid_option',
        outcome: 'not_sent',
      });
      expect(fake.seen).toEqual([]);
    },
  );
});

describe('refusals', () => {
  test.each([
    [400, InvalidRequestError],
    [401, AuthenticationError],
    [402, PaymentsError],
    [403, PermissionError],
    [404, NotFoundError],
    [409, PaymentsError],
    [418, PaymentsError],
    [422, InvalidRequestError],
  ])("a %i is a definite refusal, never tried again, and tells the provider's own words", async (status, type) => {
    const fake = await provider(refuse(status, 'some_code', 'some words', { 'x-request-id': 'req_1' }));
    const error = await failureOf(create(clientOf(fake)));
    expect(error).toBeInstanceOf(type);
    expect(error.constructor).toBe(type);
    expect(error).toMatchObject({
      code: 'some_code',
      status,
      outcome: 'rejected',
      retryable: false,
      requestId: 'req_1',
      location: '/errors#some_code',
    });
    expect(error.message).toContain('some words');
    expect(fake.seen).toHaveLength(1);
  });

  test.each(['', '<html>no</html>', '[]', 'null', '{"code":5}', '{"code":""}'])(
    'a 400 with the body %j is a definite refusal all the same',
    async (body) => {
      const fake = await provider(reply(400, body));
      const error = await failureOf(create(clientOf(fake)));
      expect(error).toBeInstanceOf(InvalidRequestError);
      expect(error).toMatchObject({ code: 'http_400', outcome: 'rejected' });
    },
  );

  test('a 4xx whose body breaks off, stalls or is no valid HTTP is still a definite refusal', async () => {
    const cut = await tcpProvider((socket) => socket.end('HTTP/1.1 400 Bad\r\ncontent-length: 90\r\n\r\n{"code'));
    expect(await failureOf(create(clientOf(cut)))).toMatchObject({ outcome: 'rejected', status: 400 });
    const garbled = await tcpProvider((socket) =>
      socket.end('HTTP/1.1 404 No\r\ntransfer-encoding: chunked\r\n\r\nthis is no chunk'),
    );
    expect(await failureOf(create(clientOf(garbled)))).toBeInstanceOf(NotFoundError);
    const stalled = await tcpProvider((socket) => socket.write('HTTP/1.1 422 No\r\ncontent-length: 90\r\n\r\n{"code'));
    expect(await failureOf(create(clientOf(stalled), { timeoutMs: 50 }))).toMatchObject({
      outcome: 'rejected',
      status: 422,
    });
    expect([cut.requests.length, garbled.requests.length, stalled.requests.length]).toEqual([1, 1, 1]);
  });

  test.each([301, 302, 303, 307, 308, 304])('a %i is never followed and leaves the outcome unknown', async (status) => {
    const fake = await provider(reply(status, '', { location: '/elsewhere' }));
    for (const call of [create, retrieve]) {
      const error = await failureOf(call(clientOf(fake)));
      expect(error).toBeInstanceOf(UnexpectedResponseError);
      expect(error).toMatchObject({ outcome: 'unknown', retryable: false, status, location: '/elsewhere' });
    }
    expect(fake.seen.map(({ url }) => url)).toEqual(['/charges', '/charges/chrg_test_1']);
  });
});

describe('a success that cannot be believed', () => {
  test.each([
    ['nothing', ''],
    ['HTML', '<html>'],
    ['half a JSON text', '{"object":"charge"'],
    ['null', 'null'],
    ['another object', JSON.stringify(sourceOf())],
    ['a charge without id', JSON.stringify(chargeOf({ id: undefined }))],
    ['a charge whose amount is text', JSON.stringify(chargeOf({ amount: '150000' }))],
    ['a charge whose amount is no whole number', JSON.stringify(chargeOf({ amount: 1500.5 }))],
    ['a charge without status', JSON.stringify(chargeOf({ status: null }))],
  ])('%s instead of a charge leaves the outcome unknown, for POST and GET, in one request', async (_, body) => {
    const fake = await provider(reply(200, body, { 'x-request-id': 'req_2' }));
    for (const call of [create, retrieve]) {
      const error = await failureOf(call(clientOf(fake)));
      expect(error).toBeInstanceOf(UnexpectedResponseError);
      expect(error).toMatchObject({
        code: 'unexpected_response',
        outcome: 'unknown',
        retryable: false,
        status: 200,
        requestId: 'req_2',
      });
    }
    expect(fake.seen).toHaveLength(2);
  });

  test('a body beyond the size limit is given up', async () => {
    const endless: Answer = (response) => {
      response.writeHead(200);
      const chunk = Buffer.alloc(1024 * 1024, 32);
      const more = (): void => {
        if (!response.destroyed) response.write(chunk, more);
      };
      more();
    };
    const fake = await provider(endless);
    const error = await failureOf(retrieve(clientOf(fake)));
    expect(error).toBeInstanceOf(UnexpectedResponseError);
    expect(error).toMatchObject({ outcome: 'unknown' });
  });

  test('what is not HTTP leaves the outcome unknown and is not asked for again', async () => {
    const fake = await tcpProvider((socket) => socket.end('SSH-2.0-OpenSSH_9.2\r\n'));
    for (const call of [create, retrieve]) {
      const error = await failureOf(call(clientOf(fake)));
      expect(error).toBeInstanceOf(UnexpectedResponseError);
      expect(error).toMatchObject({ outcome: 'unknown' });
    }
    expect(fake.requests).toHaveLength(2);
  });

  test('a long reply is read as it was sent, wherever its characters are cut', async () => {
    const long = { description: 'ก๋วยเตี๋ยว 🍜 é '.repeat(20_000), metadata: { order: '拉麵'.repeat(1_000) } };
    const bytes = Buffer.from(JSON.stringify(chargeOf(long)));
    const fake = await provider((response) => {
      response.writeHead(200, { 'content-length': bytes.length });
      // Odd lengths cut characters of two, three and four bytes.
      for (let at = 0; at < bytes.length; at += 4_099) response.write(bytes.subarray(at, at + 4_099));
      response.end();
    });
    expect(await clientOf(fake).charges.retrieve('chrg_test_1')).toEqual(chargeOf(long));
  });

  test('fields and values that the client does not know survive', async () => {
    const unknown = { status: 'under_review', new_field: { deep: [1] }, source: sourceOf({ flow: 'teleport', x: 1 }) };
    const fake = await provider(reply(200, chargeOf(unknown)));
    expect(await clientOf(fake).charges.retrieve('chrg_test_1')).toMatchObject(unknown);
  });

  test('a field that decides nothing never hides a payment, whatever its type', async () => {
    const odd = { fee: 'free', refunds: 7, description: { a: 1 }, net: null };
    const fake = await provider(reply(200, chargeOf(odd)));
    expect(await clientOf(fake).charges.retrieve('chrg_test_1')).toMatchObject(odd);
  });
});

describe('a POST of unknown outcome', () => {
  test.each<[string, Answer, typeof PaymentsError]>([
    ['500', refuse(500, 'internal'), ServerError],
    ['502 in HTML', reply(502, '<html>'), ServerError],
    ['503 with Retry-After', refuse(503, 'busy', 'busy', { 'retry-after': '1' }), ServerError],
    ['a reset after reading', reset, ConnectionError],
    ['silence', stall, TimeoutError],
    ['a half-sent head', (response) => response.socket?.end('HTTP/1.1 200 OK\r\ncontent-le'), ConnectionError],
    [
      'a truncated body',
      (response) => {
        response.writeHead(200, { 'content-length': '900' });
        response.write('{"object":"charge"', () => response.socket?.destroy());
      },
      ConnectionError,
    ],
    [
      'a body that stalls',
      (response) => {
        response.writeHead(200, { 'content-length': '900' });
        response.write('{"object":"charge"');
      },
      TimeoutError,
    ],
    [
      'a truncated chunked body',
      (response) => {
        response.writeHead(200);
        response.write('{"object":"charge"', () => response.socket?.destroy());
      },
      ConnectionError,
    ],
  ])('%s: one request, outcome unknown, not retryable', async (_, answer, type) => {
    const fake = await provider(answer);
    const error = await failureOf(create(clientOf(fake), { timeoutMs: 150, maxRetries: 5 }));
    expect(error).toBeInstanceOf(type);
    expect(error).toMatchObject({ outcome: 'unknown', retryable: false });
    expect(fake.seen).toHaveLength(1);
  });

  test('a reset before the request was read is unknown too: bytes had left', async () => {
    const fake = await tcpProvider((socket) => socket.resetAndDestroy());
    const error = await failureOf(create(clientOf(fake)));
    expect(error).toBeInstanceOf(ConnectionError);
    expect(error).toMatchObject({ outcome: 'unknown', code: 'connection_lost' });
    expect(fake.requests).toHaveLength(1);
  });

  test('a kept-alive socket that the provider closes while a POST is written never carries that POST twice', async () => {
    // The first request is answered with keep-alive; the second on the same socket is cut.
    const body = JSON.stringify(chargeOf());
    const fake = await tcpProvider((socket, _text, nth) => {
      if (nth === 1) socket.write(`HTTP/1.1 200 OK\r\ncontent-length: ${body.length}\r\n\r\n${body}`);
      else socket.resetAndDestroy();
    });
    const client = clientOf(fake);
    await create(client);
    // undici takes a socket up again one turn of the event loop after its last reply.
    await new Promise((resolve) => setTimeout(resolve, 5));
    const error = await failureOf(create(client));
    expect(error).toMatchObject({ outcome: 'unknown' });
    expect(fake.requests).toHaveLength(2);
    expect(fake.connections).toHaveLength(1);
  });

  test('many POSTs over sockets that the provider closes at random are each sent at most once', async () => {
    const fake = await provider((response, request) => {
      const { length } = fake.seen;
      if (length % 3 === 0) response.socket?.destroy();
      else if (length % 3 === 1) reply(200, chargeOf({ metadata: metadataOf(request.body) }))(response, request);
      else reply(200, chargeOf({ metadata: metadataOf(request.body) }), { connection: 'close' })(response, request);
    });
    const client = clientOf(fake);
    const calls = Array.from({ length: 60 }, (_, n) =>
      client.charges.create({ ...money, source: { type: 'wallet_mpm' }, metadata: { n } }).catch(() => undefined),
    );
    await Promise.all(calls);
    const numbers = fake.seen.map(({ body }) => metadataOf(body)['n']);
    expect(new Set(numbers).size).toBe(numbers.length);
    expect(numbers).toHaveLength(60);
  });
});

function metadataOf(form: string): Record<string, string> {
  return Object.fromEntries(
    [...new URLSearchParams(form)]
      .filter(([name]) => name.startsWith('metadata['))
      .map(([name, value]) => [name.slice('metadata['.length, -1), value]),
  );
}

describe('retries', () => {
  test.each<[string, Answer]>([
    ['429', refuse(429, 'too_many')],
    ['500', refuse(500, 'internal')],
    ['502 in HTML', reply(502, '<html>')],
    ['a reset', reset],
    ['silence', stall],
  ])('a GET after %s is tried again until it succeeds', async (_, answer) => {
    const fake = await provider(answer, answer, paid);
    expect(await retrieve(clientOf(fake), { timeoutMs: 150 })).toMatchObject({ paid: true });
    expect(fake.seen).toHaveLength(3);
  });

  test.each(['PATCH', 'DELETE'] as const)('a %s is tried again like a GET', async (method) => {
    const fake = await provider(refuse(500, 'internal'), reset, reply(200, { object: 'x' }));
    const http = new RequestSender(
      resolveSettings({ baseUrl: fake.baseUrl, secretKey: SECRET_KEY, clock: virtualClock() }),
    );
    const schema = z.looseObject({});
    await (method === 'PATCH' ? http.patch(path`/account`, { a: 1 }, schema) : http.delete(path`/x/${'1'}`, schema));
    await http.close();
    expect(fake.seen.map((seen) => seen.method)).toEqual([method, method, method]);
  });

  test('a POST is tried again after 429, with the same body', async () => {
    const fake = await provider(refuse(429, 'too_many'), refuse(429, 'too_many'), ok);
    await create(clientOf(fake));
    expect(new Set(fake.seen.map(({ body }) => body)).size).toBe(1);
    expect(fake.seen).toHaveLength(3);
  });

  test('maxRetries n means at most n + 1 requests, and the last failure is the answer', async () => {
    for (const maxRetries of [0, 1, 4]) {
      const fake = await provider(refuse(429, 'too_many', 'slow down', { 'retry-after': '2' }));
      const error = await failureOf(create(clientOf(fake), { maxRetries }));
      expect(error).toBeInstanceOf(RateLimitError);
      expect(error).toMatchObject({ outcome: 'rejected', retryable: true, retryAfterMs: 2_000 });
      expect(fake.seen).toHaveLength(maxRetries + 1);
    }
  });

  test('waits grow exponentially, within jitter', async () => {
    const fake = await provider(refuse(500, 'internal'));
    const least = virtualClock();
    await failureOf(retrieve(clientOf(fake, { clock: least, random: () => 0 }), { maxRetries: 4 }));
    expect(least.slept).toEqual([100, 200, 400, 800]);
    const most = virtualClock();
    await failureOf(retrieve(clientOf(fake, { clock: most, random: () => 0.999_999 }), { maxRetries: 4 }));
    expect(most.slept.map(Math.round)).toEqual([200, 400, 800, 1600]);
  });

  test.each([429, 503])('Retry-After of a %i is waited for, in seconds and as a date', async (status) => {
    const clock = virtualClock(Date.UTC(2025, 5, 9, 12, 0, 0));
    const fake = await provider(
      refuse(status, 'x', 'x', { 'retry-after': '7' }),
      refuse(status, 'x', 'x', { 'retry-after': new Date(Date.UTC(2025, 5, 9, 12, 0, 18)).toUTCString() }),
      refuse(status, 'x', 'x', { 'retry-after': new Date(Date.UTC(2020, 1, 1)).toUTCString() }),
      ok,
    );
    await retrieve(clientOf(fake, { clock }));
    expect(clock.slept).toEqual([7_000, 11_000, 0]);
  });

  test.each(['soon', '1.5', '-3', ''])('an unreadable Retry-After %j is ignored', async (value) => {
    const clock = virtualClock();
    const fake = await provider(refuse(429, 'x', 'x', { 'retry-after': value }), ok);
    await retrieve(clientOf(fake, { clock }));
    expect(clock.slept).toEqual([100]);
  });

  test('Retry-After of a 500 is not a promise', async () => {
    const clock = virtualClock();
    const fake = await provider(refuse(500, 'x', 'x', { 'retry-after': '9' }), ok);
    await retrieve(clientOf(fake, { clock }));
    expect(clock.slept).toEqual([100]);
  });

  test('where nothing listens, a POST is tried again and then reported as not sent', async () => {
    const clock = virtualClock();
    const error = await failureOf(create(clientOf({ baseUrl: await deadAddress() }, { clock }), { maxRetries: 2 }));
    expect(error).toBeInstanceOf(ConnectionError);
    expect(error).toMatchObject({ code: 'connection_failed', outcome: 'not_sent', retryable: true });
    expect(error.cause).toMatchObject({ code: 'ECONNREFUSED' });
    expect(clock.slept).toHaveLength(2);
  });

  test('an unknown host name is not sent', async () => {
    const error = await failureOf(create(clientOf({ baseUrl: 'http://no-such-host.invalid' }), { maxRetries: 0 }));
    expect(error).toBeInstanceOf(ConnectionError);
    expect(error.outcome).toBe('not_sent');
  });

  test('a handshake that never ends is not sent, within the time for one try', async () => {
    // Accepts TCP but never answers the TLS hello, so no byte of the request can leave.
    const fake = await tcpProvider(() => undefined);
    const client = clientOf({ baseUrl: fake.baseUrl.replace('http:', 'https:') });
    const error = await failureOf(create(client, { timeoutMs: 80, maxRetries: 1 }));
    expect(error).toBeInstanceOf(TimeoutError);
    expect(error).toMatchObject({ outcome: 'not_sent', retryable: true });
  });
});

describe('an earlier doubt', () => {
  test.each<[string, Answer, Outcome]>([
    ['a 404', refuse(404, 'not_found'), 'unknown'],
    ['a 429', refuse(429, 'too_many'), 'unknown'],
  ])('sticks: a broken try followed by %s is unknown', async (_, last) => {
    const fake = await provider(reset, last);
    const error = await failureOf(retrieve(clientOf(fake), { maxRetries: 1 }));
    expect(error.outcome).toBe('unknown');
    expect(error.cause).toBeInstanceOf(ConnectionError);
    expect(fake.seen).toHaveLength(2);
  });

  test('is forgotten when a later try succeeds', async () => {
    const fake = await provider(reset, ok);
    expect(await retrieve(clientOf(fake))).toMatchObject({ id: 'chrg_test_1' });
  });

  test('sticks when the provider cannot be reached any more', async () => {
    const dispatcher = new MockAgent();
    dispatcher.disableNetConnect();
    const mock = dispatcher.get('http://provider.test').intercept({ path: '/charges/chrg_test_1' });
    mock.reply(500, '');
    dispatcher
      .get('http://provider.test')
      .intercept({ path: '/charges/chrg_test_1' })
      .replyWithError(Object.assign(new Error('refused'), { code: 'ECONNREFUSED' }));
    const error = await failureOf(
      retrieve(clientOf({ baseUrl: 'http://provider.test' }, { dispatcher }), { maxRetries: 1 }),
    );
    expect(error).toMatchObject({ code: 'connection_failed', outcome: 'unknown' });
  });

  test('does not arise from a 429: refused and then unreachable is not sent', async () => {
    const dispatcher = new MockAgent();
    dispatcher.disableNetConnect();
    const pool = dispatcher.get('http://provider.test');
    pool.intercept({ path: '/charges', method: 'POST' }).reply(429, '');
    pool
      .intercept({ path: '/charges', method: 'POST' })
      .replyWithError(Object.assign(new Error('refused'), { code: 'ECONNREFUSED' }));
    const error = await failureOf(
      create(clientOf({ baseUrl: 'http://provider.test' }, { dispatcher }), { maxRetries: 1 }),
    );
    expect(error.outcome).not.toBe('unknown');
  });
});

describe('deadline', () => {
  test('no try begins that could not before the deadline; the last failure is the cause', async () => {
    const fake = await provider(refuse(500, 'internal'));
    const clock = virtualClock();
    const error = await failureOf(retrieve(clientOf(fake, { clock }), { deadlineMs: 1_000, maxRetries: 99 }));
    expect(error).toBeInstanceOf(TimeoutError);
    expect(error).toMatchObject({ code: 'deadline_exceeded', outcome: 'unknown' });
    expect(error.cause).toBeInstanceOf(ServerError);
    expect(clock.monotonic()).toBeLessThanOrEqual(1_000);
    expect(fake.seen).toHaveLength(clock.slept.length + 1);
  });

  test('a Retry-After beyond the deadline is not waited for, and what was refused stays refused', async () => {
    const fake = await provider(refuse(429, 'too_many', 'x', { 'retry-after': '3600' }));
    const clock = virtualClock();
    const error = await failureOf(create(clientOf(fake, { clock }), { deadlineMs: 5_000 }));
    expect(error).toBeInstanceOf(TimeoutError);
    expect(error).toMatchObject({ outcome: 'rejected', retryable: true });
    expect(error.cause).toBeInstanceOf(RateLimitError);
    expect(error.cause).toMatchObject({ retryAfterMs: 3_600_000 });
    expect(clock.slept).toEqual([]);
    expect(fake.seen).toHaveLength(1);
  });

  test('it ends a try in flight, which is then unknown', async () => {
    const fake = await provider(stall);
    const error = await failureOf(create(clientOf(fake), { timeoutMs: 60_000, deadlineMs: 60 }));
    expect(error).toBeInstanceOf(TimeoutError);
    expect(error).toMatchObject({ code: 'deadline_exceeded', outcome: 'unknown', retryable: false });
    expect(fake.seen).toHaveLength(1);
  });

  test('it is checked again immediately before the write: a process that was frozen sends nothing late', async () => {
    const fake = await provider(ok);
    const clock = virtualClock();
    const pool = new Pool(fake.baseUrl);
    onTestFinished(() => pool.close());
    // The process is stopped between dispatch and write.
    const frozen = freezing(pool, () => clock.advance(60_000));
    const error = await failureOf(create(clientOf(fake, { clock, dispatcher: frozen }), { deadlineMs: 20_000 }));
    expect(error).toBeInstanceOf(TimeoutError);
    expect(error).toMatchObject({ code: 'deadline_exceeded', outcome: 'not_sent' });
    expect(fake.seen).toEqual([]);
  });

  test('the time of one try is checked before the write too, and the next try may still send', async () => {
    const fake = await provider(ok);
    const clock = virtualClock();
    const pool = new Pool(fake.baseUrl);
    onTestFinished(() => pool.close());
    let freezes = 1;
    const frozen = freezing(pool, () => clock.advance(freezes-- > 0 ? 11_000 : 0));
    await create(clientOf(fake, { clock, dispatcher: frozen }), { timeoutMs: 10_000, deadlineMs: 30_000 });
    expect(fake.seen).toHaveLength(1);
  });
});

/** A dispatcher that lets time pass between the dispatch and the write. */
function freezing(pool: Pool, freeze: () => void): Pick<Pool, 'dispatch'> {
  return {
    dispatch: (options, handler) => {
      freeze();
      return pool.dispatch(options, handler);
    },
  };
}

describe('sendBy', () => {
  test('once it has passed nothing is sent', async () => {
    const fake = await provider(ok);
    const clock = virtualClock();
    for (const sendBy of [clock.now(), clock.now() - 1, Number.NaN]) {
      const error = await failureOf(create(clientOf(fake, { clock }), { sendBy }));
      expect(error).toBeInstanceOf(TimeoutError);
      expect(error).toMatchObject({ code: 'send_by_passed', outcome: 'not_sent', retryable: true });
    }
    expect(fake.seen).toEqual([]);
    await create(clientOf(fake, { clock }), { sendBy: clock.now() + 1 });
    expect(fake.seen).toHaveLength(1);
  });

  test('it is checked immediately before the write: a process that was frozen sends nothing late', async () => {
    const fake = await provider(ok);
    const clock = virtualClock();
    const pool = new Pool(fake.baseUrl);
    onTestFinished(() => pool.close());
    const frozen = freezing(pool, () => clock.advance(2_000));
    const error = await failureOf(
      create(clientOf(fake, { clock, dispatcher: frozen }), { sendBy: clock.now() + 1_000 }),
    );
    expect(error).toBeInstanceOf(TimeoutError);
    expect(error).toMatchObject({ code: 'send_by_passed', outcome: 'not_sent' });
    expect(fake.seen).toEqual([]);
  });

  test('no retry is sent after it', async () => {
    const fake = await provider(refuse(429, 'too_many', 'x', { 'retry-after': '5' }));
    const clock = virtualClock();
    const error = await failureOf(create(clientOf(fake, { clock }), { sendBy: clock.now() + 5_000 }));
    expect(error).toMatchObject({ code: 'send_by_passed' });
    expect(error.outcome).not.toBe('unknown');
    expect(fake.seen).toHaveLength(1);
  });
});

describe('abort', () => {
  test('before sending, nothing is sent', async () => {
    const fake = await provider(ok);
    const reason = new Error('shutting down');
    const error = await failureOf(create(clientOf(fake), { signal: AbortSignal.abort(reason) }));
    expect(error).toBeInstanceOf(RequestAbortedError);
    expect(error).toMatchObject({ outcome: 'not_sent', retryable: false, cause: reason });
    expect(fake.seen).toEqual([]);
  });

  test('while it waits for a connection, nothing is sent later either', async () => {
    const fake = await provider(ok);
    const abort = new AbortController();
    const client = clientOf(fake);
    const call = failureOf(create(client, { signal: abort.signal }));
    abort.abort();
    expect(await call).toMatchObject({ outcome: 'not_sent' });
    await create(client);
    expect(fake.seen).toHaveLength(1);
  });

  test('in flight, the outcome is unknown', async () => {
    const abort = new AbortController();
    const fake = await provider(() => abort.abort());
    const error = await failureOf(create(clientOf(fake), { signal: abort.signal }));
    expect(error).toBeInstanceOf(RequestAbortedError);
    expect(error.outcome).toBe('unknown');
    expect(fake.seen).toHaveLength(1);
  });

  test('in flight after the head of a refusal, the outcome is still unknown', async () => {
    const abort = new AbortController();
    const fake = await provider((response) => {
      response.writeHead(400, { 'content-length': '100' });
      response.write('{', () => setTimeout(() => abort.abort(), 20));
    });
    expect(await failureOf(create(clientOf(fake), { signal: abort.signal }))).toBeInstanceOf(RequestAbortedError);
  });

  test('while it waits to try again, it ends at once and sends no more', async () => {
    const abort = new AbortController();
    const fake = await provider((response, request) => {
      refuse(503, 'busy', 'busy', { 'retry-after': '20' })(response, request);
      response.on('close', () => abort.abort());
    });
    const call = retrieve(clientOf(fake, { clock: undefined }), { signal: abort.signal });
    const error = await failureOf(call);
    expect(error).toBeInstanceOf(RequestAbortedError);
    expect(error.outcome).toBe('unknown');
    expect(fake.seen).toHaveLength(1);
  });
});

describe('dispatchers', () => {
  test('a dispatcher that would send a POST again by itself is stopped', async () => {
    const handlers: unknown[] = [];
    const aborted: string[] = [];
    const client = clientOf(
      { baseUrl: 'http://provider.test' },
      {
        dispatcher: {
          dispatch: (_options, handler) => {
            handlers.push(handler);
            const controller = {
              aborted: false,
              paused: false,
              reason: null,
              abort: (reason: Error) => void aborted.push(reason.message),
              pause: () => undefined,
              resume: () => undefined,
            };
            handler.onRequestStart?.(controller, {});
            handler.onRequestStart?.(controller, {});
            return true;
          },
        },
      },
    );
    const error = await failureOf(create(client));
    expect(error).toMatchObject({ code: 'connection_lost', outcome: 'unknown', retryable: false });
    expect(aborted).toHaveLength(1);
    expect(handlers).toHaveLength(1);
  });

  test("a foreign dispatcher's error counts as not sent only when it says so", async () => {
    for (const [code, outcome, tries] of [
      ['ECONNREFUSED', 'not_sent', 3],
      ['ENOTFOUND', 'not_sent', 3],
      ['ECONNRESET', 'unknown', 1],
      [undefined, 'unknown', 1],
    ] as const) {
      let dispatched = 0;
      const dispatcher = {
        dispatch: (): boolean => {
          dispatched += 1;
          throw Object.assign(new Error('no'), { code });
        },
      };
      const error = await failureOf(
        create(clientOf({ baseUrl: 'http://provider.test' }, { dispatcher }), { maxRetries: 2 }),
      );
      expect([error.outcome, dispatched]).toEqual([outcome, tries]);
    }
  });

  test('an Agent serves as dispatcher and stays open after close', async () => {
    const fake = await provider(ok);
    const dispatcher = new Agent();
    const client = clientOf(fake, { dispatcher });
    await create(client);
    await client.close();
    expect(dispatcher.closed).toBe(false);
    expect(await failureOf(create(client))).toMatchObject({ code: 'client_closed', outcome: 'not_sent' });
    await dispatcher.close();
    expect(fake.seen).toHaveLength(1);
  });

  test('an informational reply is not the reply', async () => {
    const body = JSON.stringify(chargeOf());
    const fake = await tcpProvider((socket) => {
      socket.write('HTTP/1.1 103 Early Hints\r\nlink: </x>\r\n\r\n');
      socket.write(`HTTP/1.1 200 OK\r\ncontent-length: ${body.length}\r\n\r\n${body}`);
    });
    expect(await create(clientOf(fake))).toMatchObject({ id: 'chrg_test_1' });
    const cut = await tcpProvider((socket) => {
      socket.write('HTTP/1.1 103 Early Hints\r\nlink: </x>\r\n\r\n', () => socket.resetAndDestroy());
    });
    expect(await failureOf(create(clientOf(cut)))).toMatchObject({ code: 'connection_lost', outcome: 'unknown' });
  });
});

describe('close', () => {
  test('lets a call in flight finish, then refuses calls before they are sent', async () => {
    let arrive: () => void = () => undefined;
    const arrived = new Promise<void>((resolve) => {
      arrive = resolve;
    });
    const fake = await provider((response, request) => {
      arrive();
      setTimeout(() => ok(response, request), 20);
    });
    const client = clientOf(fake);
    const call = create(client);
    await arrived;
    await Promise.all([client.close(), client.close()]);
    expect(await call).toMatchObject({ id: 'chrg_test_1' });
    expect(await failureOf(create(client))).toMatchObject({
      code: 'client_closed',
      outcome: 'not_sent',
      retryable: false,
    });
    expect(fake.seen).toHaveLength(1);
  });

  // Left alone, undici would give the handshake up after ten seconds.
  test('ends a handshake that is still under way', { timeout: 5_000 }, async () => {
    let end: () => void = () => undefined;
    const ended = new Promise<void>((resolve) => {
      end = resolve;
    });
    const fake = await tcpProvider((socket) => socket.once('close', end));
    const client = clientOf({ baseUrl: fake.baseUrl.replace('http:', 'https:') });
    await failureOf(create(client, { timeoutMs: 50, maxRetries: 0 }));
    await client.close();
    await ended;
    expect(fake.requests).toHaveLength(1);
  });
});

describe('parameters of a wrong type', () => {
  test.each([
    ['null', null],
    ['a symbol', { amount: Symbol('x') }],
    ['a function', { amount: () => 1 }],
    ['a Map', { metadata: new Map() }],
    ['NaN', { amount: Number.NaN }],
    ['an invalid date', { expires_at: new Date('x') }],
  ])('%s is refused before anything is sent', async (_, params) => {
    const fake = await provider(ok);
    // @ts-expect-error a caller without types
    const error = await failureOf(clientOf(fake).charges.create(params));
    expect(error).toMatchObject({ code: 'invalid_parameter', outcome: 'not_sent' });
    expect(fake.seen).toEqual([]);
  });

  test('when they only show on comparison with the reply, the outcome is unknown', async () => {
    const fake = await provider(ok);
    // @ts-expect-error a caller without types
    const error = await failureOf(clientOf(fake).charges.create({ ...money, currency: 764 }));
    expect(error.outcome).toBe('unknown');
    expect(fake.seen).toHaveLength(1);
  });
});

describe('reports', () => {
  test('each call is reported once on the diagnostics channel, by route template and without ids', async () => {
    const reports: RequestReport[] = [];
    const collect = (message: unknown): void => void reports.push(message as RequestReport);
    subscribe(REQUEST_CHANNEL, collect);
    onTestFinished(() => void unsubscribe(REQUEST_CHANNEL, collect));
    const fake = await provider(reset, ok, refuse(400, 'failed_expire'));
    const client = clientOf(fake);
    await retrieve(client);
    await failureOf(client.charges.expire('chrg_test_1'));
    await failureOf(client.charges.retrieve(''));
    expect(REQUEST_CHANNEL).toBe('tillflow:payments-client:request');
    expect(reports).toMatchObject([
      { method: 'GET', route: '/charges/{id}', status: 200, attempts: 2, outcome: 'done', code: undefined },
      {
        method: 'POST',
        route: '/charges/{id}/expire',
        status: 400,
        attempts: 1,
        outcome: 'rejected',
        code: 'failed_expire',
      },
      {
        method: 'GET',
        route: '/charges/{id}',
        status: undefined,
        attempts: 0,
        outcome: 'not_sent',
        code: 'invalid_id',
      },
    ]);
    expect(reports.every(({ durationMs }) => durationMs >= 0)).toBe(true);
    expect(JSON.stringify(reports)).not.toContain('chrg_test_1');
  });

  test('the logger hears of retries and of the end; a logger that throws changes nothing', async () => {
    const lines: [string, object, string][] = [];
    const level = (name: string) => (fields: object, message: string) => void lines.push([name, fields, message]);
    const logger = { debug: level('debug'), info: level('info'), warn: level('warn'), error: level('error') };
    const fake = await provider(refuse(500, 'internal'), ok, reset);
    const client = clientOf(fake, { logger });
    await retrieve(client);
    await failureOf(create(client));
    expect(lines).toMatchObject([
      ['warn', { route: '/charges/{id}', attempt: 1, status: 500, delayMs: 100 }, 'request failed, trying again'],
      ['debug', { route: '/charges/{id}', attempts: 2, outcome: 'done' }, 'request done'],
      ['error', { route: '/charges', attempts: 1, outcome: 'unknown' }, 'request failed, outcome unknown'],
    ]);
    const broken = (): never => {
      throw new Error('disk full');
    };
    const other = await provider(ok);
    await create(clientOf(other, { logger: { debug: broken, info: broken, warn: broken, error: broken } }));
    expect(other.seen).toHaveLength(1);
  });

  test('a refund carries its own route', async () => {
    const fake = await provider(reply(200, refundOf()));
    await clientOf(fake).charges.createRefund('chrg_test_1', { amount: 5_000 });
    expect(fake.seen[0]?.url).toBe('/charges/chrg_test_1/refunds');
  });
});
