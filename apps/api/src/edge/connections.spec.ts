import { EventEmitter, once } from 'node:events';
import { Agent, get, type IncomingMessage } from 'node:http';
import { connect, type AddressInfo } from 'node:net';
import { fastify } from 'fastify';
import { expect, it } from 'vitest';
import { closeConnections } from './connections.js';

it('a server that shuts down answers the request under way, and closes its connection with the answer', async () => {
  const server = fastify();
  const steps = new EventEmitter();
  closeConnections(server);
  server.get('/', async () => {
    const isClosing = once(steps, 'closing');
    steps.emit('arrived');
    await isClosing;
    return 'answered';
  });
  server.addHook('preClose', (done) => {
    steps.emit('closing');
    done();
  });
  await server.listen({ port: 0, host: '127.0.0.1' });
  const { port } = server.server.address() as AddressInfo;
  const agent = new Agent({ keepAlive: true });
  const hasArrived = once(steps, 'arrived');
  const answer = new Promise<IncomingMessage>((resolve) => {
    get({ port, host: '127.0.0.1', agent }, (response) => resolve(response.resume()));
  });
  await hasArrived;
  await server.close();
  expect((await answer).headers.connection).toBe('close');
  agent.destroy();
});

it('each answer that waits behind another one closes when its connection ends', async () => {
  const server = fastify();
  closeConnections(server);
  const closed: string[] = [];
  const steps = new EventEmitter();
  server.get('/:number', async ({ url }, { raw }) => {
    raw.once('close', () => {
      closed.push(url);
      if (closed.length === 3) steps.emit('closed');
    });
    if (url === '/0') await new Promise(() => undefined);
    if (url === '/2') steps.emit('arrived');
    return 'answered';
  });
  await server.listen({ port: 0, host: '127.0.0.1' });
  const socket = connect((server.server.address() as AddressInfo).port, '127.0.0.1');
  const [hasArrived, haveClosed] = [once(steps, 'arrived'), once(steps, 'closed')];
  socket.write(['/0', '/1', '/2'].map((path) => `GET ${path} HTTP/1.1\r\nHost: a\r\n\r\n`).join(''));
  await hasArrived;
  socket.destroy();
  await haveClosed;
  expect(closed.toSorted()).toEqual(['/0', '/1', '/2']);
  await server.close();
});
