import { createServer, type IncomingHttpHeaders } from 'node:http';
import type { AddressInfo } from 'node:net';
import { onTestFinished } from 'vitest';
import { createSandbox, type Sandbox, type SandboxOptions } from '../src/index.js';

type Reply<T> = {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  /** The body as JSON. */
  readonly body: T;
};

type ErrorBody = {
  readonly object: string;
  readonly location: string;
  readonly code: string;
  readonly message: string;
};
export type ListBody<T> = {
  readonly object: string;
  readonly data: T[];
  readonly limit: number;
  readonly offset: number;
  readonly total: number;
  readonly location: string;
  readonly order: string;
  readonly from: string;
  readonly to: string;
};

type CallOptions = {
  /** Bracket-form fields, or the raw body. */
  readonly form?: Readonly<Record<string, string | number | boolean>> | string;
  /** `null` sends no credentials; any other text is the key. */
  readonly key?: string | null;
  readonly headers?: Readonly<Record<string, string>>;
};

export type Bench = {
  readonly sandbox: Sandbox;
  readonly url: string;
  /** Calls the API. Default key: the secret key. */
  readonly call: <T = ErrorBody>(method: string, path: string, options?: CallOptions) => Promise<Reply<T>>;
  /** Calls a control route with a JSON body. */
  readonly control: <T = ErrorBody>(method: string, path: string, body?: unknown) => Promise<Reply<T>>;
};

export const basic = (key: string, password = ''): string =>
  `Basic ${Buffer.from(`${key}:${password}`).toString('base64')}`;

const encode = (form: Readonly<Record<string, string | number | boolean>>): string =>
  Object.entries(form)
    .map(([name, value]) => `${encodeURIComponent(name)}=${encodeURIComponent(value)}`)
    .join('&');

/** A listening sandbox that closes at the end of the test. An error of the sandbox itself fails the test. */
export async function openSandbox(options: SandboxOptions = {}): Promise<Bench> {
  const errors: unknown[] = [];
  const sandbox = createSandbox({ onError: (error) => errors.push(error), ...options });
  const { url } = await sandbox.listen();
  onTestFinished(async () => {
    await sandbox.close();
    if (errors.length > 0) throw new AggregateError(errors, 'The sandbox itself failed.');
  });
  const read = async <T>(response: Response): Promise<Reply<T>> => {
    const text = await response.text();
    return {
      status: response.status,
      headers: response.headers,
      text,
      get body() {
        return JSON.parse(text) as T;
      },
    };
  };
  return {
    sandbox,
    url,
    call: async (method, path, { form, key = sandbox.keys.secret, headers = {} } = {}) => {
      const body = typeof form === 'object' ? encode(form) : form;
      const response = await fetch(url + path, {
        method,
        headers: {
          ...(key !== null && { authorization: basic(key) }),
          ...(body !== undefined && { 'content-type': 'application/x-www-form-urlencoded' }),
          ...headers,
        },
        redirect: 'manual',
        ...(body !== undefined && { body }),
      });
      return await read(response);
    },
    control: async (method, path, body) =>
      await read(
        await fetch(`${url}/__sandbox${path}`, {
          method,
          headers: { 'content-type': 'application/json' },
          ...(body !== undefined && { body: typeof body === 'string' ? body : JSON.stringify(body) }),
        }),
      ),
  };
}

export const THB = { amount: 150_000, currency: 'THB' } as const;
export const NEW_CHARGE = { ...THB, 'source[type]': 'wallet_mpm' } as const;

export type Received = { readonly headers: IncomingHttpHeaders; readonly body: string };

export type Receiver = {
  readonly url: string;
  readonly received: Received[];
  /** Resolves when that many webhooks have arrived. */
  readonly count: (wanted: number) => Promise<Received[]>;
};

/** An HTTP server for webhooks. @param answer the status of the n-th webhook, from 0; a promise delays it. */
export async function openReceiver(answer: (index: number) => number | Promise<number> = () => 200): Promise<Receiver> {
  const received: Received[] = [];
  let waiting: (() => void)[] = [];
  const server = createServer((request, response) => {
    let body = '';
    request.setEncoding('utf8');
    request.on('data', (chunk: string) => (body += chunk));
    request.on('end', () => {
      void Promise.resolve(answer(received.length)).then((status) =>
        response.writeHead(status, status === 302 ? { location: '/elsewhere' } : {}).end(),
      );
      received.push({ headers: request.headers, body });
      const resolvers = waiting;
      waiting = [];
      for (const resolve of resolvers) resolve();
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/hook`,
    received,
    count: async (wanted) => {
      while (received.length < wanted) await new Promise<void>((resolve) => waiting.push(resolve));
      return received;
    },
  };
}
