import { Tillflow } from '@tillflow/sdk';
import type { ServerClock } from './server-clock.js';

/** Source: `CounterSession` in docs/openapi.json. */
export type Session = {
  /** The account at the provider. Absent with an API that has only one. */
  readonly account?: string;
  readonly terminal: string;
  readonly store: { readonly id: string; readonly name: string | null } | null;
  /** The name of the merchant. */
  readonly shop: string | null;
  readonly currencies: readonly string[];
};

type Counted = { readonly count: number; readonly amount: number };

/** Source: `CounterDay` in docs/openapi.json. */
export type Today = {
  /** The business day. */
  readonly date: string;
  readonly totals: readonly { readonly currency: string; readonly sales: Counted; readonly refunds: Counted }[];
};

/** How long the page waits for an answer about the session, in milliseconds. */
const ANSWER_WITHIN_MS = 4_000;

/** An answer that says no, or `status` 0 for none. */
export class Refused extends Error {
  override readonly name = 'Refused';

  constructor(readonly status: number) {
    super(status === 0 ? 'The API did not answer' : `The API answered with ${status}`);
  }

  /** The link or the session is not valid any more. */
  get isFinal(): boolean {
    return this.status === 401 || this.status === 403;
  }
}

/** The API answers the SDK with JSON, a stream of events, or 204. */
function isOfApi({ status, headers }: Response): boolean {
  return status === 204 || /json|event-stream/.test(headers.get('content-type') ?? '');
}

type Exchange<T> = { readonly path: string; readonly session?: string; readonly body?: unknown; readonly has: keyof T };

/** The requests of the page, and whether the API can be reached. */
export class Api {
  #isReached = true;
  /** The API became reachable, or the page lost it. */
  onReach: (isReached: boolean) => void = () => undefined;
  /** A request of the SDK got no answer. A read of the session shows whether the API can be reached. */
  onDoubt: () => void = () => undefined;

  /** @param baseUrl of the API, without a slash at its end */
  constructor(
    readonly baseUrl: string,
    private readonly clock: ServerClock,
  ) {}

  get isReached(): boolean {
    return this.#isReached;
  }

  /** The SDK with the rights of the till. */
  sdk(session: string): Tillflow {
    return new Tillflow({ baseUrl: this.baseUrl, key: session, fetch: this.#fetch });
  }

  /** The device has no network. */
  lost(): void {
    this.#reach(false);
  }

  /** @throws {Refused} */
  openSession(token: string): Promise<Session & { readonly session: string }> {
    return this.#exchange({ path: '/v1/counter-sessions', body: { token }, has: 'session' });
  }

  /** Also shows whether the API can be reached, and its time. @throws {Refused} */
  readSession(session: string): Promise<Session> {
    return this.#exchange<Session>({ path: '/v1/counter-session', session, has: 'terminal' });
  }

  /** The totals of the till's business day. @throws {Refused} */
  today(session: string): Promise<Today> {
    return this.#exchange<Today>({ path: '/v1/counter-session/today', session, has: 'totals' });
  }

  async #exchange<T extends object>({ path, session, body, has }: Exchange<T>): Promise<T> {
    const sentAt = performance.now();
    try {
      const response = await fetch(this.baseUrl + path, {
        method: body === undefined ? 'GET' : 'POST',
        headers: {
          accept: 'application/json',
          ...(session === undefined ? {} : { authorization: `Bearer ${session}` }),
          ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
        cache: 'no-store',
        redirect: 'error',
        signal: AbortSignal.timeout(ANSWER_WITHIN_MS),
      });
      const json = (await response.json()) as T & { readonly now?: string; readonly code?: unknown };
      // An error of the API shows that the page reaches it, too. It has a code.
      if (response.ok ? has in json : typeof json.code === 'string') {
        this.#reach(true);
        if (!response.ok) throw new Refused(response.status);
        if (json.now !== undefined) this.clock.learn(json.now, sentAt);
        return json;
      }
    } catch (error) {
      if (error instanceof Refused) throw error;
    }
    this.lost();
    // Another program has answered, or none.
    throw new Refused(0);
  }

  /** A request of the SDK. The SDK also ends requests that it does not need any more: those show nothing. */
  readonly #fetch: typeof globalThis.fetch = async (input, init) => {
    try {
      const response = await fetch(input, init);
      // A proxy, and a network that wants a person to sign in, answer with pages.
      if (!isOfApi(response)) this.onDoubt();
      else if (response.status < 500) this.#reach(true);
      return response;
    } catch (error) {
      if (init?.signal?.aborted !== true) this.onDoubt();
      throw error;
    }
  };

  #reach(isReached: boolean): void {
    if (this.#isReached === isReached) return;
    this.#isReached = isReached;
    this.onReach(isReached);
  }
}
