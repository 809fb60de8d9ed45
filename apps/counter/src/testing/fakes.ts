import type { Checkout, Tillflow } from '@tillflow/sdk';
import { Refused, type Api, type Session } from '../page/api.js';
import type { Memory } from '../page/device.js';
import { nameOf } from '../page/session.js';
import type { ServerClock } from '../page/server-clock.js';

export const SESSION: Session = { terminal: 'till-1', store: null, shop: null, currencies: ['THB'] };
export const TILL = nameOf(SESSION);

const MINUTE_MS = 60_000;

/** A checkout, as far as the pages read it. It awaits a payment, unless `fields` say otherwise. */
export function checkoutOf(id: string, fields: object = {}): Checkout {
  const now = Date.now();
  return {
    id,
    reference: `reference-of-${id}`,
    status: 'awaiting_payment',
    amount: 100,
    currency: 'THB',
    description: null,
    qr: { image_url: 'https://api.test/qr', raw_data: null, expires_at: new Date(now + MINUTE_MS).toISOString() },
    attempts: [{ number: 1 }],
    attention: null,
    paid_at: null,
    version: 1,
    created_at: new Date(now).toISOString(),
    ...fields,
  } as unknown as Checkout;
}

export function memoryOf(stored: Record<string, string> = {}): Memory {
  const texts = new Map(Object.entries(stored));
  return {
    getItem: (name) => texts.get(name) ?? null,
    setItem: (name, text) => void texts.set(name, text),
    removeItem: (name) => void texts.delete(name),
  };
}

/** A clock of the API that agrees with the device. */
export const CLOCK = { now: () => Date.now(), isVague: false } as ServerClock;

/** An API without a network. Its lists are what a test sets, because they may be older than its states. */
export class FakeApi {
  isReached = true;
  onReach = (): void => undefined;
  onDoubt = (): void => undefined;
  listed: readonly Checkout[] = [];
  /** Tokens that are not valid any more. */
  readonly ended = new Set<string>();
  /** The tills of tokens, other than {@link SESSION}. */
  readonly sessions = new Map<string, Session>();
  readonly #states = new Map<string, Checkout>();
  readonly #news = new EventTarget();

  /** As the type that the pages take. */
  get api(): Api {
    return this as unknown as Api;
  }

  set(checkout: Checkout): void {
    this.#states.set(checkout.id, checkout);
    this.#news.dispatchEvent(new Event('news'));
  }

  readSession(token: string): Promise<Session> {
    if (this.ended.has(token)) return Promise.reject(new Refused(401));
    return Promise.resolve(this.sessions.get(token) ?? SESSION);
  }

  async openSession(token: string): Promise<Session & { readonly session: string }> {
    if (token.startsWith('tills_')) throw new Refused(401);
    return { ...(await this.readSession(token)), session: `tills_${token}` };
  }

  today(): Promise<object> {
    return Promise.resolve({ date: '2026-11-24', totals: [] });
  }

  sdk(): Tillflow {
    const checkouts = {
      list: ({ limit }: { readonly limit: number }) =>
        Promise.resolve({ data: this.listed.slice(0, limit), next_cursor: null }),
      watch: (id: string, { signal }: { readonly signal: AbortSignal }) => this.#watch(id, signal),
      newAttempt: (id: string) => {
        const { version, attempts } = this.#states.get(id) as Checkout;
        const renewed = checkoutOf(id, { version: version + 1, attempts: [{ number: attempts.length + 1 }] });
        this.set(renewed);
        return Promise.resolve(renewed);
      },
    };
    return { checkouts, availability: () => Promise.reject(new Error('not needed')) } as unknown as Tillflow;
  }

  async *#watch(id: string, signal: AbortSignal): AsyncGenerator<Checkout> {
    for (let version = -1; ;) {
      const checkout = this.#states.get(id);
      if (checkout !== undefined && checkout.version > version) {
        ({ version } = checkout);
        yield checkout;
      } else await this.#next(signal);
    }
  }

  /** @throws the reason of the abort */
  #next(signal: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#news.addEventListener('news', () => resolve(), { once: true });
      signal.addEventListener('abort', () => reject(signal.reason as Error));
    });
  }
}
