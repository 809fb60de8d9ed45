import {
  hasEndedUnpaid,
  invalidArgument,
  isOpen,
  moneyIn,
  NotPaidError,
  NotRefundedError,
  TillflowError,
} from './errors.js';
import type { Answer } from './http.js';
import { checkoutIn, type Call, type Reading, type Sender } from './sender.js';
import type {
  AttemptCreateParams,
  CallOptions,
  Checkout,
  CheckoutCreateParams,
  CheckoutListParams,
  CheckoutPage,
  Receipt,
  ReceiptParams,
  Refund,
  RefundCreateParams,
  RefundOptions,
  RefundPage,
  WatchOptions,
} from './types.js';
import { untilPaid, watch } from './watch.js';

const CHECKOUTS = '/v1/checkouts';

/**
 * Sales. Every method repeats its request until the outcome is known, for at most `patienceMs`, and rejects with a
 * {@link TillflowError}, whose `money` says what the failure means for the money.
 */
export class Checkouts {
  readonly #sender: Sender;

  constructor(sender: Sender) {
    this.#sender = sender;
  }

  /**
   * The checkout of this reference: a new one, or the one that exists. It has a QR code (`qr`), or it has ended: after a
   * crash, the same call finds the same checkout, which may be paid by now.
   * @throws {TillflowError} `reference_conflict`, `amount_out_of_range`, `not_accepting`, …
   */
  create(params: CheckoutCreateParams, options?: CallOptions): Promise<Checkout> {
    const { reference, amount, currency } = params;
    const isAsked = (one: Checkout): boolean =>
      one.reference === reference && one.amount === amount && one.currency === currency;
    const call: Call<Checkout> = {
      method: 'POST',
      path: CHECKOUTS,
      body: JSON.stringify(params),
      repeatWith: { reference },
      read: (answer) => {
        const checkout = checkoutIn(answer);
        if (checkout === null || !isAsked(checkout)) return null;
        return isReady(checkout) ? { result: checkout } : pending(checkout);
      },
      resultIn: (checkout) => (isAsked(checkout) && isReady(checkout) ? checkout : null),
    };
    return this.#sender.send(call, options);
  }

  /** The newest state. @throws {TillflowError} `not_found`, … */
  async retrieve(id: string, options?: CallOptions): Promise<Checkout> {
    return this.#sender.send(
      { method: 'GET', path: pathOf(id), read: (answer) => resultOf(checkoutIn(answer, id)) },
      options,
    );
  }

  /** One page: open checkouts first, then the others, newest first in each. `next_cursor` is null on the last page. */
  async list(params: CheckoutListParams = {}, options?: CallOptions): Promise<CheckoutPage> {
    const given = Object.entries(params).filter(([, value]) => value !== undefined);
    const query = new URLSearchParams(given.map(([name, value]) => [name, String(value)]));
    const path = given.length === 0 ? CHECKOUTS : `${CHECKOUTS}?${query.toString()}`;
    return this.#sender.send(
      { method: 'GET', path, read: ({ json }) => (isPage(json) ? { result: json as CheckoutPage } : null) },
      options,
    );
  }

  /** All checkouts of a list, page by page, as the loop needs them. `limit` is the size of a page. */
  async *iterate(params: CheckoutListParams = {}, options?: CallOptions): AsyncGenerator<Checkout, void, undefined> {
    for (let page = await this.list(params, options); ;) {
      yield* page.data;
      if (page.next_cursor === null) return;
      page = await this.list({ ...params, cursor: page.next_cursor }, options);
    }
  }

  /**
   * Ends an unpaid checkout, so that its QR code cannot be paid any more: it is cancelled, or it had ended before. The
   * call takes long while a customer is confirming the payment.
   * @throws {TillflowError} `already_paid`: the customer was faster.
   */
  async cancel(id: string, options?: CallOptions): Promise<Checkout> {
    const call: Call<Checkout> = {
      method: 'POST',
      path: pathOf(id, '/cancel'),
      read: (answer) => {
        const checkout = checkoutIn(answer, id);
        if (checkout === null) return null;
        return answer.status === 202 ? pending(checkout) : { result: checkout };
      },
      resultIn: (checkout) => (hasEndedUnpaid(checkout) ? checkout : null),
    };
    return this.#sender.send(call, options);
  }

  /**
   * Replaces an open, expired or failed attempt, and thus the QR code. The checkout that it returns has a QR code.
   * `after` is the number of the attempt to replace: the same number gives the same attempt, also after a crash. Without
   * it, the SDK reads the checkout and takes the newest number.
   * @throws {NotPaidError} the new attempt has ended already: `checkout_failed` where the provider refused it, …
   * @throws {TillflowError} `already_paid`, `checkout_closed`, `too_many_attempts`, …
   */
  async newAttempt(id: string, params: AttemptCreateParams = {}, options?: CallOptions): Promise<Checkout> {
    const after = params.after ?? newestAttempt(await this.retrieve(id, options));
    const made = (checkout: Checkout): Checkout | null => {
      if (newestAttempt(checkout) <= after || !isReady(checkout)) return null;
      if (checkout.qr === null) throw endOf(checkout);
      return checkout;
    };
    const call: Call<Checkout> = {
      method: 'POST',
      path: pathOf(id, '/attempts'),
      body: JSON.stringify({ ...params, after }),
      repeatWith: { after },
      read: (answer) => {
        const checkout = checkoutIn(answer, id);
        if (checkout === null) return null;
        return resultOf(made(checkout)) ?? pending(checkout);
      },
      resultIn: made,
    };
    return this.#sender.send(call, options);
  }

  /**
   * Returns money to the customer: all that is left, or `amount`. The refund that it returns has succeeded.
   *
   * The key of a refund is what makes it happen once. Give your own `idempotencyKey`, which you store before the call,
   * to find the same refund after a crash.
   * @throws {NotRefundedError} the provider refused it (`refund_rejected`), or another person must approve it
   *   (`refund_needs_approval`).
   * @throws {TillflowError} `not_paid`, `refund_exceeds_paid`, `refund_window_closed`, …
   */
  async refund(id: string, params: RefundCreateParams = {}, options: RefundOptions = {}): Promise<Refund> {
    const { idempotencyKey = randomKey() } = options;
    if (typeof idempotencyKey !== 'string' || !KEY.test(idempotencyKey))
      throw invalidArgument('idempotencyKey must be 1 to 128 visible ASCII characters.');
    const call: Call<Refund> = {
      method: 'POST',
      path: pathOf(id, '/refunds'),
      headers: { 'idempotency-key': idempotencyKey },
      body: JSON.stringify(params),
      repeatWith: { idempotencyKey },
      read: (answer) => {
        const refund = refundIn(answer, idempotencyKey);
        if (refund === null) return null;
        if (refund.status === 'succeeded') return { result: refund };
        if (refund.status !== 'pending') throw new NotRefundedError(refund);
        return { pending: { id, version: versionIn(answer.headers.get('location')), refund } };
      },
    };
    return this.#sender.send(call, options);
  }

  /** The refunds of a checkout, also those made at the provider's dashboard, in the order of their requests. */
  async listRefunds(id: string, options?: CallOptions): Promise<RefundPage> {
    const path = pathOf(id, '/refunds');
    return this.#sender.send(
      { method: 'GET', path, read: ({ json }) => (isPage(json) ? { result: json as RefundPage } : null) },
      options,
    );
  }

  /**
   * The receipt of the payment or of a refund: its values, a page for paper of 80 mm (`html`), or text of 42 columns
   * (`text`).
   * @throws {TillflowError} `not_paid`, `not_refunded`, …
   */
  async receipt(
    id: string,
    params: ReceiptParams & { format: 'html' | 'text' },
    options?: CallOptions,
  ): Promise<string>;
  async receipt(id: string, params?: ReceiptParams & { format?: 'json' }, options?: CallOptions): Promise<Receipt>;
  async receipt(
    id: string,
    { format = 'json', language, refund }: ReceiptParams & { format?: keyof typeof RECEIPT_TYPES } = {},
    options?: CallOptions,
  ): Promise<Receipt | string> {
    const accept = RECEIPT_TYPES[format];
    if (language !== undefined && !LANGUAGE.test(language))
      throw invalidArgument('language must be as in Accept-Language.');
    const query = refund === undefined ? '' : `?refund=${encodeURIComponent(refund)}`;
    const call: Call<Receipt | string> = {
      method: 'GET',
      path: pathOf(id, `/receipt${query}`),
      headers: { accept, ...(language === undefined ? {} : { 'accept-language': language }) },
      read: ({ headers, json, text }) => {
        if (headers.get('content-type')?.startsWith(accept) !== true) return null;
        if (format !== 'json') return { result: text };
        return isReceipt(json) ? { result: json } : null;
      },
    };
    return this.#sender.send(call, options);
  }

  /**
   * The newest states of the checkout, as they change: the first at once, then each only when it is newer than all
   * before. States between may be left out; the newest one always comes.
   *
   * It uses the event stream, and reads the checkout where the stream breaks or brings nothing. It survives lost
   * connections, proxies that buffer, and a computer that slept, however long they last. It ends when the checkout has
   * closed, which is days after an unpaid end and a year after a payment: leave the loop when you have seen enough.
   * @throws {TillflowError} `aborted`, `not_found`, `unauthorized`, `forbidden`, `checkout_unreadable`
   */
  watch(id: string, { signal }: WatchOptions = {}): AsyncGenerator<Checkout, void, undefined> {
    return watch(this.#sender.http, mustBeId(id), signal);
  }

  /**
   * The checkout, as soon as it is paid.
   * @throws {NotPaidError} it ended without a payment that counts: `checkout_expired`, `checkout_failed`,
   *   `checkout_cancelled`, or `checkout_refunded`.
   * @throws {TillflowError} `aborted`: the customer may still pay. Wait again, or cancel the checkout. Also
   *   `not_found`, `unauthorized`, `forbidden`, `checkout_unreadable`, and `watch_ended`: the API shows no further state.
   */
  async untilPaid(id: string, { signal }: WatchOptions = {}): Promise<Checkout> {
    return untilPaid(this.#sender.http, mustBeId(id), signal);
  }
}

/** Source: `Idempotency-Key` in the API's description. */
const KEY = /^[\x21-\x7e]{1,128}$/;
const LANGUAGE = /^[\x20-\x7e]*$/;

const RECEIPT_TYPES = { json: 'application/json', html: 'text/html', text: 'text/plain' } as const;

/** The customer can pay now, or nothing is left to wait for. */
function isReady(checkout: Checkout): boolean {
  return checkout.qr !== null || !isOpen(checkout);
}

function pending<T>(checkout: Checkout): Reading<T> {
  const { id, version } = checkout;
  return { pending: { id, version, checkout } };
}

function resultOf<T>(result: T | null): Reading<T> | null {
  return result === null ? null : { result };
}

function newestAttempt({ attempts }: Checkout): number {
  return Math.max(1, ...attempts.map(({ number }) => number));
}

/** Without `next_cursor`, `iterate` would read the first page for ever. */
function isPage(json: unknown): boolean {
  const { data, next_cursor } = (json ?? {}) as Partial<CheckoutPage>;
  return Array.isArray(data) && (next_cursor === null || typeof next_cursor === 'string');
}

/** Why a new attempt has no QR code. */
function endOf(checkout: Checkout): TillflowError {
  const money = moneyIn(checkout);
  if (money === 'unknown') return new NotPaidError(checkout);
  const { id, status } = checkout;
  return new TillflowError({ code: 'already_paid', money, detail: `The checkout ${id} is ${status}.`, checkout });
}

function isReceipt(json: unknown): json is Receipt {
  return typeof (json as Partial<Receipt> | null | undefined)?.kind === 'string';
}

function refundIn({ json }: Answer, key: string): Refund | null {
  const refund = json as Partial<Refund> | null | undefined;
  return refund?.key === key && typeof refund.status === 'string' ? (json as Refund) : null;
}

/** The version after which a `Location` waits. */
function versionIn(location: string | null): number | null {
  const [, version] = /[?&]after_version=(\d+)/.exec(location ?? '') ?? [];
  return version === undefined ? null : Number(version);
}

/** Works also where `crypto.randomUUID` does not: on pages without TLS. */
function randomKey(): string {
  return Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, '0')).join('');
}

function pathOf(id: string, rest = ''): string {
  return `${CHECKOUTS}/${encodeURIComponent(mustBeId(id))}${rest}`;
}

/** An empty id or a dot would name another route. @throws {TillflowError} `invalid_argument` */
function mustBeId(id: string): string {
  if (typeof id === 'string' && !/^\.{0,2}$/.test(id)) return id;
  throw invalidArgument('This is not the id of a checkout.');
}
