import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Checkout } from '@tillflow/workflows';
import type { Production } from './production.js';

const TILLS = 8;
/** The mean of a till's pause between two sales. Milliseconds. */
const PAUSE_MS = 2_000;
const BEFORE_REPEAT_MS = 500;
/** Of all sales: the customer goes away and the till cancels; a paid sale is partly refunded. */
const CANCELLED = 0.1;
const REFUNDED = 0.2;

type CheckoutJson = Checkout & { readonly version: number; readonly qr: object | null };

/** Tills that sell, cancel and refund at random. After a lost or failed answer, a till repeats its request, as the docs say. */
export class Load {
  /** The references of all sales so far. */
  readonly references: string[] = [];
  #tills: readonly Promise<void>[] = [];
  #ended = new AbortController();

  constructor(private readonly production: Production) {}

  begin(): void {
    this.#ended = new AbortController();
    this.#tills = Array.from({ length: TILLS }, () => this.#sellUntil(this.#ended.signal));
  }

  /** No further sale begins. Resolves when every sale has ended. */
  async end(): Promise<void> {
    this.#ended.abort();
    await Promise.all(this.#tills);
  }

  /** Forgets the sales: their checkouts were compared. */
  forget(): void {
    this.references.length = 0;
  }

  async #sellUntil(ended: AbortSignal): Promise<void> {
    while (!ended.aborted) {
      await sleep(-Math.log(1 - Math.random()) * PAUSE_MS, undefined, { signal: ended }).catch(() => undefined);
      if (!ended.aborted) await this.#sell();
    }
  }

  async #sell(): Promise<void> {
    const reference = `gameday-${randomUUID()}`;
    this.references.push(reference);
    const sale = { reference, amount: 2_000 + Math.floor(Math.random() * 8_000), currency: 'THB' };
    const begun = await this.#until(() => this.#ask('POST', '/v1/checkouts', sale), hasBegun);
    const chargeId = begun.attempts.at(-1)?.charge_id;
    if (begun.qr === null || chargeId == null) return;
    const path = `/v1/checkouts/${begun.id}`;
    if (Math.random() < CANCELLED) {
      await this.#until(() => this.#ask('POST', `${path}/cancel`), hasEnded);
      return;
    }
    this.production.sandbox.mark(chargeId, { status: 'successful' });
    await this.#until(() => this.#ask('GET', `${path}?wait=10`), hasEnded);
    if (Math.random() >= REFUNDED) return;
    const key = { 'idempotency-key': randomUUID() };
    for (;;) {
      const answer = await this.production.request('POST', `${path}/refunds`, { amount: 1_000 }, key);
      // 202: not decided yet.
      if (answer !== null && answer.status < 500 && answer.status !== 202) return;
      await sleep(BEFORE_REPEAT_MS);
    }
  }

  /** Repeats the request until its answer is what the till waits for. */
  async #until(
    ask: () => Promise<CheckoutJson | null>,
    isIt: (checkout: CheckoutJson) => boolean,
  ): Promise<CheckoutJson> {
    for (;;) {
      const checkout = await ask();
      if (checkout !== null && isIt(checkout)) return checkout;
      await sleep(BEFORE_REPEAT_MS);
    }
  }

  async #ask(method: 'GET' | 'POST', path: string, body?: object): Promise<CheckoutJson | null> {
    const answer = await this.production.request(method, path, body);
    return answer !== null && answer.status < 300 ? (answer.body as CheckoutJson) : null;
  }
}

const hasEnded = ({ status }: CheckoutJson): boolean => status !== 'creating' && status !== 'awaiting_payment';
const hasBegun = (checkout: CheckoutJson): boolean => checkout.qr !== null || hasEnded(checkout);
