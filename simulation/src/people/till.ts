import { webhooks } from '@tillflow/payments-client';
import { ABANDONED, type Refund } from '@tillflow/workflows';
import type { Answer } from '@tillflow/workflows/testing';
import type { TillAnswer } from '../installation/api.js';
import type { Surroundings } from './surroundings.js';

/** In the smallest currency unit. */
export const AMOUNT = 150_000;
/** A till repeats a request without a certain answer. Milliseconds. */
const REPEAT_AFTER_MS = 2_000;
const REPEATS = 4;
const PAID: ReadonlySet<string> = new Set(['paid', 'partially_refunded', 'refunded']);

/** The till of one checkout: it sends requests to the API, and keeps the answers that it may rely on. */
export class Till {
  readonly answers: Answer[] = [];
  #refunds = 0;

  constructor(
    private readonly world: Surroundings,
    private readonly checkoutId: string,
  ) {}

  /** @param expiresIn seconds in which the customer can pay */
  async create(reference: string, expiresIn: number): Promise<void> {
    const body = { reference, amount: AMOUNT, currency: 'THB', expires_in: expiresIn };
    await this.#repeat(() => this.#ask('/v1/checkouts', body));
  }

  async cancel(): Promise<void> {
    const answer = await this.#repeat(() => this.#ask(`/v1/checkouts/${this.checkoutId}/cancel`));
    if (answer?.status !== 200) return;
    const { status } = answer.json as { readonly status: string };
    if (status === 'cancelled' || PAID.has(status)) this.answers.push({ what: 'status', status });
  }

  /** @param after the number of the attempt that the new one follows */
  async newAttempt(after: number): Promise<void> {
    const answer = await this.#repeat(() => this.#ask(`/v1/checkouts/${this.checkoutId}/attempts`, { after }));
    if (answer?.status === 200 || answer?.status === 201) this.answers.push({ what: 'attempt', number: after + 1 });
  }

  /** @returns the idempotency key of the next refund */
  nextKey(): string {
    this.#refunds += 1;
    return `key-${this.#refunds}`;
  }

  /** @param amount null: all that is left */
  async refund(amount: number | null, key = this.nextKey()): Promise<void> {
    const body = amount === null ? {} : { amount };
    const path = `/v1/checkouts/${this.checkoutId}/refunds`;
    const answer = await this.#repeat(() => this.#ask(path, body, { 'idempotency-key': key }));
    if (answer === null || answer.status >= 300 || answer.status === 202) return;
    const refund = answer.json as Refund;
    // An operator gave it up: it may still take effect, and the checkout then shows it.
    if (refund.failure_code !== ABANDONED) this.answers.push({ what: 'refund', refund, wanted: amount });
  }

  /**
   * Someone who is not the provider sends a webhook that says that the charge is paid.
   *
   * @param isSigned with the provider's secret @returns whether the API accepted it
   */
  async falseWebhook(chargeId: string, isSigned: boolean): Promise<boolean> {
    const charge = { object: 'charge', id: chargeId, status: 'successful', paid: true };
    const data = { ...charge, amount: AMOUNT, metadata: { checkout: this.checkoutId } };
    const event = { object: 'event', id: 'evnt_false', key: 'charge.complete', data };
    const secret = isSigned ? this.world.provider.at(({ keys }) => keys.webhookSecrets[0] ?? '') : btoa('a guess');
    const timestamp = Math.floor(this.world.time.now / 1_000);
    const headers = webhooks.sign(JSON.stringify(event), { secret, timestamp });
    const answer = await this.world.api.ask('POST', '/webhooks/provider', event, { ...headers });
    return answer !== null && answer.status < 400;
  }

  async #ask(path: string, body?: object, headers?: Readonly<Record<string, string>>): Promise<TillAnswer | null> {
    const answer = await this.world.api.ask('POST', path, body, headers);
    const { status, code } = (answer?.json ?? {}) as { readonly status?: string; readonly code?: string };
    this.world.trace.note(`POST ${path} ${answer === null ? 'no answer' : `${answer.status} ${code ?? status}`}`);
    return answer;
  }

  /** As docs/integrate.md says: the same request again, until the answer is certain. */
  async #repeat(ask: () => Promise<TillAnswer | null>): Promise<TillAnswer | null> {
    let answer = await ask();
    for (let repeats = 0; repeats < REPEATS && !isCertain(answer); repeats += 1) {
      await this.world.time.sleep(REPEAT_AFTER_MS);
      answer = await ask();
    }
    return answer;
  }
}

function isCertain(answer: TillAnswer | null): boolean {
  return answer !== null && answer.status < 500 && answer.status !== 202 && answer.status !== 429;
}
