import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { webhookApp as expressApp } from '../examples/express.js';
import { webhookApp as fastifyApp } from '../examples/fastify.js';
import { chargeOf, eventOf } from '../test/provider.js';
import type { Event } from './resources/events/schema.js';
import { webhooks } from './webhooks.js';

const secret = Buffer.from('a webhook secret of some length').toString('base64');
const other = Buffer.from('another secret').toString('base64');

type Keep = (event: Event) => Promise<void>;
interface Running {
  url: string;
  close: () => Promise<unknown>;
}

const frameworks: [string, (secrets: readonly string[], keep: Keep) => Promise<Running>][] = [
  [
    'Fastify',
    async (secrets, keep) => {
      const app = fastifyApp(secrets, keep);
      return { url: await app.listen({ port: 0, host: '127.0.0.1' }), close: () => app.close() };
    },
  ],
  [
    'Express',
    async (secrets, keep) => {
      const server: Server = createServer(expressApp(secrets, keep));
      await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
      const { port } = server.address() as AddressInfo;
      return { url: `http://127.0.0.1:${port}`, close: () => new Promise((resolve) => void server.close(resolve)) };
    },
  ],
];

describe.each(frameworks)('the example for %s', (_, start) => {
  const kept: Event[] = [];
  let app: Running;

  beforeAll(async () => {
    app = await start([other, secret], async (event) => {
      if (event.key === 'charge.reverse') throw new Error('the queue is down');
      kept.push(event);
    });
  });
  afterAll(() => app.close());

  /** @returns the status and body of the answer, and the event that was stored */
  async function deliver(
    body: string,
    { signed = body, by = secret, type = 'application/json' }: { signed?: string; by?: string; type?: string } = {},
  ): Promise<[status: number, text: string, kept: Event | undefined]> {
    const timestamp = Math.floor(Date.now() / 1000);
    kept.length = 0;
    const reply = await fetch(`${app.url}/webhooks/provider`, {
      method: 'POST',
      headers: { 'content-type': type, ...webhooks.sign(signed, { secret: by, timestamp }) },
      body,
    });
    return [reply.status, await reply.text(), kept[0]];
  }

  test('stores a signed event and acknowledges it, with either secret of a rotation', async () => {
    const body = JSON.stringify(eventOf());
    for (const by of [secret, other]) {
      expect(await deliver(body, { by })).toMatchObject([204, '', { id: 'evnt_test_1', key: 'charge.complete' }]);
    }
    expect(await deliver(body, { type: 'application/json; charset=utf-8' })).toMatchObject([204, '', {}]);
  });

  test('verifies the bytes as they came, whatever the spacing and escapes of the JSON', async () => {
    const body = `${JSON.stringify(eventOf(), null, 3).replace('charge.complete', 'charge\\u002ecomplete')}\r\n`;
    expect(await deliver(body)).toMatchObject([204, '', { key: 'charge.complete' }]);
  });

  test('stores an event that is not ASCII', async () => {
    const data = chargeOf({ description: 'ก๋วยเตี๋ยว ×2 — 拉麵 🍜', metadata: { 'klant\u0000': 'Zoë' } });
    expect(await deliver(JSON.stringify(eventOf({ data })))).toMatchObject([204, '', { data }]);
  });

  test('stores a large event, and refuses one beyond the limit', async () => {
    const large = (bytes: number): string =>
      JSON.stringify(eventOf({ data: chargeOf({ description: 'é'.repeat(bytes / 2) }) }));
    expect(await deliver(large(900_000))).toMatchObject([204, '', { id: 'evnt_test_1' }]);
    const [status, , event] = await deliver(large(1_100_000));
    expect([status, event]).toEqual([413, undefined]);
  });

  test('refuses an altered body, a wrong secret and an unsigned body, and stores nothing', async () => {
    const body = JSON.stringify(eventOf());
    const altered = body.replace('charge.complete', 'charge.expire');
    const mismatch = [400, JSON.stringify({ error: 'signature_mismatch' }), undefined];
    expect(await deliver(altered, { signed: body })).toEqual(mismatch);
    expect(await deliver(body, { by: Buffer.from('not known').toString('base64') })).toEqual(mismatch);
    const unsigned = await fetch(`${app.url}/webhooks/provider`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body,
    });
    expect([unsigned.status, await unsigned.json()]).toEqual([400, { error: 'signature_missing' }]);
    expect(kept).toEqual([]);
  });

  test('does not acknowledge an event that it could not store', async () => {
    const [status, , event] = await deliver(JSON.stringify(eventOf({ key: 'charge.reverse' })));
    expect([status, event]).toEqual([500, undefined]);
  });

  test('leaves the JSON of other routes to the framework', async () => {
    const reply = await fetch(`${app.url}/orders`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ table: 7 }),
    });
    expect([reply.status, await reply.json()]).toEqual([200, { table: 7 }]);
  });
});
