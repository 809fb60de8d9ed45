import type { Socket } from 'node:net';
import type { FastifyInstance } from 'fastify';

/**
 * Closes, when the process stops, the connections that never brought a request: browsers open such in advance, and
 * Node counts them as busy until its header timeout of a minute.
 */
export function closeUnusedConnections(server: Pick<FastifyInstance, 'addHook' | 'server'>): void {
  const unused = new Set<Socket>();
  let isClosing = false;
  server.server.on('connection', (socket) => {
    unused.add(socket);
    socket.once('close', () => unused.delete(socket));
    if (isClosing) socket.destroy();
  });
  server.server.on('request', ({ socket }) => unused.delete(socket));
  server.addHook('preClose', (done) => {
    isClosing = true;
    for (const socket of unused) socket.destroy();
    done();
  });
}
