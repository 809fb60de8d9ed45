import { describe, expect, test } from 'vitest';
import {
  type Answer,
  chargeOf,
  clientOf,
  createCharge,
  failureOf,
  MONEY,
  provider,
  refuse,
  reply,
  retrieveCharge,
  sourceOf,
  tcpProvider,
} from '../../test/provider.js';
import {
  AuthenticationError,
  InvalidRequestError,
  NotFoundError,
  PaymentsError,
  PermissionError,
  UnexpectedResponseError,
} from '../errors.js';

// `faults.spec.ts` lets every method meet every broken reply. Here is what that table leaves out.

describe('a refusal', () => {
  test.each([
    [400, InvalidRequestError],
    [401, AuthenticationError],
    [402, PaymentsError],
    [403, PermissionError],
    [404, NotFoundError],
    [409, PaymentsError],
    [418, PaymentsError],
    [422, InvalidRequestError],
  ])("with status %i is definite, is not repeated and carries the provider's words", async (status, type) => {
    const fake = await provider(refuse(status, 'some_code', 'some words', { 'x-request-id': 'req_1' }));
    const error = await failureOf(createCharge(clientOf(fake)));
    expect(error.constructor).toBe(type);
    const details = { status, outcome: 'rejected', retryable: false, requestId: 'req_1' };
    expect(error).toMatchObject({ ...details, code: 'some_code', location: '/errors#some_code' });
    expect(error.message).toContain('some words');
    expect(fake.seen).toHaveLength(1);
  });

  test.each(['', '<html>no</html>', '[]', 'null', '{"code":5}', '{"code":""}'])(
    'with the body %j is definite too',
    async (body) => {
      const fake = await provider(reply(400, body));
      const error = await failureOf(createCharge(clientOf(fake)));
      expect(error).toBeInstanceOf(InvalidRequestError);
      expect(error).toMatchObject({ code: 'http_400', outcome: 'rejected' });
    },
  );
});

test.each([301, 302, 303, 307, 308, 304])('a %i is never followed and its outcome is unknown', async (status) => {
  const fake = await provider(reply(status, '', { location: '/elsewhere' }));
  for (const call of [createCharge, retrieveCharge]) {
    const error = await failureOf(call(clientOf(fake)));
    expect(error).toBeInstanceOf(UnexpectedResponseError);
    expect(error).toMatchObject({ outcome: 'unknown', retryable: false, status, location: '/elsewhere' });
  }
  expect(fake.seen.map(({ url }) => url)).toEqual(['/charges', '/charges/chrg_test_1']);
});

describe('a successful reply', () => {
  test.each<[string, string | object]>([
    ['nothing', ''],
    ['HTML', '<html>'],
    ['half a JSON text', '{"object":"charge"'],
    ['null', 'null'],
    ['another object', sourceOf()],
    ['a charge without id', chargeOf({ id: undefined })],
    ['a charge whose amount is text', chargeOf({ amount: '150000' })],
    ['a charge whose amount is not a whole number', chargeOf({ amount: 1500.5 })],
    ['a charge without status', chargeOf({ status: null })],
  ])('with %s instead of a charge is not believed: outcome unknown, one request', async (_, body) => {
    const fake = await provider(reply(200, body, { 'x-request-id': 'req_2' }));
    for (const call of [createCharge, retrieveCharge]) {
      const error = await failureOf(call(clientOf(fake)));
      expect(error).toBeInstanceOf(UnexpectedResponseError);
      const details = { code: 'unexpected_response', outcome: 'unknown', retryable: false };
      expect(error).toMatchObject({ ...details, status: 200, requestId: 'req_2' });
    }
    expect(fake.seen).toHaveLength(2);
  });

  test('beyond the size limit is given up, outcome unknown', async () => {
    const endless: Answer = (response) => {
      response.writeHead(200);
      const chunk = Buffer.alloc(1024 * 1024, 32);
      const more = (): void => {
        if (!response.destroyed) response.write(chunk, more);
      };
      more();
    };
    const error = await failureOf(retrieveCharge(clientOf(await provider(endless))));
    expect(error).toBeInstanceOf(UnexpectedResponseError);
    expect(error).toMatchObject({ outcome: 'unknown' });
  });

  test.each([
    ['of 0.8 MB', 'ก๋วยเตี๋ยว 🍜 é ', 20_000],
    ['of more than 1 MB', 'ก๋วยเตี๋ยว 🍜 é ', 60_000],
    ['shorter again', 'é', 50_000],
    ['of ASCII only', 'noodles ', 20_000],
  ])('that is %s is read as it was sent, wherever its characters are cut', async (_, word, count) => {
    const long = { description: word.repeat(count), metadata: { order: word.repeat(1_000) } };
    const bytes = Buffer.from(JSON.stringify(chargeOf(long)));
    const fake = await provider((response) => {
      response.writeHead(200, { 'content-length': bytes.length });
      // Odd lengths cut characters of two, three and four bytes.
      for (let at = 0; at < bytes.length; at += 4_099) response.write(bytes.subarray(at, at + 4_099));
      response.end();
    });
    expect(await retrieveCharge(clientOf(fake))).toEqual(chargeOf(long));
  });

  test.each([
    [
      'unknown fields and values',
      { status: 'under_review', new_field: { deep: [1] }, source: sourceOf({ flow: 'x' }) },
    ],
    ['fields that decide nothing in another type', { fee: 'free', refunds: 7, description: { a: 1 }, net: null }],
  ])('with %s is believed and passed on as it came', async (_, fields) => {
    const fake = await provider(reply(200, chargeOf(fields)));
    expect(await retrieveCharge(clientOf(fake))).toEqual(chargeOf(fields));
  });

  test('is the final reply, not a 1xx before it', async () => {
    const hints = 'HTTP/1.1 103 Early Hints\r\nlink: </x>\r\n\r\n';
    const body = JSON.stringify(chargeOf());
    const fake = await tcpProvider((socket) => {
      socket.write(`${hints}HTTP/1.1 200 OK\r\ncontent-length: ${body.length}\r\n\r\n${body}`);
    });
    expect(await createCharge(clientOf(fake))).toMatchObject({ id: 'chrg_test_1' });
    const cut = await tcpProvider((socket) => {
      socket.write(hints, () => socket.resetAndDestroy());
    });
    expect(await failureOf(createCharge(clientOf(cut)))).toMatchObject({ code: 'connection_lost', outcome: 'unknown' });
  });
});

describe('a POST on a kept-alive socket', () => {
  test('that the provider closes while it is written is not sent a second time', async () => {
    // The first request is answered with keep-alive; the second on the same socket is cut.
    const body = JSON.stringify(chargeOf());
    const fake = await tcpProvider((socket, _text, nth) => {
      if (nth === 1) socket.write(`HTTP/1.1 200 OK\r\ncontent-length: ${body.length}\r\n\r\n${body}`);
      else socket.resetAndDestroy();
    });
    const client = clientOf(fake);
    await createCharge(client);
    // undici reuses a socket one turn of the event loop after its last reply.
    await new Promise((resolve) => setTimeout(resolve, 5));
    expect(await failureOf(createCharge(client))).toMatchObject({ outcome: 'unknown' });
    expect(fake.requests).toHaveLength(2);
    expect(fake.connections).toHaveLength(1);
  });

  test('is sent at most once, however many sockets the provider closes', async () => {
    const numberIn = (form: string): string => new URLSearchParams(form).get('metadata[n]') ?? '';
    const fake = await provider((response, request) => {
      const made = chargeOf({ metadata: { n: numberIn(request.body) } });
      if (fake.seen.length % 3 === 0) response.socket?.destroy();
      else reply(200, made, fake.seen.length % 3 === 1 ? {} : { connection: 'close' })(response, request);
    });
    const { charges } = clientOf(fake);
    const source = { type: 'wallet_mpm' };
    const calls = Array.from({ length: 60 }, (_, n) => charges.create({ ...MONEY, source, metadata: { n } }));
    await Promise.allSettled(calls);
    const numbers = fake.seen.map(({ body }) => numberIn(body));
    expect(new Set(numbers).size).toBe(numbers.length);
    expect(numbers).toHaveLength(60);
  });
});
