import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { createServer as createTcpServer, type AddressInfo, type Server, type Socket } from 'node:net';
import { expect, onTestFinished } from 'vitest';
import { PaymentsClient } from '../src/client.js';
import { IntegrityError, PaymentsError } from '../src/errors.js';
import type { Clock } from '../src/http/deadline.js';
import { REQUEST_CHANNEL, type RequestReport } from '../src/http/reporting.js';
import type { PaymentsClientOptions, RequestOptions } from '../src/options.js';
import { EVENT, NEW_CHARGE, NEW_SOURCE, REFUND } from './samples.js';

export const SECRET_KEY = 'skey_test_5xuyshzbqxn2ojxsdpe';
export const PUBLIC_KEY = 'pkey_test_5xuyshzbsa5fzbnt9z9';

/** A request as the provider received it. */
interface Seen {
  method: string;
  /** With the query string. */
  url: string;
  headers: IncomingMessage['headers'];
  body: string;
  bytes: Buffer;
}

/** Answers one request. */
export type Answer = (response: ServerResponse, request: Seen) => void;

export interface Provider {
  baseUrl: string;
  seen: Seen[];
}

/** An HTTP server that gives the answers in order, the last one for ever. */
export async function provider(...answers: readonly Answer[]): Promise<Provider> {
  const seen: Seen[] = [];
  const server = createServer((request, response) => {
    // The tests' clients have virtual clocks: a real date would be ahead of them.
    response.sendDate = false;
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('error', () => undefined);
    request.on('end', () => {
      const { method = '', url = '', headers } = request;
      const bytes = Buffer.concat(chunks);
      const one = { method, url, headers, body: bytes.toString(), bytes };
      seen.push(one);
      const answer = answers[Math.min(seen.length, answers.length) - 1];
      answer?.(response, one);
    });
  });
  onTestFinished(() => server.closeAllConnections());
  return { baseUrl: await listen(server), seen };
}

/** A TCP server that passes the bytes it receives to `act`. */
export async function tcpProvider(
  act: (socket: Socket, text: string, nth: number) => void,
): Promise<{ baseUrl: string; connections: number[]; requests: string[] }> {
  const connections: number[] = [];
  const requests: string[] = [];
  const sockets = new Set<Socket>();
  const server = createTcpServer((socket) => {
    connections.push(connections.length + 1);
    sockets.add(socket);
    socket.on('error', () => undefined);
    socket.on('data', (bytes) => {
      requests.push(bytes.toString());
      act(socket, bytes.toString(), requests.length);
    });
  });
  onTestFinished(() => sockets.forEach((socket) => socket.destroy()));
  return { baseUrl: await listen(server), connections, requests };
}

async function listen(server: Server): Promise<string> {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => new Promise<void>((resolve) => void server.close(() => resolve())));
  const { port } = server.address() as AddressInfo;
  return `http://127.0.0.1:${port}`;
}

/** An address on which nothing listens. */
export async function deadAddress(): Promise<string> {
  const server = createTcpServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise<void>((resolve) => void server.close(() => resolve()));
  return `http://127.0.0.1:${port}`;
}

/** The report of every request of this process, from here to the end of the test. */
export function reports(): RequestReport[] {
  const seen: RequestReport[] = [];
  const note = (report: unknown): void => void seen.push(report as RequestReport);
  subscribe(REQUEST_CHANNEL, note);
  onTestFinished(() => void unsubscribe(REQUEST_CHANNEL, note));
  return seen;
}

/** A logger, and the lines that it was given: level, fields and message. */
export function collectingLogger() {
  const lines: [string, object, string][] = [];
  const level = (name: string) => (fields: object, message: string) => void lines.push([name, fields, message]);
  const logger = { debug: level('debug'), info: level('info'), warn: level('warn'), error: level('error') };
  return { logger, lines };
}

/** A clock that a sleep moves instead of waiting. `slept` holds every wait, in milliseconds. */
export function virtualClock(start = Date.UTC(2025, 5, 9)): Clock & { slept: number[]; advance(ms: number): void } {
  let elapsed = 0;
  const slept: number[] = [];
  return {
    slept,
    advance: (ms) => {
      elapsed += ms;
    },
    now: () => start + elapsed,
    monotonic: () => elapsed,
    sleep: (ms) => {
      slept.push(ms);
      elapsed += ms;
      return Promise.resolve();
    },
  };
}

/**
 * A clock that stands still until `advance`, which lets each sleep end at its own instant. `timers` counts the sleeps.
 */
export function steppedClock(start = Date.UTC(2025, 5, 9)): Clock & {
  advance(ms: number): Promise<void>;
  /** Time passes, and no sleep ends: the process stood still. */
  freeze(ms: number): void;
  timers(): number;
} {
  let elapsed = 0;
  const sleeping = new Map<() => void, number>();
  /** Lets what a sleep woke run: a promise chain takes several turns of the microtask queue. */
  const settle = (): Promise<void> => new Promise((resolve) => void setImmediate(resolve));
  return {
    freeze: (ms) => {
      elapsed += ms;
    },
    timers: () => sleeping.size,
    now: () => start + elapsed,
    monotonic: () => elapsed,
    sleep: (ms, signal) =>
      new Promise((resolve) => {
        const end = (): void => {
          sleeping.delete(end);
          resolve();
        };
        sleeping.set(end, elapsed + ms);
        signal?.addEventListener('abort', end);
      }),
    async advance(ms) {
      const until = elapsed + ms;
      await settle();
      for (;;) {
        const [next] = [...sleeping].toSorted(([, a], [, b]) => a - b);
        if (next === undefined || next[1] > until) break;
        elapsed = Math.max(elapsed, next[1]);
        next[0]();
        await settle();
      }
      elapsed = until;
    },
  };
}

/** A client of that provider whose waits take no time, without jitter. */
export function clientOf(target: { baseUrl: string }, options: Partial<PaymentsClientOptions> = {}): PaymentsClient {
  const client = new PaymentsClient({
    baseUrl: target.baseUrl,
    secretKey: SECRET_KEY,
    clock: virtualClock(),
    random: () => 0,
    ...options,
  });
  onTestFinished(() => client.close());
  return client;
}

export const reply =
  (status: number, body: unknown, headers: Record<string, string> = {}): Answer =>
  (response) => {
    response.writeHead(status, { 'content-type': 'application/json', ...headers });
    response.end(typeof body === 'string' ? body : JSON.stringify(body));
  };

export const refuse = (
  status: number,
  code: string,
  message = 'refused',
  headers: Record<string, string> = {},
): Answer => reply(status, { object: 'error', location: `/errors#${code}`, code, message }, headers);

/** Reads the whole request, then resets the connection. */
export const reset: Answer = (response) => {
  response.socket?.resetAndDestroy();
};

/** Never answers. */
export const stall: Answer = () => undefined;

export const sourceOf = (fields: object = {}): object => ({ ...NEW_SOURCE, ...fields });
export const chargeOf = (fields: object = {}): object => ({ ...NEW_CHARGE, ...fields });
export const refundOf = (fields: object = {}): object => ({ ...REFUND, metadata: {}, ...fields });
export const eventOf = (fields: object = {}): object => ({ ...EVENT, ...fields });

export const MONEY = { amount: 150_000, currency: 'THB' };

export const createCharge = (client: PaymentsClient, options?: RequestOptions): Promise<unknown> =>
  client.charges.create({ ...MONEY, source: { type: 'wallet_mpm' } }, options);
export const retrieveCharge = (client: PaymentsClient, options?: RequestOptions): Promise<unknown> =>
  client.charges.retrieve('chrg_test_1', options);

/** The error of a call that must fail. */
export async function failureOf(call: Promise<unknown>): Promise<PaymentsError> {
  const error: unknown = await call.then(
    () => new Error('the call succeeded'),
    (reason: unknown) => reason,
  );
  if (!(error instanceof PaymentsError)) throw new Error('expected a PaymentsError', { cause: error });
  return error;
}

/** The fields in which a reply differs from its request; none when the client accepts the reply. */
export async function contradictionsOf(call: Promise<unknown>): Promise<readonly string[]> {
  const error: unknown = await call.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  if (error === undefined) return [];
  if (!(error instanceof IntegrityError)) throw new Error('expected an IntegrityError', { cause: error });
  expect(error).toMatchObject({ code: 'integrity_mismatch', outcome: 'unknown', retryable: false });
  return error.fields;
}
