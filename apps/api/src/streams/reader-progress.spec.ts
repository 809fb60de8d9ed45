import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import { connect, type AddressInfo, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { EventStream, ReaderProgress } from './event-stream.js';

const HEARTBEAT_MS = 20;
/** More than the operating system buffers between two sockets of one machine. */
const STATE = 'x'.repeat(16 * 1_048_576);

let server: Server;
let progress: ReaderProgress;
const clients: Socket[] = [];

beforeEach(async () => {
  server = createServer((_request, response) => {
    const stream = new EventStream(HEARTBEAT_MS);
    progress = new ReaderProgress(response);
    response.once('close', () => stream.destroy());
    stream.pipe(response);
    stream.show('checkout', 1, STATE);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
});
afterEach(() => {
  for (const client of clients.splice(0)) client.destroy();
  server.closeAllConnections();
  server.close();
});

async function ask(): Promise<Socket> {
  const client = connect((server.address() as AddressInfo).port, '127.0.0.1');
  clients.push(client);
  client.pause();
  await once(client, 'connect');
  const asked = once(server, 'request');
  client.write('GET / HTTP/1.1\r\nHost: a\r\n\r\n');
  await asked;
  return client;
}

/** What the check says at so many heartbeats. */
async function answers(heartbeats: number): Promise<boolean[]> {
  const said: boolean[] = [];
  for (let count = 0; count < heartbeats; count += 1) {
    await sleep(HEARTBEAT_MS);
    said.push(progress.hasStopped());
  }
  return said;
}

describe('a reader', () => {
  it('that reads nothing from its socket has stopped after three heartbeats', async () => {
    await ask();
    expect((await answers(6)).slice(-2)).toEqual([true, true]);
  });

  it('that has read everything has not stopped', async () => {
    const client = await ask();
    let length = 0;
    client.on('data', (chunk) => (length += chunk.length)).resume();
    await expect.poll(() => length, { timeout: 10_000 }).toBeGreaterThan(STATE.length);
    expect(await answers(10)).not.toContain(true);
  });
});
