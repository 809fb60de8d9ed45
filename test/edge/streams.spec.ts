import { connect, type Socket } from 'node:net';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { KEYS, Stack, type CheckoutJson } from '../support/stack.js';

const STREAM_LIMIT = 8;

let stack: Stack;
const sockets: Socket[] = [];
beforeAll(async () => {
  stack = await Stack.start({ webhookUrl: null, api: { STREAM_LIMIT: String(STREAM_LIMIT) } });
});
afterAll(() => stack.stop());
afterEach(() => {
  for (const socket of sockets.splice(0)) socket.destroy();
});

/** Opens a stream, takes the head of the answer from the socket, and never reads again. @returns the status. */
async function openAndReadNothing(url: string, headers = ''): Promise<number> {
  const { hostname, port, pathname, search } = new URL(url);
  const socket = connect(Number(port), hostname);
  sockets.push(socket);
  socket.write(`GET ${pathname}${search} HTTP/1.1\r\nHost: ${hostname}\r\n${headers}\r\n`);
  const head = await new Promise<Buffer>((resolve, reject) => {
    socket.once('data', (chunk) => {
      socket.pause();
      resolve(chunk);
    });
    socket.once('error', reject);
  });
  return Number(/^HTTP\/1\.1 (\d{3})/.exec(head.toString('latin1'))?.[1]);
}

const openByLink = ({ events_url }: CheckoutJson): Promise<number> => openAndReadNothing(events_url ?? '');
const openByKey = ({ location }: CheckoutJson): Promise<number> =>
  openAndReadNothing(`${stack.api.url}${location}/events`, `Authorization: Bearer ${KEYS.checkout}\r\n`);

describe('clients that open streams by links and read nothing', () => {
  it('hold at most half of the streams, so callers with a key still get a stream, also of the same checkouts', async () => {
    const [one, two] = [(await stack.create()).body, (await stack.create()).body];
    const statuses: number[] = [];
    for (let count = 0; count < STREAM_LIMIT; count += 1) statuses.push(await openByLink(count % 2 === 0 ? one : two));
    expect(statuses.filter((status) => status === 200)).toHaveLength(STREAM_LIMIT / 2);
    expect(statuses.filter((status) => status === 503)).toHaveLength(STREAM_LIMIT / 2);
    expect([await openByKey(one), await openByKey(two)]).toEqual([200, 200]);
  });

  it('give their places back when they leave', async () => {
    const { body } = await stack.create();
    await expect.poll(() => openByLink(body)).toBe(200);
  });
});
