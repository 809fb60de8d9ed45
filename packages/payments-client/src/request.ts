import type { Dispatcher } from 'undici';
import { PUBLIC_KEY_PREFIX, SECRET_KEY_PREFIX, TEST_MODE_MARKER } from './assumptions.js';
import { type EncodedBody, encodeForm } from './form.js';
import type { Settings } from './options.js';
import type { Method } from './verdict.js';

const FORM = 'application/x-www-form-urlencoded';

/** What depends on the key that signs. */
export interface Identity {
  readonly headers: readonly string[];
  readonly formHeaders: readonly string[];
  /** The key's mode: undefined when the key does not tell. */
  readonly livemode: boolean | undefined;
}

export function identityOf(settings: Settings, key: string): Identity {
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
    formHeaders: [...headers, 'content-type', FORM],
    livemode: prefix === undefined ? undefined : !key.startsWith(prefix + TEST_MODE_MARKER),
  };
}

/** @param params become the query string of a GET, else the body; none when undefined */
export function encodeRequest(
  origin: string,
  method: Method,
  path: string,
  { headers, formHeaders }: Identity,
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
    // One timer covers a whole try; undici's own two would only add work.
    headersTimeout: 0,
    bodyTimeout: 0,
  };
}

export function withBody(request: Dispatcher.DispatchOptions, body: EncodedBody): Dispatcher.DispatchOptions {
  const headers = Array.isArray(request.headers) ? request.headers : [];
  return { ...request, headers: [...headers, 'content-type', body.contentType], body: body.bytes };
}
