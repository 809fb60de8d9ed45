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
const DAY_S = 86_400;

/** What the API showed of one version of a checkout. */
export type ShownVersion = { readonly version: number; readonly status: string; readonly hasQr: boolean };

/** The till of one checkout: it sends requests to the API, and keeps the answers that it may rely on. */
export class Till {
  readonly answers: Answer[] = [];
  readonly shown: ShownVersion[] = [];
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

  /** @param amount null: all that is left @param sharedKey of another refund; none: a key of its own */
  async refund(amount: number | null, sharedKey?: string): Promise<void> {
    const key = sharedKey ?? this.nextKey();
    const body = amount === null ? {} : { amount };
    const path = `/v1/checkouts/${this.checkoutId}/refunds`;
    const answer = await this.#repeat(() => this.#ask(path, body, { 'idempotency-key': key }));
    if (answer === null || !isCertain(answer)) return;
    if (answer.status >= 400) {
      if (sharedKey === undefined) this.answers.push({ what: 'refused refund', key });
      return;
    }
    const refund = answer.json as Refund;
    // An operator gave it up: it may still take effect, and the checkout then shows it.
    if (refund.failure_code !== ABANDONED) this.answers.push({ what: 'refund', refund, wanted: amount });
  }

  /**
   * Someone sends a webhook that says that the charge is paid, and it is not.
   *
   * @param signed with the provider's secret, now or a day ago; or with a guess @returns whether the API accepted it
   */
  async falseWebhook(chargeId: string, signed: 'now' | 'a day ago' | 'with a guess'): Promise<boolean> {
    const charge = { object: 'charge', id: chargeId, status: 'successful', paid: true };
    const data = { ...charge, amount: AMOUNT, metadata: { checkout: this.checkoutId } };
    const event = { object: 'event', id: 'evnt_false', key: 'charge.complete', data };
    const known = this.world.provider.at(({ keys }) => keys.webhookSecrets[0] ?? '');
    const secret = signed === 'with a guess' ? btoa('a guess') : known;
    const timestamp = Math.floor(this.world.time.now / 1_000) - (signed === 'a day ago' ? DAY_S : 0);
    const headers = webhooks.sign(JSON.stringify(event), { secret, timestamp });
    const answer = await this.world.api.ask('POST', '/webhooks/provider', event, { ...headers });
    return answer !== null && answer.status < 400;
  }

  async #ask(path: string, body?: object, headers?: Readonly<Record<string, string>>): Promise<TillAnswer | null> {
    const answer = await this.world.api.ask('POST', path, body, headers);
    const { status, code, version, qr } = (answer?.json ?? {}) as Partial<Answered>;
    if (version !== undefined && status !== undefined) this.shown.push({ version, status, hasQr: qr !== null });
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

/** What answers about checkouts, refunds and refusals have. */
type Answered = {
  readonly status: string;
  readonly code: string;
  readonly version: number;
  readonly qr: object | null;
};

function isCertain(answer: TillAnswer | null): boolean {
  return answer !== null && answer.status < 500 && answer.status !== 202 && answer.status !== 429;
}
