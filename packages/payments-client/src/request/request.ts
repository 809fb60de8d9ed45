import type { Dispatcher } from 'undici';
import type { z } from 'zod';
import { PUBLIC_KEY_PREFIX, SECRET_KEY_PREFIX, TEST_MODE_MARKER } from '../assumptions.js';
import type { Settings } from '../options.js';
import { encodeForm } from './form.js';

export type Method = 'GET' | 'POST' | 'PATCH' | 'DELETE';

/** Which endpoint is called. `route` is the path's template, without ids. */
export interface Route {
  readonly method: Method;
  readonly route: string;
}

/** The parts of a request that the client compares with the reply. */
export interface Operation<T> extends Route {
  readonly schema: z.ZodType<T>;
  /** The fields of the request that a reply contradicts. */
  readonly contradictions: (reply: T) => readonly string[];
}

/** A body that is already encoded, such as multipart. */
export interface EncodedBody {
  readonly contentType: string;
  readonly bytes: Uint8Array;
}

/**
 * Reads and encodes a body when the call is made. Stops when `signal` aborts; rejects with a PaymentsError `not_sent`
 * for what cannot be sent.
 */
export type BodyReader = (signal: AbortSignal) => Promise<EncodedBody>;

/** The headers of one key, prepared once for all calls, and the key's mode. */
export interface Credentials {
  readonly headers: readonly string[];
  readonly formHeaders: readonly string[];
  /** False in test mode; undefined when the key does not show its mode. */
  readonly livemode: boolean | undefined;
}

export function credentialsOf(settings: Settings, key: string): Credentials {
  const headers = [
    'authorization',
    `Basic ${Buffer.from(`${key}:`).toString('base64')}`,
    'accept',
    'application/json',
    'user-agent',
    settings.userAgent,
    ...(settings.apiVersion === undefined ? [] : [settings.apiVersionHeader, settings.apiVersion]),
  ];
  const prefix = [SECRET_KEY_PREFIX, PUBLIC_KEY_PREFIX].find((known) => key.startsWith(known));
  return {
    headers,
    formHeaders: [...headers, 'content-type', 'application/x-www-form-urlencoded'],
    livemode: prefix === undefined ? undefined : !key.startsWith(prefix + TEST_MODE_MARKER),
  };
}

/** @param params become the query string of a GET, else the body; none when undefined */
export function encodeRequest(
  origin: string,
  method: Method,
  path: string,
  { headers, formHeaders }: Credentials,
  params: object | undefined,
): Dispatcher.DispatchOptions {
  const form = params === undefined ? '' : encodeForm(params);
  const hasFormBody = form !== '' && method !== 'GET';
  return {
    origin,
    method,
    path: form !== '' && method === 'GET' ? `${path}?${form}` : path,
    // A copy: a dispatcher of the caller's may add to it.
    headers: hasFormBody ? [...formHeaders] : [...headers],
    body: hasFormBody ? form : null,
    // One timer covers a whole attempt; undici's own two would only add work.
    headersTimeout: 0,
    bodyTimeout: 0,
  };
}

export function withBody(request: Dispatcher.DispatchOptions, body: EncodedBody): Dispatcher.DispatchOptions {
  const headers = Array.isArray(request.headers) ? request.headers : [];
  return { ...request, headers: [...headers, 'content-type', body.contentType], body: body.bytes };
}
