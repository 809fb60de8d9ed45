import { execFile } from 'node:child_process';
import type { ServerResponse } from 'node:http';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { describe, expect, test } from 'vitest';
import { type Fault, FaultServer } from '../../test/fault-server.js';
import { call, METHOD_NAMES, type MethodName, METHODS } from '../../test/methods.js';
import { deadAddress, reports, SECRET_KEY, virtualClock } from '../../test/provider.js';
import { PNG } from '../../test/samples.js';
import { PaymentsClient } from '../client.js';
import {
  ConnectionError,
  InvalidRequestError,
  type Outcome,
  PaymentsError,
  RateLimitError,
  ServerError,
  TimeoutError,
  UnexpectedResponseError,
} from '../errors.js';

interface Limits {
  readonly timeoutMs: number;
  readonly maxRetries: number;
}

/** No fault but a stall lasts so long. */
const PATIENT: Limits = { timeoutMs: 60_000, maxRetries: 2 };
/** Long enough for a starved machine to connect in, because every try waits for all of it. */
const STALLED: Limits = { timeoutMs: 5_000, maxRetries: 1 };

interface Case {
  readonly fault: Fault;
  readonly error: typeof PaymentsError;
  readonly code: string;
  readonly outcome: Outcome;
  readonly status?: number;
  readonly retryAfterMs?: number;
  /** Whether the same call may be made again without risk: always, never, or unless it is a POST. */
  readonly repeats: 'always' | 'never' | 'not for POST';
  /** The fault ends only by a timeout. */
  readonly stalls?: true;
  /** The fault leaves the connection in a state to be used again. */
  readonly keepsSocket?: true;
}

const head = (status: number, headers: Record<string, string | number> = {}) => ({
  status,
  headers: { 'content-type': 'application/json', ...headers },
});

/** A whole reply. */
const answer =
  (status: number, body: string | Buffer, headers: Record<string, string | number> = {}) =>
  (response: ServerResponse): void => {
    const { headers: all } = head(status, headers);
    response.writeHead(status, { 'content-length': Buffer.byteLength(body), ...all }).end(body);
  };

/** The head and the beginning of a reply; `then` is done with the socket. */
const begin =
  (status: number, then: (response: ServerResponse) => void = () => undefined) =>
  (response: ServerResponse): void => {
    response.writeHead(status, { 'content-type': 'application/json', 'content-length': 1_000 });
    response.write('{"object":', () => then(response));
  };

const raw =
  (text: string, then: (response: ServerResponse) => void = () => undefined) =>
  (response: ServerResponse): void =>
    void response.socket?.write(text, () => then(response));

const reset = (response: ServerResponse): void => void response.socket?.resetAndDestroy();
const end = (response: ServerResponse): void => void response.socket?.end();

const lost = { error: ConnectionError, code: 'connection_lost', outcome: 'unknown', repeats: 'not for POST' } as const;
const late = {
  error: TimeoutError,
  code: 'timeout',
  outcome: 'unknown',
  repeats: 'not for POST',
  stalls: true,
} as const;
const unbelievable = {
  error: UnexpectedResponseError,
  code: 'unexpected_response',
  outcome: 'unknown',
  repeats: 'never',
} as const;
const refused = { error: InvalidRequestError, outcome: 'rejected', status: 400, repeats: 'never' } as const;
const limited = { error: RateLimitError, outcome: 'rejected', status: 429, repeats: 'always' } as const;
const failed = { error: ServerError, outcome: 'unknown', repeats: 'not for POST' } as const;

/** The client's clock stands here, but for the waits between its tries. */
const NOW = Date.UTC(2025, 5, 9);
const RETRY_AFTER_MS = 3_000;

/** Each reply names an instant that is three seconds ahead when it comes: the client has waited for those before. */
const limitedByDate = (response: ServerResponse, nth: number): void =>
  answer(429, '', { 'retry-after': new Date(NOW + nth * RETRY_AFTER_MS).toUTCString() })(response);

const CASES: Readonly<Record<string, Case>> = {
  'a reset before the request is read': { fault: { early: reset }, ...lost },
  'a reset after the request is read': { fault: { late: reset }, ...lost },
  'an end without a reply': { fault: { late: end }, ...lost },
  'a stall before the head': { fault: { late: () => undefined }, ...late },
  'a stall in the head': { fault: { late: raw('HTTP/1.1 200 OK\r\ncontent-le') }, ...late },
  'a stall in the body': { fault: { late: begin(200) }, ...late, status: 200 },
  'a body that ends early': { fault: { late: begin(200, end) }, ...lost, status: 200 },
  'a body that is reset': { fault: { late: begin(200, reset) }, ...lost, status: 200 },
  'no HTTP': { fault: { late: raw('\u0000\u0001garbage\r\n\r\n') }, ...unbelievable },
  'garbage for JSON': {
    fault: { late: answer(200, '{"object":"ch') },
    ...unbelievable,
    status: 200,
    keepsSocket: true,
  },
  'JSON of another shape': {
    fault: { late: answer(200, '{"ok":true}') },
    ...unbelievable,
    status: 200,
    keepsSocket: true,
  },
  'an empty success': { fault: { late: answer(204, '') }, ...unbelievable, status: 204, keepsSocket: true },
  'a redirect': {
    fault: { late: answer(302, '', { location: '/elsewhere' }) },
    ...unbelievable,
    code: 'http_302',
    status: 302,
    keepsSocket: true,
  },
  'a 502 in HTML': {
    fault: { late: answer(502, '<html>Bad Gateway</html>', { 'content-type': 'text/html' }) },
    ...failed,
    code: 'http_502',
    status: 502,
    keepsSocket: true,
  },
  'a 503 with Retry-After': {
    fault: { late: answer(503, '', { 'retry-after': 3 }) },
    ...failed,
    code: 'http_503',
    status: 503,
    retryAfterMs: RETRY_AFTER_MS,
    keepsSocket: true,
  },
  'a 429 with Retry-After in seconds': {
    fault: { late: answer(429, '', { 'retry-after': 3 }) },
    ...limited,
    code: 'http_429',
    retryAfterMs: RETRY_AFTER_MS,
    keepsSocket: true,
  },
  'a 429 with Retry-After as a date': {
    fault: { late: limitedByDate },
    ...limited,
    code: 'http_429',
    retryAfterMs: RETRY_AFTER_MS,
    keepsSocket: true,
  },
  'a 400 that nobody can read': {
    fault: { late: answer(400, Buffer.from([0xff, 0xfe, 0x00, 0x7b])) },
    ...refused,
    code: 'http_400',
    keepsSocket: true,
  },
  'a 400 that ends early': { fault: { late: begin(400, end) }, ...refused, code: 'http_400' },
  'a 400 that is reset': { fault: { late: begin(400, reset) }, ...refused, code: 'http_400' },
  'a 400 that stalls': { fault: { late: begin(400) }, ...refused, code: 'http_400', stalls: true },
};

const isPost = (name: MethodName): boolean => METHODS[name].endpoint.startsWith('POST ');

const limitsOf = ({ stalls }: Case): Limits => (stalls ? STALLED : PATIENT);

const open = (baseUrl: string, limits = PATIENT): PaymentsClient =>
  new PaymentsClient({ baseUrl, secretKey: SECRET_KEY, clock: virtualClock(NOW), random: () => 0, ...limits });

interface Seen {
  error: unknown;
  code: unknown;
  outcome: unknown;
  status: unknown;
  retryAfterMs: unknown;
  retryable: unknown;
  requests: number;
}

/** What a call that must fail ended as. */
async function endOf(client: PaymentsClient, name: MethodName): Promise<Omit<Seen, 'requests'>> {
  const error: unknown = await call(client, name).then(
    () => new Error('it succeeded'),
    (reason: unknown) => reason,
  );
  if (!(error instanceof PaymentsError)) throw new Error(`${name}: no PaymentsError`, { cause: error });
  const { code, outcome, status, retryable } = error;
  const retryAfterMs = 'retryAfterMs' in error ? error.retryAfterMs : undefined;
  return { error: error.constructor, code, outcome, status, retryAfterMs, retryable };
}

function expectedOf(wanted: Case, name: MethodName): Seen {
  const { repeats } = wanted;
  const again = repeats === 'always' || (repeats === 'not for POST' && !isPost(name));
  return {
    error: wanted.error,
    code: wanted.code,
    outcome: wanted.outcome,
    status: wanted.status,
    retryAfterMs: wanted.retryAfterMs,
    retryable: again,
    requests: again ? limitsOf(wanted).maxRetries + 1 : 1,
  };
}

describe.concurrent.each(Object.entries(CASES))('%s', (_, wanted) => {
  test('ends every method by its outcome, after as many requests as are safe, and leaves no socket', async ({
    expect,
  }) => {
    const see = async (name: MethodName): Promise<readonly [MethodName, Seen]> => {
      const server = await FaultServer.start(wanted.fault);
      const client = open(server.baseUrl, limitsOf(wanted));
      try {
        const end = await endOf(client, name);
        if (wanted.keepsSocket) await client.close();
        await expect.poll(() => server.openSockets(), { timeout: 20_000 }).toBe(0);
        return [name, { ...end, requests: server.requests.length }];
      } finally {
        await client.close();
        await server.close();
      }
    };
    // Stalls only wait, so they wait together.
    const seen = wanted.stalls ? await Promise.all(METHOD_NAMES.map(see)) : await inTurn(METHOD_NAMES, see);
    const expected = METHOD_NAMES.map((name) => [name, expectedOf(wanted, name)] as const);
    expect(Object.fromEntries(seen)).toEqual(Object.fromEntries(expected));
  });
});

async function inTurn<T, R>(all: readonly T[], one: (each: T) => Promise<R>): Promise<R[]> {
  const results: R[] = [];
  for (const each of all) results.push(await one(each));
  return results;
}

test('a connection that is refused was not sent, and is tried again by every method', async () => {
  const baseUrl = await deadAddress();
  const seen = reports();
  for (const name of METHOD_NAMES) {
    const client = open(baseUrl);
    const end = await endOf(client, name);
    await client.close();
    const notSent = { error: ConnectionError, code: 'connection_failed', outcome: 'not_sent', retryable: true };
    expect({ name, ...end }).toMatchObject({ name, ...notSent });
    expect(seen.pop()).toMatchObject({ attempts: PATIENT.maxRetries + 1 });
  }
});

describe.concurrent('a 429, then the reply', () => {
  test.each(METHOD_NAMES)('%s sends the same request twice and succeeds', async (name) => {
    const { reply } = METHODS[name];
    const server = await FaultServer.start({
      late: (response, nth) => (nth === 1 ? answer(429, '') : answer(200, JSON.stringify(reply)))(response),
    });
    const client = open(server.baseUrl);
    try {
      await call(client, name);
      const [first, second] = server.requests.map(
        ({ method, body }) => `${method} ${Buffer.concat(body).toString('latin1')}`,
      );
      expect(server.requests).toHaveLength(2);
      expect(second).toBe(first);
    } finally {
      await client.close();
      await server.close();
    }
  });
});

const run = promisify(execFile);
const here = (relative: string): string => fileURLToPath(new URL(relative, import.meta.url));

/** Calls every method at every address at once, never closes a client, and prints how many calls failed as they should. */
const program = (baseUrls: readonly string[]): string => `
  import { Listing } from ${JSON.stringify(here('../../dist/pagination/listing.js'))};
  import { PaymentsClient, PaymentsError } from ${JSON.stringify(here('../../dist/index.js'))};
  const bytes = (name, value) => (name === 'file' ? Buffer.from(value, 'base64') : value);
  const calls = JSON.parse(${JSON.stringify(
    JSON.stringify(
      METHOD_NAMES.map((name) => [name, METHODS[name].args]),
      asBase64,
    ),
  )}, bytes);
  const failures = await Promise.all(${JSON.stringify(baseUrls)}.map(async (baseUrl) => {
    const client = new PaymentsClient({ baseUrl, secretKey: '${SECRET_KEY}', timeoutMs: 2_000, maxRetries: 0 });
    const ends = await Promise.all(calls.map(async ([name, args]) => {
      const [resource, method] = name.split('.');
      try {
        const given = client[resource][method](...args);
        await (given instanceof Listing ? given.toArray() : given);
        return false;
      } catch (error) {
        return error instanceof PaymentsError;
      }
    }));
    return ends.filter(Boolean).length;
  }));
  console.log(JSON.stringify(failures));`;

function asBase64(name: string, value: unknown): unknown {
  return name === 'file' ? PNG.toString('base64') : value;
}

test('a process that met every fault with every method ends by itself, with nothing unhandled', async () => {
  await run(here('../../../../node_modules/.bin/tsc'), ['-b', here('../..')]);
  const servers = await Promise.all(Object.values(CASES).map(({ fault }) => FaultServer.start(fault)));
  try {
    const code = ['--input-type=module', '-e', program(servers.map(({ baseUrl }) => baseUrl))];
    // Fails on any exit code but 0; an unhandled rejection exits with 1, a call that never ends with 13.
    const { stdout, stderr } = await run(process.execPath, code, { timeout: 50_000 });
    expect(stderr).toBe('');
    expect(JSON.parse(stdout)).toEqual(servers.map(() => METHOD_NAMES.length));
  } finally {
    await Promise.all(servers.map((server) => server.close()));
  }
});
