import { readFileSync } from 'node:fs';
import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { onTestFinished } from 'vitest';
import { Tillflow, type Checkout, type Refund, type TillflowOptions } from '../src/index.js';

/** A request as the API received it. */
export type Seen = {
  readonly method: string;
  /** With the query. */
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
};

export type Reply = (response: ServerResponse, request: Seen) => void;

export const KEY = 'key-of-a-till';

type Schemas = Readonly<Record<string, { readonly examples: readonly unknown[] }>>;
const document = JSON.parse(readFileSync(new URL('../../../docs/openapi.json', import.meta.url), 'utf8')) as {
  readonly components: { readonly schemas: Schemas };
};

/** An open checkout with its QR code: the example of the API's description. */
export function checkoutOf(fields: Partial<Checkout> = {}): Checkout {
  return { ...(document.components.schemas['Checkout']?.examples[0] as Checkout), ...fields };
}

export function refundOf(fields: Partial<Refund> = {}): Refund {
  return { ...(document.components.schemas['Refund']?.examples[0] as Refund), ...fields };
}

/** A server that gives these answers in order, the last one for ever, and a client of it. */
export async function api(...replies: readonly Reply[]) {
  const seen: Seen[] = [];
  const server = createServer((request, response) => {
    let body = '';
    request.on('error', () => undefined);
    request.on('data', (chunk: Buffer) => (body += chunk.toString()));
    request.on('end', () => {
      const { method = '', url: path = '', headers } = request;
      const one = { method, path, headers, body };
      seen.push(one);
      replies[Math.min(seen.length, replies.length) - 1]?.(response, one);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const baseUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const tillflow = (options: Partial<TillflowOptions> = {}): Tillflow =>
    new Tillflow({ baseUrl, key: KEY, ...options });
  return { baseUrl, seen, tillflow, routes: () => seen.map(({ method, path }) => `${method} ${path}`) };
}

export function json(status: number, body: unknown, headers: Readonly<Record<string, string>> = {}): Reply {
  return (response) => {
    response.writeHead(status, { 'content-type': 'application/json; charset=utf-8', ...headers });
    response.end(JSON.stringify(body));
  };
}

export function problem(status: number, code: string, headers: Readonly<Record<string, string>> = {}): Reply {
  const body = {
    type: `https://pay.example/errors/${code}`,
    title: code,
    status,
    code,
    detail: 'Why',
    request_id: 'r1',
  };
  return json(status, body, { 'content-type': 'application/problem+json; charset=utf-8', ...headers });
}

export function other(status: number, text: string, headers: Readonly<Record<string, string>> = {}): Reply {
  return (response) => {
    response.writeHead(status, { 'content-type': 'text/html', ...headers });
    response.end(text);
  };
}

/** The request arrives, and its answer is lost. */
export const lost: Reply = (response) => response.destroy();

export const silent: Reply = () => {};

/** Half of the answer arrives. */
export function truncated(status: number, body: unknown): Reply {
  return (response) => {
    const text = JSON.stringify(body);
    response.writeHead(status, { 'content-type': 'application/json', 'content-length': text.length });
    response.write(text.slice(0, text.length / 2), () => response.destroy());
  };
}
