import { Socket } from 'node:net';
import { buildConnector, Pool } from 'undici';

/** Above this many requests at a time the rest wait, unsent, for a free connection. */
const MAX_CONNECTIONS = 128;

export interface ConnectionPool {
  readonly dispatcher: Pool;
  /** Closes every socket, also those still connecting. Requests in flight break. */
  close(): Promise<void>;
}

/**
 * Kept-alive connections to one origin. Their sockets never keep the process alive: an idle one is released by undici,
 * one that connects here, and a request in flight has its timer.
 */
export function openPool(origin: string, connectTimeoutMs: number): ConnectionPool {
  const connect = buildConnector({ timeout: connectTimeoutMs });
  const connecting = new Set<Socket>();
  const dispatcher = new Pool(origin, {
    connections: MAX_CONNECTIONS,
    // One request at a time on each socket, so that no request shares the fate of another.
    pipelining: 1,
    connect: (options, callback) => {
      // Typed as void, but undici's connector returns the socket; nothing else gives it before it is connected.
      const socket: unknown = connect(options, (...result) => {
        if (socket instanceof Socket) connecting.delete(socket);
        callback(...result);
      });
      if (!(socket instanceof Socket)) return;
      connecting.add(socket);
      socket.unref();
    },
  });
  return {
    dispatcher,
    async close() {
      const closed = dispatcher.destroy();
      for (const socket of connecting) socket.destroy();
      await closed;
    },
  };
}
