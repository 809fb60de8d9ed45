import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Registry } from 'prom-client';

/** What a worker says about itself. */
export type Vitals = {
  readonly isReady: () => Promise<boolean>;
  /** The metrics of the process. They hold no id and no secret: who reaches the port may read them. */
  readonly registry: Registry;
};

/** Answers `GET /health/live` and `GET /health/ready`, for a container's health check, and `GET /metrics`. */
export async function serveHealth(port: number, vitals: Vitals): Promise<{ readonly url: string; close(): void }> {
  const server = createServer((request, reply) => {
    answer(request, reply, vitals).catch((error: unknown) => reply.destroy(error instanceof Error ? error : undefined));
  });
  await listening(server, port);
  const { port: bound } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${bound}`,
    close() {
      server.close();
      server.closeAllConnections();
    },
  };
}

function listening(server: Server, port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, '0.0.0.0', resolve);
  });
}

async function answer(
  { url = '/' }: IncomingMessage,
  reply: ServerResponse,
  { isReady, registry }: Vitals,
): Promise<void> {
  const [path] = url.split('?', 1);
  if (path === '/metrics') {
    const text = await registry.metrics();
    reply.writeHead(200, { 'content-type': registry.contentType });
    reply.end(text);
    return;
  }
  const [code, status] =
    path === '/health/live' || (path === '/health/ready' && (await isReady()))
      ? ([200, 'ok'] as const)
      : path === '/health/ready'
        ? ([503, 'not_ready'] as const)
        : ([404, 'not_found'] as const);
  reply.writeHead(code, { 'content-type': 'application/json' });
  reply.end(JSON.stringify({ status }));
}
