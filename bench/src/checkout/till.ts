import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { Pool } from 'undici';
import { API_KEY } from '../stack.js';

/** The fields of a checkout that the bench reads. */
type CheckoutJson = {
  readonly id: string;
  readonly status: string;
  readonly qr: object | null;
  readonly events_url: string;
  readonly attempts: readonly { readonly charge_id: string | null }[];
};

const CONNECTIONS = 128;
/** 200 bytes with the names, as in the bound for the history's size. */
const METADATA = { order: 'o'.repeat(95), cashier: 'c'.repeat(93) } as const;
const POLL_MS = 20;
const WITHIN_MS = 60_000;

export function newReference(): string {
  return `bench-${randomUUID()}`;
}

/** A till: a client of the API with kept connections, one request at a time on each. */
export class Till {
  readonly #pool: Pool;

  constructor(url: string) {
    this.#pool = new Pool(url, { connections: CONNECTIONS, pipelining: 1 });
  }

  /**
   * Creates a checkout of THB 1,500.00 with 200 bytes of metadata, and waits for its QR. After a 202 it polls.
   * @param expiresIn seconds; default: the API's.
   */
  async create(reference: string, expiresIn?: number): Promise<CheckoutJson> {
    const { status, body } = await this.#request('POST', '/v1/checkouts', {
      reference,
      amount: 150_000,
      currency: 'THB',
      description: 'Coffee',
      metadata: METADATA,
      terminal: 'till-7',
      ...(expiresIn !== undefined && { expires_in: expiresIn }),
    });
    if (status === 201 && body.qr !== null) return body;
    if (status !== 202) throw new Error(`POST /v1/checkouts answered ${status}`);
    return this.until(body.id, ({ qr }) => qr !== null);
  }

  /** Polls the checkout until it meets the condition. @throws {Error} after 60 s. */
  async until(id: string, condition: (checkout: CheckoutJson) => boolean): Promise<CheckoutJson> {
    const end = Date.now() + WITHIN_MS;
    for (;;) {
      const { status, body } = await this.#request('GET', `/v1/checkouts/${id}`);
      if (status === 200 && condition(body)) return body;
      if (Date.now() > end) throw new Error(`${id} did not meet the condition in time: ${status} ${body?.status}`);
      await sleep(POLL_MS);
    }
  }

  /** The status of the answer to GET. */
  async get(id: string): Promise<number> {
    return (await this.#request('GET', `/v1/checkouts/${id}`)).status;
  }

  async close(): Promise<void> {
    await this.#pool.destroy();
  }

  async #request(
    method: 'GET' | 'POST',
    path: string,
    body?: object,
  ): Promise<{ readonly status: number; readonly body: CheckoutJson }> {
    const answer = await this.#pool.request({
      method,
      path,
      headers: { authorization: `Bearer ${API_KEY}`, ...(body && { 'content-type': 'application/json' }) },
      body: body === undefined ? null : JSON.stringify(body),
    });
    return { status: answer.statusCode, body: JSON.parse(await answer.body.text()) as CheckoutJson };
  }
}

export function chargeOf({ attempts }: CheckoutJson): string {
  const id = attempts[0]?.charge_id ?? null;
  if (id === null) throw new Error('The checkout has no charge');
  return id;
}
