import { randomInt } from 'node:crypto';
import { createServer, type Server } from 'node:net';

function listen(port: number): Promise<Server | undefined> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once('error', () => resolve(undefined));
    server.listen({ port, host: '127.0.0.1', exclusive: true }, () => resolve(server));
  });
}

/** Whether a server could listen on this port of the loopback address now. */
export async function isFree(port: number): Promise<boolean> {
  const server = await listen(port);
  await new Promise((resolve) => (server === undefined ? resolve(undefined) : server.close(resolve)));
  return server !== undefined;
}

const LEAST = 20_000;
/** The largest number of PostgreSQL's `smallint`, in which Temporal stores its servers' ports there. */
const MOST = 32_767;

/**
 * `count` different free ports of the loopback address. They lie below the range from which the system gives a port to an
 * outgoing connection: such a connection would take the port before its server listens.
 */
export async function freePorts(count: number): Promise<number[]> {
  const ports = new Set<number>();
  for (let tries = 0; ports.size < count; tries += 1) {
    if (tries > 100 * count)
      throw new Error(`This machine has no free TCP port from ${LEAST} to ${MOST} on 127.0.0.1.`);
    const port = randomInt(LEAST, MOST + 1);
    if (await isFree(port)) ports.add(port);
  }
  return [...ports];
}
