import { randomInt } from 'node:crypto';
import { createServer, type Server } from 'node:net';

function listen(port: number): Promise<Server | undefined> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once('error', () => resolve(undefined));
    server.listen({ port, host: '127.0.0.1', exclusive: true }, () => resolve(server));
  });
}

function portOf(server: Server): number {
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('a TCP server has a port');
  return address.port;
}

/** `count` different free ports of the loopback address. Another process may take one before it is used: retry then. */
export async function freePorts(count: number): Promise<number[]> {
  const servers = await Promise.all(Array.from({ length: count }, () => listen(0)));
  const open = servers.filter((server) => server !== undefined);
  const ports = open.map(portOf);
  await Promise.all(open.map((server) => new Promise((resolve) => server.close(resolve))));
  if (ports.length < count) throw new Error('this machine has no free TCP port on 127.0.0.1');
  return ports;
}

/** Whether a server could listen on this port of the loopback address now. */
export async function isFree(port: number): Promise<boolean> {
  const server = await listen(port);
  await new Promise((resolve) => (server === undefined ? resolve(undefined) : server.close(resolve)));
  return server !== undefined;
}

const LEAST_LOW_PORT = 20_000;
/** The largest number of PostgreSQL's `smallint`. */
const MOST_LOW_PORT = 32_767;

/**
 * `count` different free ports of the loopback address that a `smallint` can hold: Temporal stores its servers' ports in
 * such a column of PostgreSQL. The system gives none of them to an outgoing connection.
 */
export async function freeLowPorts(count: number): Promise<number[]> {
  const ports = new Set<number>();
  for (let tries = 0; ports.size < count; tries += 1) {
    if (tries > 100 * count) throw new Error('this machine has no free TCP port below 32768 on 127.0.0.1');
    const port = randomInt(LEAST_LOW_PORT, MOST_LOW_PORT + 1);
    if (await isFree(port)) ports.add(port);
  }
  return [...ports];
}
