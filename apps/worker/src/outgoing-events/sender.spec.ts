import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer, type IncomingMessage, type RequestListener, type Server } from 'node:http';
import { createServer as createTlsServer, request as requestTls } from 'node:https';
import type { AddressInfo } from 'node:net';
import { eventNetworks, refuseEndpoint, type EventNetworks } from '@tillflow/temporal';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { EventSender } from './sender.js';

/** The answer of DNS for every name. Everything else that a request needs is real. */
const dns = { address: '127.0.0.1' };
const answers = () => [{ address: dns.address, family: 4 }];
const refusalOf = (url: string, networks: EventNetworks) =>
  refuseEndpoint(url, networks, () => Promise.resolve(answers()));

const SELF_SIGNED = readFileSync(new URL('../../test/self-signed.pem', import.meta.url));
const SECRET = `whsec_${Buffer.from('a secret of a test').toString('base64')}`;
const PUBLIC = '93.184.216.34';
const NONE = eventNetworks.parse('');
const LOOPBACK = eventNetworks.parse('127.0.0.0/8,::1');

const open: { close(): unknown }[] = [];
afterEach(async () => {
  for (const one of open.splice(0)) await one.close();
});

/** @returns its port, and the requests that it got */
async function serve(answer: RequestListener, server: Server = createServer()) {
  const requests: IncomingMessage[] = [];
  server.on('request', (request, response) => {
    requests.push(request);
    answer(request, response);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  open.push({ close: () => server.closeAllConnections() }, server);
  return { port: (server.address() as AddressInfo).port, requests };
}

function senderTo(networks = LOOPBACK, answerWithinMs?: number): EventSender {
  const sender = new EventSender(networks, answerWithinMs, (_name, _options, done) => done(null, answers()));
  open.push(sender);
  return sender;
}

const send = (sender: EventSender, url: string) => sender.send({ endpoint: 'evep_1', url }, 'evt_1', '{}', [SECRET]);

describe('a sender of events', () => {
  it('connects to a name in a network of the shop', async () => {
    const { port, requests } = await serve((_, response) => response.end());
    dns.address = '127.0.0.1';
    expect(await send(senderTo(), `http://orders.example:${port}/`)).toMatchObject({ status: 200 });
    expect(requests).toHaveLength(1);
  });

  it('refuses a name that DNS moved to a private address after the endpoint was checked', async () => {
    const { port, requests } = await serve((_, response) => response.end());
    const url = `https://orders.example:${port}/`;
    dns.address = PUBLIC;
    expect(await refusalOf(url, NONE)).toBeNull();
    dns.address = '127.0.0.1';
    expect(await refusalOf(url, NONE)).toContain('127.0.0.1 is not a public address');
    expect(await send(senderTo(NONE), url)).toMatchObject({
      status: null,
      error: expect.stringContaining('127.0.0.1 is not a public address'),
    });
    expect(requests).toEqual([]);
  });

  it('sends http only within the networks of the shop, also after DNS moved the name out of them', async () => {
    const url = 'http://orders.example:9/';
    dns.address = '127.0.0.1';
    expect(await refusalOf(url, LOOPBACK)).toBeNull();
    dns.address = PUBLIC;
    expect((await send(senderTo(), url)).error).toContain('http is permitted only in EVENT_ENDPOINT_NETWORKS');
  });

  it.each(['http://127.0.0.1:PORT/', 'http://[::ffff:127.0.0.1]:PORT/', 'http://2130706433:PORT/'])(
    'refuses the address %s outside of the networks of the shop',
    async (url) => {
      const { port, requests } = await serve((_, response) => response.end());
      const { status, error } = await send(senderTo(NONE), url.replace('PORT', String(port)));
      expect([status, error]).toEqual([null, expect.stringContaining('not a public address')]);
      expect(requests).toEqual([]);
    },
  );

  it('follows no redirect', async () => {
    const other = await serve((_, response) => response.end());
    const location = `http://127.0.0.1:${other.port}/`;
    const { port } = await serve((_, response) => response.writeHead(307, { location }).end());
    expect(await send(senderTo(), `http://127.0.0.1:${port}/`)).toMatchObject({ status: 307 });
    expect(other.requests).toEqual([]);
  });

  it('refuses a certificate that it cannot verify', async () => {
    const credentials = { cert: SELF_SIGNED, key: SELF_SIGNED };
    const { port, requests } = await serve((_, response) => response.end(), createTlsServer(credentials));
    expect(await send(senderTo(), `https://127.0.0.1:${port}/`)).toMatchObject({
      status: null,
      error: expect.stringContaining('self-signed certificate'),
    });
    expect(requests).toEqual([]);
    // Nothing else stops the request.
    const trusting = requestTls({ port, host: '127.0.0.1', ca: SELF_SIGNED, method: 'POST' }).end();
    const [answer] = (await once(trusting, 'response')) as [IncomingMessage];
    expect(answer.statusCode).toBe(200);
  });

  it('sends nothing over a connection that was made while the process was frozen', async () => {
    const { port, requests } = await serve((_, response) => response.end());
    let asked = 0;
    const freezes = {
      get count() {
        return (asked += 1);
      },
    };
    const sender = new EventSender(LOOPBACK, undefined, undefined, freezes);
    open.push(sender);
    expect(await send(sender, `http://127.0.0.1:${port}/`)).toMatchObject({ status: null });
    expect(requests).toEqual([]);
  });

  it('goes on when a connection fails that was being made while the process was frozen', async () => {
    const { port } = await serve((_, response) => response.end());
    for (const one of open.splice(0)) await one.close();
    let asked = 0;
    const sender = new EventSender(LOOPBACK, undefined, undefined, {
      get count() {
        return (asked += 1);
      },
    });
    open.push(sender);
    expect((await send(sender, `http://127.0.0.1:${port}/`)).error).toContain('ECONNREFUSED');
  });

  it('lets no endpoint wait for the connections of another at the same address', async () => {
    const held: (() => void)[] = [];
    const { port, requests } = await serve((request, response) => {
      if (request.url === '/slow') held.push(() => response.end());
      else response.end();
    });
    const sender = senderTo();
    const to = (endpoint: string, path: string) =>
      sender.send({ endpoint, url: `http://127.0.0.1:${port}/${path}` }, 'evt_1', '{}', [SECRET]);
    const slow = Array.from({ length: 64 }, () => to('evep_1', 'slow'));
    expect(await to('evep_2', 'fast')).toMatchObject({ status: 200 });
    expect(await to('evep_1', 'fast')).toMatchObject({ status: 200 });
    await expect.poll(() => requests.length).toBe(66);
    for (const end of held) end();
    expect(new Set((await Promise.all(slow)).map(({ status }) => status))).toEqual(new Set([200]));
  });

  it('reads 4 KB of an answer, and closes the connection', async () => {
    const { port, requests } = await serve((_, response) => void response.write('x'.repeat(8_192)));
    // An answer that is read further has no end here: the test would be over before the sender gives up.
    expect(await send(senderTo(), `http://127.0.0.1:${port}/`)).toMatchObject({ status: 200 });
    await expect.poll(() => requests[0]?.destroyed).toBe(true);
  });

  it('gives up a receiver that does not answer, and does not wait for the end of an answer', async () => {
    const silent = await serve(() => undefined);
    expect(await send(senderTo(LOOPBACK, 50), `http://127.0.0.1:${silent.port}/`)).toMatchObject({
      status: null,
      error: 'No answer within 15 s',
    });
    const endless = await serve((_, response) => void response.write('x'));
    expect(await send(senderTo(LOOPBACK, 1_000), `http://127.0.0.1:${endless.port}/`)).toMatchObject({ status: 200 });
  });

  it('gives a receiver 15 s to answer', async () => {
    const { port } = await serve((_, response) => response.end());
    const limits = vi.spyOn(AbortSignal, 'timeout');
    await send(senderTo(), `http://127.0.0.1:${port}/`);
    expect(limits.mock.calls).toEqual([[15_000]]);
    limits.mockRestore();
  });

  it.each([
    ['7', 7_000],
    [new Date(Date.now() + 3_600_000).toUTCString(), 3_600_000],
    ['soon', undefined],
    ['-5', undefined],
  ])('reads Retry-After: %s', async (value, expected) => {
    const { port } = await serve((_, response) => response.writeHead(503, { 'retry-after': value }).end());
    const { retryAfterMs } = await send(senderTo(), `http://127.0.0.1:${port}/`);
    if (expected === undefined) expect(retryAfterMs ?? 0).toBe(0);
    else expect(Math.abs((retryAfterMs ?? 0) - expected)).toBeLessThan(10_000);
  });
});
