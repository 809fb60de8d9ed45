import { inspect } from 'node:util';
import { describe, expect, test } from 'vitest';
import {
  type Answer,
  chargeOf,
  clientOf,
  collectingLogger,
  createCharge,
  failureOf,
  MONEY,
  provider,
  PUBLIC_KEY,
  reply,
  reports,
  retrieveCharge,
  SECRET_KEY,
  stall,
  tcpProvider,
} from '../../test/provider.js';
import type { PaymentsClient } from '../client.js';
import { errorCode, Redactor } from './redaction.js';

const basic = (key: string): string => Buffer.from(`${key}:`).toString('base64');
const forms = [SECRET_KEY, PUBLIC_KEY].flatMap((key) => [
  key,
  basic(key),
  basic(key).replace(/=+$/, ''),
  Buffer.from(key).toString('base64'),
  Buffer.from(`${key}:`).toString('base64url'),
  encodeURIComponent(key),
]);

/** Every way in which a program can print a value. */
function printed(value: unknown): string {
  const lines = [inspect(value, { depth: 20, showHidden: true, getters: true }), String(value), JSON.stringify(value)];
  for (let error = value; error instanceof Error; error = error.cause) lines.push(String(error.stack), error.message);
  return lines.join('\n');
}

/** Fails when the text contains any form of a key. */
function expectClean(text: string): void {
  for (const form of forms) expect(text).not.toContain(form);
}

const echo = [
  `you sent ${SECRET_KEY}`,
  `authorization: Basic ${basic(SECRET_KEY)}`,
  `authorization: Basic ${basic(PUBLIC_KEY)} and ${PUBLIC_KEY}`,
].join(' ');

describe('a key', () => {
  test.each<[string, Answer]>([
    ['in an error body', reply(400, { object: 'error', code: echo, message: echo, location: `/x?k=${SECRET_KEY}` })],
    ['in the request id', reply(401, '{}', { 'x-request-id': SECRET_KEY })],
    ['in a redirect', reply(302, '', { location: `https://${SECRET_KEY}:@elsewhere/` })],
    ['in a long error text, where it would be cut', reply(400, { message: 'x'.repeat(480) + echo, code: 'c' })],
    ['in a success of another shape', reply(200, { object: echo, metadata: { [SECRET_KEY]: 1 } })],
    ['as the id of a reply that differs', reply(200, chargeOf({ id: SECRET_KEY, amount: 1 }))],
    ['as the name of metadata that differs', reply(200, chargeOf({ metadata: {} }))],
    ['in HTML', reply(500, `<html>${echo}</html>`)],
  ])('echoed %s appears in no error, log line or report', async (_, answer) => {
    const seen = reports();
    const { logger, lines } = collectingLogger();
    const client = clientOf(await provider(answer), { publicKey: PUBLIC_KEY, logger, maxRetries: 1 });
    const params = { ...MONEY, source: { type: 'wallet_mpm' }, metadata: { [SECRET_KEY]: '1' } };
    const error = await failureOf(client.charges.create(params));
    expect(lines.length).toBeGreaterThan(0);
    expect(seen).toHaveLength(1);
    expectClean(printed(error) + printed(lines) + printed(seen));
  });

  test('echoed in a reply before a retry appears in no log line', async () => {
    const { logger, lines } = collectingLogger();
    const fake = await provider(
      reply(500, { object: 'error', code: echo, message: echo }, { 'x-request-id': SECRET_KEY }),
      reply(200, chargeOf()),
    );
    await retrieveCharge(clientOf(fake, { publicKey: PUBLIC_KEY, logger }));
    expect(lines).toHaveLength(2);
    expectClean(printed(lines));
  });

  test('echoed in a reply that is not HTTP appears in no error: the causes are copies', async () => {
    const fake = await tcpProvider((socket) => socket.end(`${echo}\r\n\r\n`));
    expectClean(printed(await failureOf(createCharge(clientOf(fake)))));
    const cut = await tcpProvider((socket) => socket.end(`HTTP/1.1 200 OK\r\ncontent-length: 900\r\n\r\n${echo}`));
    const lost = await failureOf(createCharge(clientOf(cut)));
    expect(lost).toMatchObject({ code: 'connection_lost' });
    expectClean(printed(lost));
  });

  test('appears in no timeout', async () => {
    const client = clientOf(await provider(stall), { publicKey: PUBLIC_KEY });
    const error = await failureOf(retrieveCharge(client, { timeoutMs: 20, maxRetries: 1 }));
    expect(error).toMatchObject({ code: 'timeout' });
    expectClean(printed(error));
  });

  test('appears in no inspection and no JSON of the client or its parts', async () => {
    const fake = await provider(stall);
    const client: PaymentsClient = clientOf(fake, { publicKey: PUBLIC_KEY });
    expectClean(printed(client) + printed({ client }) + printed(client.charges) + printed(Object.values(client)));
    expect(inspect(client)).toBe(`PaymentsClient { baseUrl: '${fake.baseUrl}' }`);
    expect(JSON.parse(JSON.stringify(client))).toEqual({ baseUrl: fake.baseUrl });
  });
});

describe('Redactor.cause', () => {
  const redactor = new Redactor([SECRET_KEY]);

  test('keeps name, code and message of the whole chain', () => {
    const inner = Object.assign(new TypeError(`at ${SECRET_KEY}`), { code: 'E_INNER', data: SECRET_KEY });
    const copy = redactor.cause(new Error('outer', { cause: inner }));
    expect(copy).toMatchObject({ message: 'outer', cause: { name: 'TypeError', message: 'at [redacted]' } });
    expect(errorCode(copy.cause)).toBe('E_INNER');
    expectClean(printed(copy));
  });

  test('joins the messages of several attempts to connect', () => {
    const both = new AggregateError([new Error('refused on ::1'), new Error('refused on 127.0.0.1')], '');
    expect(redactor.cause(both).message).toBe('refused on ::1; refused on 127.0.0.1');
  });

  test('ends when causes loop or are not errors', () => {
    const loop = new Error('a');
    loop.cause = loop;
    expect(redactor.cause(loop).message).toBe('a');
    expect(redactor.cause(SECRET_KEY).message).toBe('[redacted]');
  });
});
