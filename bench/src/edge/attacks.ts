import { once, setMaxListeners } from 'node:events';
import { connect, type Socket } from 'node:net';
import { Pool } from 'undici';

/** Where an attack goes: the API, and a link that a customer's page could hold. */
type Target = { readonly url: string; readonly link: string };

/** Goes on until the signal aborts. @returns how many requests were answered, by status; 0 stands for a closed connection. */
export type Attack = (target: Target, signal: AbortSignal) => Promise<Answers>;

type Answers = Readonly<Record<number, number>>;
type Request = {
  readonly method: 'GET' | 'POST' | 'OPTIONS';
  readonly path: string;
  readonly body?: string;
  readonly headers?: Readonly<Record<string, string>>;
};

/** As many as the outside test used when it slowed a till down. */
const CONNECTIONS = 20;
const HELD_CONNECTIONS = 500;
const DRIP_MS = 1_000;

const JSON_BODY = { 'content-type': 'application/json' };
const deep = (bytes: number): string => '['.repeat(bytes / 2) + ']'.repeat(bytes / 2);

/** What a caller without a key can send. Each slowed a till down, or took a place from it, before the edge was closed. */
export const ATTACKS: Readonly<Record<string, Attack>> = {
  'descriptions of the API': flood(() => [
    { method: 'GET', path: '/openapi.json' },
    { method: 'GET', path: '/docs-yaml' },
    { method: 'GET', path: '/docs' },
  ]),
  'unknown routes and preflights': flood(() => [
    { method: 'GET', path: '/v2/none' },
    { method: 'OPTIONS', path: '/v1/checkouts' },
    { method: 'GET', path: '/v1/checkouts' },
  ]),
  'readiness probes': flood(() => [{ method: 'GET', path: '/health/ready' }]),
  'unsigned webhooks of deep JSON': flood(() => [
    { method: 'POST', path: '/webhooks/provider', body: deep(60_000), headers: JSON_BODY },
  ]),
  'deep JSON without a key': flood(() => [
    { method: 'POST', path: '/v1/checkouts', body: deep(120_000), headers: JSON_BODY },
  ]),
  'forged links': flood(({ link }) => [{ method: 'GET', path: `${link.slice(0, -4)}AAAA` }]),
  'bodies that drip': hold((socket, { url }) => {
    socket.write(
      `POST /v1/checkouts HTTP/1.1\r\nHost: ${new URL(url).host}\r\n` +
        'Content-Type: application/json\r\nContent-Length: 100000\r\n\r\n{',
    );
    const drip = setInterval(() => socket.write(' '), DRIP_MS);
    socket.once('close', () => clearInterval(drip));
  }),
  'streams that read nothing': hold((socket, { url, link }) => {
    socket.pause();
    socket.write(`GET ${link} HTTP/1.1\r\nHost: ${new URL(url).host}\r\n\r\n`);
  }),
};

/** Sends one request after the other on each connection. */
function flood(requestsTo: (target: Target) => readonly Request[]): Attack {
  return async (target, signal) => {
    setMaxListeners(CONNECTIONS, signal);
    const requests = requestsTo(target);
    const answers: Record<number, number> = {};
    const pool = new Pool(target.url, { connections: CONNECTIONS, pipelining: 1 });
    const sender = async (): Promise<void> => {
      for (let turn = 0; !signal.aborted; turn += 1) {
        const { method, path, body, headers } = requests[turn % requests.length] ?? { method: 'GET', path: '/' };
        try {
          const answer = await pool.request({ method, path, body: body ?? null, headers: headers ?? {}, signal });
          answers[answer.statusCode] = (answers[answer.statusCode] ?? 0) + 1;
          await answer.body.dump();
        } catch {
          // The API closed the connection.
          if (!signal.aborted) answers[0] = (answers[0] ?? 0) + 1;
        }
      }
    };
    await Promise.all(Array.from({ length: CONNECTIONS }, sender));
    await pool.destroy();
    return answers;
  };
}

/** Holds many connections, and opens another for each that the API closes. */
function hold(begin: (socket: Socket, target: Target) => void): Attack {
  return async (target, signal) => {
    const { hostname, port } = new URL(target.url);
    const sockets = new Set<Socket>();
    const open = (): void => {
      if (signal.aborted) return;
      const socket = connect({ host: hostname, port: Number(port) });
      sockets.add(socket);
      socket.on('error', () => undefined);
      socket.once('connect', () => begin(socket, target));
      socket.once('close', () => {
        sockets.delete(socket);
        setTimeout(open, DRIP_MS / 10);
      });
    };
    for (let i = 0; i < HELD_CONNECTIONS; i += 1) open();
    if (!signal.aborted) await once(signal, 'abort');
    for (const socket of sockets) socket.destroy();
    return {};
  };
}
