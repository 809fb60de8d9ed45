import { isDuration } from './bound.js';
import { Checkouts } from './checkouts.js';
import { TillflowError } from './errors.js';
import { Http, type Settings } from './http.js';
import { Sender } from './sender.js';
import type { Availability, CallOptions } from './types.js';
import { webhooks } from './webhooks.js';

export type TillflowOptions = {
  /** The address of the API, http or https. Its path, if any, is kept. */
  readonly baseUrl: string;
  /** An API key. Never give it to a page that customers can open. */
  readonly key: string;
  /** How long a call goes on repeating its request while the outcome is not known, in milliseconds. Default 60 000. 0: never. */
  readonly patienceMs?: number | undefined;
  /** How long one request may wait for its answer before it counts as lost, in milliseconds. Default 10 000. */
  readonly timeoutMs?: number | undefined;
  /** Sends the requests. Default: the `fetch` of the platform. */
  readonly fetch?: typeof globalThis.fetch | undefined;
};

const DEFAULT_PATIENCE_MS = 60_000;
/** The API answers a create or a change within 3.5 s by default (`ANSWER_WITHIN_MS`). */
const DEFAULT_TIMEOUT_MS = 10_000;

/** A client of one Tillflow API. One instance serves a whole program, and needs no end. */
export class Tillflow {
  /** Sales: create, watch, cancel, refund. */
  readonly checkouts: Checkouts;
  /** Verifies the events that Tillflow sends to you. */
  readonly webhooks = webhooks;
  readonly #sender: Sender;

  /** @throws {TillflowError} `invalid_settings`, listing every mistake */
  constructor(options: TillflowOptions) {
    this.#sender = new Sender(new Http(settingsOf(options)));
    this.checkouts = new Checkouts(this.#sender);
  }

  /** Whether it makes sense to offer a payment now, and the limits of an amount in each currency. */
  availability(options?: CallOptions): Promise<Availability> {
    const read = ({ json }: { readonly json: unknown }) =>
      typeof (json as Partial<Availability> | null | undefined)?.accepting === 'boolean'
        ? { result: json as Availability }
        : null;
    return this.#sender.send({ method: 'GET', path: '/v1/availability', read }, options);
  }
}

function settingsOf(options: TillflowOptions): Settings {
  const { baseUrl, key, patienceMs = DEFAULT_PATIENCE_MS, timeoutMs = DEFAULT_TIMEOUT_MS } = options;
  const url = parsed(baseUrl);
  const mistakes = [
    ...(url === null || !/^https?:$/.test(url.protocol) ? ['baseUrl is not an http or https address'] : []),
    ...(url !== null && `${url.username}${url.password}${url.search}${url.hash}` !== ''
      ? ['baseUrl contains credentials, a query or a fragment']
      : []),
    // A header would refuse any other character, with the key in its message.
    ...(typeof key === 'string' && /^[\x21-\x7e]+$/.test(key) ? [] : ['key is missing, or not visible ASCII']),
    ...(isDuration(patienceMs) ? [] : ['patienceMs is not a number of milliseconds']),
    ...(isDuration(timeoutMs) && timeoutMs > 0 ? [] : ['timeoutMs is not a positive number of milliseconds']),
  ];
  if (url === null || mistakes.length > 0) {
    throw new TillflowError({ code: 'invalid_settings', detail: `${mistakes.join('; ')}.`, money: 'not_moved' });
  }
  // A method of the platform's global object, which it expects as `this`.
  const fetch = options.fetch ?? ((...request) => globalThis.fetch(...request));
  return { baseUrl: url.href.replace(/\/+$/, ''), key, patienceMs, timeoutMs, fetch };
}

function parsed(address: string): URL | null {
  try {
    return new URL(address);
  } catch {
    return null;
  }
}
