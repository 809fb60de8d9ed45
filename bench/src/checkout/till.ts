import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { Pool } from 'undici';
import { API_KEY } from '../stack.js';

/** The fields of a checkout that the bench reads. */
export type CheckoutJson = {
  readonly id: string;
  readonly status: string;
  readonly qr: object | null;
  readonly events_url: string;
  /** Where to read the checkout again. With the parameter `wait`, the API answers when the checkout changes. */
  readonly location: string;
  readonly version?: number;
  readonly attempts: readonly { readonly charge_id: string | null }[];
};

/** Each of 200 callers may have a request that waits. */
const CONNECTIONS = 256;
/** 200 bytes with the names, as in the bound for the history's size. */
const METADATA = { order: 'o'.repeat(95), cashier: 'c'.repeat(93) } as const;
/** The name of every till. */
export const TERMINAL = 'till-7';
const POLL_MS = 20;
const WITHIN_MS = 120_000;
const WAIT_SECONDS = 25;
/** Answers of an API that asks its caller to come again. */
const LATER: ReadonlySet<number> = new Set([429, 503]);

export function newReference(): string {
  return `bench-${randomUUID()}`;
}

type Answer = { readonly status: number; readonly retryAfterMs: number; readonly body: CheckoutJson };

type ApiDescription = {
  readonly paths?: Readonly<
    Record<string, { readonly get?: { readonly parameters?: readonly { readonly name: string }[] } }>
  >;
};

/** Whether an API can hold the request for a checkout until it changes. @param description its OpenAPI document. */
export function hasWait({ paths = {} }: ApiDescription): boolean {
  return (paths['/v1/checkouts/{id}']?.get?.parameters ?? []).some(({ name }) => name === 'wait');
}

/** A till: a client of the API with kept connections, one request at a time on each. */
export class Till {
  readonly #pool: Pool;
  #waits: Promise<boolean> | undefined;

  constructor(url: string) {
    this.#pool = new Pool(url, { connections: CONNECTIONS, pipelining: 1 });
  }

  /**
   * Creates a checkout of THB 1,500.00 with 200 bytes of metadata, and waits for its QR. After a 202 it follows
   * `location`.
   * @param expiresIn seconds; default: the API's.
   */
  async create(
    reference: string,
    { expiresIn, pollMs = POLL_MS }: { readonly expiresIn?: number; readonly pollMs?: number } = {},
  ): Promise<CheckoutJson> {
    const { status, body } = await this.#requestUntilAnswered('POST', '/v1/checkouts', {
      reference,
      amount: 150_000,
      currency: 'THB',
      description: 'Coffee',
      metadata: METADATA,
      terminal: TERMINAL,
      ...(expiresIn !== undefined && { expires_in: expiresIn }),
    });
    if (status === 201 && body.qr !== null) return body;
    if (status !== 200 && status !== 201 && status !== 202) throw new Error(`POST /v1/checkouts answered ${status}`);
    return this.until(body, ({ qr }) => qr !== null, pollMs);
  }

  /**
   * Reads the checkout until it meets the condition, which the given state does not meet. An API that can wait answers
   * when the checkout changes; any other is asked again after a pause. @throws {Error} after two minutes.
   */
  async until(
    known: Pick<CheckoutJson, 'id' | 'location' | 'version'>,
    condition: (checkout: CheckoutJson) => boolean,
    pollMs = POLL_MS,
  ): Promise<CheckoutJson> {
    const { id, location } = known;
    const canWait = await this.#canWait();
    const end = Date.now() + WITHIN_MS;
    for (let version = known.version; ;) {
      const path = canWait ? `/v1/checkouts/${id}?wait=${WAIT_SECONDS}&after_version=${version}` : location;
      const { status, body } = await this.#requestUntilAnswered('GET', path);
      if (status === 200 && condition(body)) return body;
      if (Date.now() > end) throw new Error(`${id} did not meet the condition in time: ${status} ${body?.status}`);
      if (!canWait) await sleep(pollMs);
      version = body.version;
    }
  }

  /** The status of the answer to GET. */
  async get(path: string): Promise<number> {
    return (await this.#request('GET', path)).status;
  }

  async close(): Promise<void> {
    await this.#pool.destroy();
  }

  /** Whether the API's description has the parameter `wait`. */
  #canWait(): Promise<boolean> {
    this.#waits ??= this.#describesWait();
    return this.#waits;
  }

  async #describesWait(): Promise<boolean> {
    const { body } = await this.#pool.request({ method: 'GET', path: '/openapi.json' });
    return hasWait((await body.json()) as ApiDescription);
  }

  /** Comes again when the API asks for it. */
  async #requestUntilAnswered(method: 'GET' | 'POST', path: string, body?: object): Promise<Answer> {
    const end = Date.now() + WITHIN_MS;
    for (;;) {
      const answer = await this.#request(method, path, body);
      if (!LATER.has(answer.status) || Date.now() > end) return answer;
      await sleep(answer.retryAfterMs);
    }
  }

  async #request(method: 'GET' | 'POST', path: string, body?: object): Promise<Answer> {
    const answer = await this.#pool.request({
      method,
      path,
      headers: { authorization: `Bearer ${API_KEY}`, ...(body && { 'content-type': 'application/json' }) },
      body: body === undefined ? null : JSON.stringify(body),
    });
    const { statusCode: status, headers } = answer;
    const retryAfterMs = Number(headers['retry-after'] ?? 1) * 1_000;
    return { status, retryAfterMs, body: JSON.parse(await answer.body.text()) as CheckoutJson };
  }
}

export function chargeOf({ attempts }: CheckoutJson): string {
  const id = attempts[0]?.charge_id ?? null;
  if (id === null) throw new Error('The checkout has no charge');
  return id;
}
