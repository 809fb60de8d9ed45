import { Socket } from 'node:net';
import { buildConnector, Pool } from 'undici';

/** Further requests wait, unsent, for a free connection. */
const MAX_CONNECTIONS = 128;

export interface ConnectionPool {
  readonly dispatcher: Pool;
  /** Closes every socket, also those that are connecting. Requests in flight break. */
  close(): Promise<void>;
}

/**
 * Kept-alive connections to one origin. Their sockets never keep the process running: undici unrefs an idle socket,
 * this pool unrefs one that is connecting, and a request in flight has its own timer.
 */
export function openPool(origin: string, connectTimeoutMs: number): ConnectionPool {
  const connect = buildConnector({ timeout: connectTimeoutMs });
  const connecting = new Set<Socket>();
  const dispatcher = new Pool(origin, {
    connections: MAX_CONNECTIONS,
    // One request at a time on each socket, so that one broken request breaks no other.
    pipelining: 1,
    connect: (options, callback) => {
      // Typed as void, but undici's connector returns the socket. Nothing else gives access to it before it is
      // connected.
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
