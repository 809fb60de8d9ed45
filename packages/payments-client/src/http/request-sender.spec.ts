import { Agent } from 'undici';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import {
  chargeOf,
  clientOf,
  collectingLogger,
  createCharge,
  failureOf,
  MONEY,
  provider,
  PUBLIC_KEY,
  refuse,
  reply,
  reports,
  reset,
  retrieveCharge,
  SECRET_KEY,
  sourceOf,
  tcpProvider,
} from '../../test/provider.js';
import { resolveSettings } from '../options.js';
import { path } from '../request/path.js';
import { REQUEST_CHANNEL } from './reporting.js';
import { RequestSender } from './request-sender.js';

const ok = reply(200, chargeOf());
const basic = (key: string): string => `Basic ${Buffer.from(`${key}:`).toString('base64')}`;

describe('a request', () => {
  test('that creates a charge is one form with Basic credentials and the version header', async () => {
    const fake = await provider(ok);
    await createCharge(clientOf(fake, { apiVersion: '2025-06-09', userAgent: 'till/1' }));
    expect(fake.seen).toMatchObject([
      {
        method: 'POST',
        url: '/charges',
        headers: {
          authorization: basic(SECRET_KEY),
          accept: 'application/json',
          'content-type': 'application/x-www-form-urlencoded',
          'api-version': '2025-06-09',
          'user-agent': 'till/1',
        },
        body: 'amount=150000&currency=THB&source%5Btype%5D=wallet_mpm',
      },
    ]);
  });

  test('has no version header unless a version is set; the header name can be set', async () => {
    const fake = await provider(ok);
    await retrieveCharge(clientOf(fake));
    await retrieveCharge(clientOf(fake, { apiVersion: '2025-06-09', apiVersionHeader: 'X-Version' }));
    expect(fake.seen[0]?.headers).not.toHaveProperty('api-version');
    expect(fake.seen[1]?.headers).toMatchObject({ 'x-version': '2025-06-09' });
  });

  test('keeps the path of the base address, with or without a final slash', async () => {
    const fake = await provider(ok);
    await retrieveCharge(clientOf({ baseUrl: `${fake.baseUrl}/gateway/v1/` }));
    await retrieveCharge(clientOf({ baseUrl: `${fake.baseUrl}/gateway/v1` }));
    const url = '/gateway/v1/charges/chrg_test_1';
    expect(fake.seen.map((seen) => seen.url)).toEqual([url, url]);
  });

  test("is signed by the public key only where useKey is 'public'", async () => {
    const fake = await provider(reply(200, sourceOf()));
    const client = clientOf(fake, { publicKey: PUBLIC_KEY });
    await client.sources.create({ ...MONEY, type: 'wallet_mpm' }, { useKey: 'public' });
    await client.sources.retrieve('src_test_1');
    expect(fake.seen.map(({ headers }) => headers.authorization)).toEqual([basic(PUBLIC_KEY), basic(SECRET_KEY)]);
  });

  test('is not sent with useKey public when the client has no public key', async () => {
    const fake = await provider(reply(200, sourceOf()));
    const call = clientOf(fake).sources.create({ ...MONEY, type: 'wallet_mpm' }, { useKey: 'public' });
    const refusal = { code: 'missing_public_key', outcome: 'not_sent', retryable: false };
    expect(await failureOf(call)).toMatchObject(refusal);
    expect(fake.seen).toEqual([]);
  });

  test('without parameters has a body of length 0 and no content type', async () => {
    const fake = await provider(ok);
    await clientOf(fake).charges.expire('chrg_test_1');
    expect(fake.seen[0]).toMatchObject({ method: 'POST', body: '', headers: { 'content-length': '0' } });
    expect(fake.seen[0]?.headers).not.toHaveProperty('content-type');
  });

  test('with an encoded body sends its bytes unchanged, under its own content type', async () => {
    const fake = await provider(reply(200, {}));
    const http = new RequestSender(resolveSettings({ baseUrl: fake.baseUrl, secretKey: SECRET_KEY }));
    const contentType = 'multipart/form-data; boundary=b';
    const readBody = () => Promise.resolve({ contentType, bytes: Buffer.from('--b--\r\n') });
    await http.upload(path`/disputes/${'dspt_1'}/documents`, readBody, z.looseObject({}), undefined, () => []);
    await http.close();
    const headers = { 'content-type': contentType, 'content-length': '7' };
    expect(fake.seen[0]).toMatchObject({ body: '--b--\r\n', headers });
  });

  test.each([{ timeoutMs: 0 }, { deadlineMs: Number.NaN }, { maxRetries: 1.5 }, { maxRetries: -1 }])(
    'with the option %j is not sent',
    async (options) => {
      const fake = await provider(ok);
      const refusal = { code: 'invalid_option', outcome: 'not_sent' };
      expect(await failureOf(createCharge(clientOf(fake), options))).toMatchObject(refusal);
      expect(fake.seen).toEqual([]);
    },
  );

  test.each([
    ['null', null],
    ['a symbol', { amount: Symbol('x') }],
    ['a function', { amount: () => 1 }],
    ['a Map', { metadata: new Map() }],
    ['NaN', { amount: Number.NaN }],
    ['an invalid date', { expires_at: new Date('x') }],
  ])('with %s as parameter is not sent', async (_, params) => {
    const fake = await provider(ok);
    // @ts-expect-error a caller without types
    const error = await failureOf(clientOf(fake).charges.create(params));
    expect(error).toMatchObject({ code: 'invalid_parameter', outcome: 'not_sent' });
    expect(fake.seen).toEqual([]);
  });

  test('has an unknown outcome when its parameters cannot be compared with the reply', async () => {
    const fake = await provider(ok);
    // @ts-expect-error a caller without types
    const error = await failureOf(clientOf(fake).charges.create({ ...MONEY, currency: 764 }));
    expect(error.outcome).toBe('unknown');
    expect(fake.seen).toHaveLength(1);
  });
});

describe("a dispatcher of the caller's", () => {
  const baseUrl = 'http://provider.test';

  test('is stopped when it sends a POST a second time on its own', async () => {
    const aborted: string[] = [];
    let dispatched = 0;
    const controller = {
      aborted: false,
      paused: false,
      reason: null,
      abort: (reason: Error) => void aborted.push(reason.message),
      pause: () => undefined,
      resume: () => undefined,
    };
    const dispatch: Agent['dispatch'] = (_options, handler) => {
      dispatched += 1;
      handler.onRequestStart?.(controller, {});
      handler.onRequestStart?.(controller, {});
      return true;
    };
    const error = await failureOf(createCharge(clientOf({ baseUrl }, { dispatcher: { dispatch } })));
    expect(error).toMatchObject({ code: 'connection_lost', outcome: 'unknown', retryable: false });
    expect(aborted).toHaveLength(1);
    expect(dispatched).toBe(1);
  });

  test.each([
    ['ECONNREFUSED', 'not_sent', 3],
    ['ENOTFOUND', 'not_sent', 3],
    ['ECONNRESET', 'unknown', 1],
    [undefined, 'unknown', 1],
  ])('that throws %s leaves the outcome %s, after %i dispatches', async (code, outcome, tries) => {
    let dispatched = 0;
    const dispatch = (): boolean => {
      dispatched += 1;
      throw Object.assign(new Error('no'), { code });
    };
    const client = clientOf({ baseUrl }, { dispatcher: { dispatch } });
    const error = await failureOf(createCharge(client, { maxRetries: 2 }));
    expect([error.outcome, dispatched]).toEqual([outcome, tries]);
  });

  test('stays open when the client is closed', async () => {
    const fake = await provider(ok);
    const dispatcher = new Agent();
    const client = clientOf(fake, { dispatcher });
    await createCharge(client);
    await client.close();
    expect(dispatcher.closed).toBe(false);
    expect(await failureOf(createCharge(client))).toMatchObject({ code: 'client_closed', outcome: 'not_sent' });
    await dispatcher.close();
    expect(fake.seen).toHaveLength(1);
  });
});

describe('close', () => {
  test('lets a call in flight finish and refuses later calls before they are sent', async () => {
    let arrive = (): void => undefined;
    const arrived = new Promise<void>((resolve) => {
      arrive = resolve;
    });
    const fake = await provider((response, request) => {
      arrive();
      setTimeout(() => ok(response, request), 20);
    });
    const client = clientOf(fake);
    const call = createCharge(client);
    await arrived;
    await Promise.all([client.close(), client.close()]);
    expect(await call).toMatchObject({ id: 'chrg_test_1' });
    const refusal = { code: 'client_closed', outcome: 'not_sent', retryable: false };
    expect(await failureOf(createCharge(client))).toMatchObject(refusal);
    expect(fake.seen).toHaveLength(1);
  });

  // undici alone would end the handshake after ten seconds.
  test('ends a handshake that is still under way', { timeout: 5_000 }, async () => {
    let end = (): void => undefined;
    const ended = new Promise<void>((resolve) => {
      end = resolve;
    });
    const fake = await tcpProvider((socket) => socket.once('close', end));
    const client = clientOf({ baseUrl: fake.baseUrl.replace('http:', 'https:') });
    await failureOf(createCharge(client, { timeoutMs: 50, maxRetries: 0 }));
    await client.close();
    await ended;
    expect(fake.requests).toHaveLength(1);
  });
});

describe('reporting', () => {
  test('publishes each call once on the diagnostics channel, by route template and without ids', async () => {
    const seen = reports();
    const fake = await provider(reset, ok, refuse(400, 'failed_expire'));
    const client = clientOf(fake);
    await retrieveCharge(client);
    await failureOf(client.charges.expire('chrg_test_1'));
    await failureOf(client.charges.retrieve(''));
    expect(REQUEST_CHANNEL).toBe('tillflow:payments-client:request');
    const retrieve = { method: 'GET', route: '/charges/{id}' };
    const expire = { method: 'POST', route: '/charges/{id}/expire' };
    expect(seen).toMatchObject([
      { ...retrieve, status: 200, attempts: 2, outcome: 'done', code: undefined },
      { ...expire, status: 400, attempts: 1, outcome: 'rejected', code: 'failed_expire' },
      { ...retrieve, status: undefined, attempts: 0, outcome: 'not_sent', code: 'invalid_id' },
    ]);
    expect(seen.every(({ durationMs }) => durationMs >= 0)).toBe(true);
    expect(new Set(seen.map(({ origin }) => origin))).toEqual(new Set([new URL(fake.baseUrl).origin]));
    expect(JSON.stringify(seen)).not.toContain('chrg_test_1');
  });

  test('logs each retry and the end of each call; a logger that throws changes nothing', async () => {
    const { logger, lines } = collectingLogger();
    const fake = await provider(refuse(500, 'internal'), ok, reset);
    const client = clientOf(fake, { logger });
    await retrieveCharge(client);
    await failureOf(createCharge(client));
    expect(lines).toMatchObject([
      ['warn', { route: '/charges/{id}', attempt: 1, status: 500, delayMs: 100 }, 'request failed, trying again'],
      ['debug', { route: '/charges/{id}', attempts: 2, outcome: 'done' }, 'request done'],
      ['error', { route: '/charges', attempts: 1, outcome: 'unknown' }, 'request failed, outcome unknown'],
    ]);
    const broken = (): never => {
      throw new Error('disk full');
    };
    const other = await provider(ok);
    await createCharge(clientOf(other, { logger: { debug: broken, info: broken, warn: broken, error: broken } }));
    expect(other.seen).toHaveLength(1);
  });
});
