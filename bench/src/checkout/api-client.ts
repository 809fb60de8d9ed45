import { Pool } from 'undici';
import { API_KEY } from './stack.js';

/** What the bench reads of a checkout. */
export type CheckoutJson = {
  readonly id: string;
  readonly status: string;
  readonly qr: object | null;
  readonly attempts: readonly { readonly charge_id: string | null }[];
};

export type Answer<T> = { readonly status: number; readonly body: T };

const CONNECTIONS = 128;

/** A till's side of the API: connections that are kept, one request at a time on each. */
export class ApiClient {
  readonly #pool: Pool;

  constructor(url: string) {
    this.#pool = new Pool(url, { connections: CONNECTIONS, pipelining: 1 });
  }

  get(path: string): Promise<Answer<CheckoutJson>> {
    return this.#request('GET', path);
  }

  post<T = CheckoutJson>(path: string, body?: unknown, headers: Record<string, string> = {}): Promise<Answer<T>> {
    return this.#request('POST', path, body, headers);
  }

  /** Opens the stream of a checkout; its pieces of text come as they do. The caller ends it by the signal. */
  async stream(
    path: string,
    signal: AbortSignal,
  ): Promise<{ readonly status: number; readonly text: AsyncIterable<Buffer> }> {
    const { statusCode, body } = await this.#pool.request({
      method: 'GET',
      path,
      signal,
      headers: { authorization: `Bearer ${API_KEY}`, accept: 'text/event-stream' },
      bodyTimeout: 0,
    });
    return { status: statusCode, text: body };
  }

  async close(): Promise<void> {
    await this.#pool.destroy();
  }

  async #request<T>(
    method: 'GET' | 'POST',
    path: string,
    body?: unknown,
    headers: Record<string, string> = {},
  ): Promise<Answer<T>> {
    const answer = await this.#pool.request({
      method,
      path,
      headers: {
        authorization: `Bearer ${API_KEY}`,
        ...(body !== undefined && { 'content-type': 'application/json' }),
        ...headers,
      },
      body: body === undefined ? null : JSON.stringify(body),
    });
    const text = await answer.body.text();
    return { status: answer.statusCode, body: (text === '' ? null : JSON.parse(text)) as T };
  }
}
