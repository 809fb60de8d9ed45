import { execFile } from 'node:child_process';
import type { ServerResponse } from 'node:http';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { describe, expect, test } from 'vitest';
import { type Fault, FaultServer } from '../../test/fault-server.js';
import { call, METHOD_NAMES, type MethodName, METHODS } from '../../test/methods.js';
import { deadAddress, failureOf, reports, SECRET_KEY, virtualClock } from '../../test/provider.js';
import { PNG } from '../../test/samples.js';
import { PaymentsClient } from '../client.js';
import {
  ConnectionError,
  InvalidRequestError,
  type Outcome,
  type PaymentsError,
  RateLimitError,
  ServerError,
  TimeoutError,
  UnexpectedResponseError,
} from '../errors.js';

interface Limits {
  readonly timeoutMs: number;
  readonly maxRetries: number;
}

/** Only a stall lasts so long. */
const PATIENT: Limits = { timeoutMs: 60_000, maxRetries: 2 };
/** Long enough to connect on a starved machine. Every attempt waits for all of it. */
const STALLED: Limits = { timeoutMs: 5_000, maxRetries: 1 };

interface Case {
  readonly fault: Fault;
  readonly error: typeof PaymentsError;
  readonly code: string;
  readonly outcome: Outcome;
  readonly status?: number;
  readonly retryAfterMs?: number;
  /** Whether the same call may be repeated without risk: always, never, or unless it is a POST. */
  readonly repeats: 'always' | 'never' | 'not for POST';
  /** The fault ends only by a timeout. */
  readonly stalls?: true;
  /** The connection can be used again afterwards. */
  readonly keepsSocket?: true;
}

/** A whole reply, after which the connection can be used again. */
const answer =
  (status: number, body: string | Buffer, headers: Record<string, string | number> = {}) =>
  (response: ServerResponse): void => {
    const length = Buffer.byteLength(body);
    response.writeHead(status, { 'content-type': 'application/json', 'content-length': length, ...headers }).end(body);
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
const unexpected = {
  error: UnexpectedResponseError,
  code: 'unexpected_response',
  outcome: 'unknown',
  repeats: 'never',
} as const;
const refused = { error: InvalidRequestError, outcome: 'rejected', status: 400, repeats: 'never' } as const;
const limited = { error: RateLimitError, outcome: 'rejected', status: 429, repeats: 'always' } as const;
const failed = { error: ServerError, outcome: 'unknown', repeats: 'not for POST' } as const;

/** The client's clock stands still here, except for the waits between its attempts. */
const NOW = Date.UTC(2025, 5, 9);
const RETRY_AFTER_MS = 3_000;

/** Each reply names an instant three seconds ahead: the client's clock has moved by its waits before. */
const limitedByDate = (response: ServerResponse, nth: number): void =>
  answer(429, '', { 'retry-after': new Date(NOW + nth * RETRY_AFTER_MS).toUTCString() })(response);

/** A reply that arrives whole, with its status. */
const whole = (status: number, body: string | Buffer, headers?: Record<string, string | number>) => ({
  fault: { late: answer(status, body, headers) },
  status,
  keepsSocket: true as const,
});
const http400 = { ...refused, code: 'http_400' };
const after3s = { retryAfterMs: RETRY_AFTER_MS };
const chunked = (status: number) => `HTTP/1.1 ${status} Some\r\ntransfer-encoding: chunked\r\n\r\n`;

const CASES: Readonly<Record<string, Case>> = {
  'a reset before the request is read': { ...lost, fault: { early: reset } },
  'a reset after the request is read': { ...lost, fault: { late: reset } },
  'an end without a reply': { ...lost, fault: { late: end } },
  'a stall before the head': { ...late, fault: { late: () => undefined } },
  'a stall in the head': { ...late, fault: { late: raw('HTTP/1.1 200 OK\r\ncontent-le') } },
  'a stall in the body': { ...late, fault: { late: begin(200) }, status: 200 },
  'a head that ends early': { ...lost, fault: { late: raw('HTTP/1.1 200 OK\r\ncontent-le', end) } },
  'a body that ends early': { ...lost, fault: { late: begin(200, end) }, status: 200 },
  'a body that is reset': { ...lost, fault: { late: begin(200, reset) }, status: 200 },
  'a chunked body that ends early': { ...lost, fault: { late: raw(`${chunked(200)}1\r\n{\r\n`, end) }, status: 200 },
  'a reply that is not HTTP': { ...unexpected, fault: { late: raw('\u0000\u0001garbage\r\n\r\n') } },
  'garbage instead of JSON': { ...unexpected, ...whole(200, '{"object":"ch') },
  'JSON of another shape': { ...unexpected, ...whole(200, '{"ok":true}') },
  'an empty success': { ...unexpected, ...whole(204, '') },
  'a redirect': { ...unexpected, ...whole(302, '', { location: '/elsewhere' }), code: 'http_302' },
  'a 500': { ...failed, ...whole(500, ''), code: 'http_500' },
  'a 502 in HTML': {
    ...failed,
    ...whole(502, '<html>Bad Gateway</html>', { 'content-type': 'text/html' }),
    code: 'http_502',
  },
  'a 503 with Retry-After': { ...failed, ...whole(503, '', { 'retry-after': 3 }), code: 'http_503', ...after3s },
  'a 429 with Retry-After in seconds': {
    ...limited,
    ...whole(429, '', { 'retry-after': 3 }),
    code: 'http_429',
    ...after3s,
  },
  'a 429 with Retry-After as a date': {
    ...limited,
    fault: { late: limitedByDate },
    code: 'http_429',
    keepsSocket: true,
    ...after3s,
  },
  'a 400 with an unreadable body': { ...http400, ...whole(400, Buffer.from([0xff, 0xfe, 0x00, 0x7b])) },
  'a 400 with a chunk that is no chunk': { ...http400, fault: { late: raw(`${chunked(400)}this is no chunk`) } },
  'a 400 that ends early': { ...http400, fault: { late: begin(400, end) } },
  'a 400 that is reset': { ...http400, fault: { late: begin(400, reset) } },
  'a 400 that stalls': { ...http400, fault: { late: begin(400) }, stalls: true },
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

/** What the failure of a call says. */
async function failureSeen(client: PaymentsClient, name: MethodName): Promise<Omit<Seen, 'requests'>> {
  const error = await failureOf(call(client, name));
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
  test('gives every method the right outcome, with no unsafe retry and no open socket', async ({ expect }) => {
    const see = async (name: MethodName): Promise<readonly [MethodName, Seen]> => {
      const server = await FaultServer.start(wanted.fault);
      const client = open(server.baseUrl, limitsOf(wanted));
      try {
        const failure = await failureSeen(client, name);
        if (wanted.keepsSocket) await client.close();
        await expect.poll(() => server.openSockets(), { timeout: 20_000 }).toBe(0);
        return [name, { ...failure, requests: server.requests.length }];
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

test('a call whose connection is refused was not sent, and every method retries it', async () => {
  const baseUrl = await deadAddress();
  const seen = reports();
  for (const name of METHOD_NAMES) {
    const client = open(baseUrl);
    const failure = await failureOf(call(client, name));
    await client.close();
    expect(failure).toBeInstanceOf(ConnectionError);
    const notSent = { code: 'connection_failed', outcome: 'not_sent', retryable: true };
    expect({ name, failure }).toMatchObject({ name, failure: { ...notSent, cause: { code: 'ECONNREFUSED' } } });
    expect(seen.pop()).toMatchObject({ attempts: PATIENT.maxRetries + 1 });
  }
});

describe.concurrent('a 429, then the reply', () => {
  test.each(METHOD_NAMES)('makes %s send the same request twice and succeed', async (name) => {
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

/**
 * Calls every method at every address at once, never closes a client, and prints how many calls failed as they should.
 */
const program = (baseUrls: readonly string[]): string => `
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
        await (given.toArray?.() ?? given);
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

test('a process whose every method met every fault ends without close, with nothing unhandled', async () => {
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
