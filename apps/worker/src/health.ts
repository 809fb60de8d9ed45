import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Registry } from 'prom-client';

/** The state of a worker. */
export type State = {
  /** `temporal_unreachable`: Temporal has not been reached since the start, or does not answer. */
  readonly status: 'ok' | 'temporal_unreachable' | 'clock_wrong' | 'starting_or_stopping';
  /** The offsets of the machine's clock; null until Temporal is reached for the first time. */
  readonly clock: {
    readonly temporal_offset_ms: number;
    readonly provider_offset_ms: number | null;
    readonly max_offset_ms: number;
  } | null;
};

/** What the health server reports. */
export type Vitals = {
  readonly state: () => Promise<State>;
  /** The metrics of the process. They contain no id and no secret: anyone who reaches the port may read them. */
  readonly registry: Registry;
};

/** Answers `GET /health/live` and `GET /health/ready`, for a container's health check, and `GET /metrics`. */
export async function serveHealth(
  host: string,
  port: number,
  vitals: Vitals,
): Promise<{ readonly url: string; close(): void }> {
  const server = createServer((request, reply) => {
    answer(request, reply, vitals).catch((error: unknown) => reply.destroy(error instanceof Error ? error : undefined));
  });
  await listening(server, host, port);
  const { port: bound } = server.address() as AddressInfo;
  return {
    url: `http://${host.includes(':') ? `[${host}]` : host}:${bound}`,
    close() {
      server.close();
      server.closeAllConnections();
    },
  };
}

function listening(server: Server, host: string, port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, host, resolve);
  });
}

async function answer({ url = '/' }: IncomingMessage, reply: ServerResponse, vitals: Vitals): Promise<void> {
  const { registry } = vitals;
  switch (url.split('?', 1)[0]) {
    case '/metrics': {
      const text = await registry.metrics();
      reply.writeHead(200, { 'content-type': registry.contentType });
      reply.end(text);
      return;
    }
    case '/health/live':
      answerJson(reply, 200, { status: 'ok' });
      return;
    case '/health/ready': {
      const { status, clock } = await vitals.state();
      if (status === 'ok') answerJson(reply, 200, { status, clock });
      else answerJson(reply, 503, { status: 'not_ready', reason: status, clock });
      return;
    }
    default:
      answerJson(reply, 404, { status: 'not_found' });
  }
}

function answerJson(reply: ServerResponse, code: number, body: object): void {
  reply.writeHead(code, { 'content-type': 'application/json' });
  reply.end(JSON.stringify(body));
}
