import { Bound } from './bound.js';
import type { Problem } from './types.js';

/** {@link TillflowOptions}, checked and with defaults. */
export type Settings = {
  /** Without a slash at the end. */
  readonly baseUrl: string;
  readonly key: string;
  readonly patienceMs: number;
  readonly timeoutMs: number;
  readonly fetch: typeof globalThis.fetch;
};

export type Request = {
  readonly method: 'GET' | 'POST';
  /** With its query. */
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>> | undefined;
  /** JSON. */
  readonly body?: string | undefined;
};

/** A complete answer, or `status` 0 when there was none. */
export type Answer = {
  readonly status: number;
  readonly headers: Pick<Headers, 'get'>;
  readonly text: string;
  /** The body, when it is JSON. */
  readonly json: unknown;
  /** Why there was no answer. */
  readonly cause?: unknown;
};

/** Sends single requests, with the key. */
export class Http {
  readonly #settings: Settings;

  constructor(settings: Settings) {
    this.#settings = settings;
  }

  get patienceMs(): number {
    return this.#settings.patienceMs;
  }

  /** How long an answer may take, in milliseconds. */
  get timeoutMs(): number {
    return this.#settings.timeoutMs;
  }

  /** One request. A broken, late or aborted one has an answer of status 0. */
  async exchange(request: Request, signal: AbortSignal | undefined, limitMs = this.timeoutMs): Promise<Answer> {
    const bound = new Bound(signal, limitMs);
    try {
      const response = await this.open(request, bound.signal);
      const text = await response.text();
      return { status: response.status, headers: response.headers, text, json: parsed(text) };
    } catch (cause) {
      return { status: 0, headers: NO_HEADERS, text: '', json: undefined, cause };
    } finally {
      bound.end();
    }
  }

  /** One request, up to the headers of its answer. */
  open({ method, path, headers, body }: Request, signal: AbortSignal): Promise<Response> {
    const { baseUrl, key, fetch } = this.#settings;
    return fetch(baseUrl + path, {
      method,
      headers: {
        accept: 'application/json',
        authorization: `Bearer ${key}`,
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        ...headers,
      },
      // The key must not follow a redirect.
      redirect: 'manual',
      cache: 'no-store',
      signal,
      ...(body === undefined ? {} : { body }),
    });
  }
}

const NO_HEADERS = { get: (): null => null };

/** The JSON of this text; undefined when it is not JSON. */
export function parsed(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}

/** The API's error in this answer, or null: then another program answered, or the answer is damaged. */
export function problemIn({ status, json }: Answer): Problem | null {
  if (status < 400 || typeof json !== 'object' || json === null) return null;
  const { code, detail } = json as Partial<Problem>;
  return typeof code === 'string' && typeof detail === 'string' ? (json as Problem) : null;
}

/**
 * `Retry-After` in milliseconds: seconds, or a date by the clock of the server, which `Date` shows. Source: RFC 9110,
 * section 10.2.3.
 */
export function retryAfterMs({ headers }: Answer): number | undefined {
  const value = headers.get('retry-after');
  if (value === null) return undefined;
  const answeredAt = Date.parse(headers.get('date') ?? '') || Date.now();
  const ms = /^\d+$/.test(value) ? Number(value) * 1_000 : Date.parse(value) - answeredAt;
  return Number.isFinite(ms) ? Math.max(0, ms) : undefined;
}
