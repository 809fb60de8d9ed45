import type { ServerResponse } from 'node:http';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { ApiError, renderError } from './api-error.js';

export type Answer = {
  readonly status: number;
  /** JSON. */
  readonly body: string;
  /** Seconds. */
  readonly retryAfter?: number | undefined;
};

/** One member of an object; `rows` make a list that is written row by row. */
export type Member =
  | readonly [name: string, value: unknown]
  | { readonly name: string; readonly rows: Iterable<unknown> };

/** A JSON object that is too large for one string. It is made while it is sent. */
export class JsonStream {
  constructor(readonly members: readonly Member[]) {}
}

/** Characters in one write. */
const CHUNK = 64 * 1_024;

/** The answer to some work: 200, a refusal, or 500 for an error of the sandbox itself. */
export function answerOf(work: () => unknown, onError: (error: unknown) => void): Answer | JsonStream {
  try {
    const result = work();
    return result instanceof JsonStream ? result : { status: 200, body: JSON.stringify(result) };
  } catch (error) {
    if (error instanceof ApiError) return refusalOf(error);
    onError(error);
    return { status: 500, body: JSON.stringify(renderError('internal_error', 'The sandbox failed.')) };
  }
}

export function refusalOf({ status, code, message, retryAfter }: ApiError): Answer {
  return { status, body: JSON.stringify(renderError(code, message)), retryAfter };
}

/** The value, or the {@link ApiError} that the work throws. */
export function attempt<T>(work: () => T): { value: T; error: null } | { value: null; error: ApiError } {
  try {
    return { value: work(), error: null };
  } catch (error) {
    if (error instanceof ApiError) return { value: null, error };
    throw error;
  }
}

export function sendJson(response: ServerResponse, answer: Answer, type = 'application/json'): void {
  if (response.destroyed) return;
  const { status, body, retryAfter } = answer;
  const headers: Record<string, string | number> = {};
  if (retryAfter !== undefined) headers['Retry-After'] = retryAfter;
  if (status === 401) headers['WWW-Authenticate'] = 'Basic realm="sandbox"';
  if (status === 204 || status === 205 || status === 304) {
    response.writeHead(status, headers).end();
    return;
  }
  headers['Content-Type'] = `${type}; charset=utf-8`;
  headers['Content-Length'] = Buffer.byteLength(body);
  response.writeHead(status, headers).end(body);
}

/** Sends the object as fast as the caller reads it. Ends early when the caller closes the connection. */
export async function sendStream(response: ServerResponse, { members }: JsonStream, withBody: boolean): Promise<void> {
  response.writeHead(200, { 'Content-Type': 'application/json; charset=utf-8' });
  const chunks = withBody ? chunksOf(members) : [];
  await pipeline(Readable.from(chunks), response).catch(() => undefined);
}

/** Answers `OPTIONS` with the methods of a path. */
export function sendOptions(response: ServerResponse, methods: readonly string[], path: string): void {
  if (methods.length === 0) {
    sendJson(response, refusalOf(new ApiError('not_found', `There is no ${path}.`)));
    return;
  }
  response.setHeader('Allow', [...new Set([...methods, 'OPTIONS'])].join(', '));
  sendJson(response, { status: 204, body: '' });
}

function* chunksOf(members: readonly Member[]): Generator<string> {
  let text = '';
  for (const piece of piecesOf(members)) {
    text += piece;
    if (text.length < CHUNK) continue;
    yield text;
    text = '';
  }
  yield text;
}

function* piecesOf(members: readonly Member[]): Generator<string> {
  let before = '{';
  for (const member of members) {
    if (!('rows' in member)) {
      yield `${before}${JSON.stringify(member[0])}:${JSON.stringify(member[1])}`;
    } else {
      yield `${before}${JSON.stringify(member.name)}:[`;
      let comma = '';
      for (const row of member.rows) {
        yield comma + JSON.stringify(row);
        comma = ',';
      }
      yield ']';
    }
    before = ',';
  }
  yield '}';
}
