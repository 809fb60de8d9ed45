import { EventEmitter, once } from 'node:events';
import { Agent, get, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
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
