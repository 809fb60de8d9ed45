import { createServer, type IncomingHttpHeaders } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createSandbox } from '../../src/index.js';
import { isObject, type Json, type JsonObject } from './kinds.js';

export type Form = Readonly<Record<string, string | number | boolean>>;

type CallOptions = {
  /** Default: `secret`. `null` sends no credentials; any other text is the user name. */
  readonly key?: 'secret' | 'public' | { readonly userName: string; readonly password?: string } | null;
  readonly query?: Form;
  readonly form?: Form;
  /** An encoded form. */
  readonly raw?: string;
  readonly multipart?: FormData;
  readonly headers?: Readonly<Record<string, string>>;
};

export type Reply = {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  /** The body as JSON. @throws when it is not JSON. */
  readonly json: Json;
  /** The body as a JSON object. @throws when it is not one. */
  readonly record: JsonObject;
};

/** This provider cannot show the fact. The test is skipped with this reason. */
export class NotShown extends Error {
  override readonly name = 'NotShown';
}

export type Received = { readonly path: string; readonly headers: IncomingHttpHeaders; readonly body: string };

/** Receives webhooks. The default answer is 200. */
export type Receiver = {
  readonly url: string;
  readonly received: readonly Received[];
  /** Resolves with the first event that matches, also when it is already here. */
  readonly first: (fits: (body: JsonObject, index: number) => boolean) => Promise<Received>;
  answerWith: (status: number) => void;
};

const ENVIRONMENT = {
  baseUrl: 'CONFORMANCE_BASE_URL',
  secretKey: 'CONFORMANCE_SECRET_KEY',
  publicKey: 'CONFORMANCE_PUBLIC_KEY',
  webhookSecret: 'CONFORMANCE_WEBHOOK_SECRET',
  customer: 'CONFORMANCE_CUSTOMER_ID',
  dispute: 'CONFORMANCE_DISPUTE_ID',
} as const;

const WEBHOOK_WAIT_MS = 30_000;

type Where = {
  readonly baseUrl: string;
  readonly secretKey: string;
  readonly publicKey: string;
  /** Base64, several separated by commas. Null when events cannot be received or verified. */
  readonly webhookSecret: string | null;
  /** Records that the API cannot create. */
  readonly customer: string | null;
  readonly dispute: string | null;
  /** Whether every fact must be shown, without a skip. */
  readonly complete: boolean;
  readonly close: () => Promise<void>;
};

/** The provider under test, over real HTTP. */
export class ProviderUnderTest {
  /** Whether the provider has control routes; null until it was asked. */
  #control: boolean | null = null;
  #receiver: Promise<Receiver & { readonly close: () => void }> | null = null;
  #webhookUriBefore: Json = null;
  #frozenBefore: boolean | null = null;

  private constructor(readonly where: Where) {}

  /** At `CONFORMANCE_BASE_URL`, or a new sandbox in this process. */
  static async open(environment: Readonly<Record<string, string | undefined>>): Promise<ProviderUnderTest> {
    const given = (name: string): string | null => environment[name] || null;
    const baseUrl = given(ENVIRONMENT.baseUrl);
    if (baseUrl === null) return new ProviderUnderTest(await sandboxInThisProcess());
    const secretKey = given(ENVIRONMENT.secretKey);
    const publicKey = given(ENVIRONMENT.publicKey);
    if (secretKey === null || publicKey === null) {
      throw new Error(`${ENVIRONMENT.baseUrl} needs ${ENVIRONMENT.secretKey} and ${ENVIRONMENT.publicKey} too.`);
    }
    return new ProviderUnderTest({
      baseUrl: baseUrl.replace(/\/+$/, ''),
      secretKey,
      publicKey,
      webhookSecret: given(ENVIRONMENT.webhookSecret),
      customer: given(ENVIRONMENT.customer),
      dispute: given(ENVIRONMENT.dispute),
      complete: false,
      close: async () => undefined,
    });
  }

  /** Restores the account's address and lets the clock run. The clock does not go back. */
  async close(): Promise<void> {
    if (this.#frozenBefore !== null) await this.control('POST', '/clock', { frozen: this.#frozenBefore });
    if (this.#receiver !== null) {
      const restored = typeof this.#webhookUriBefore === 'string' ? this.#webhookUriBefore : '';
      await this.call('PATCH', '/account', { form: { webhook_uri: restored } });
      (await this.#receiver).close();
    }
    await this.where.close();
  }

  async call(method: string, path: string, options: CallOptions = {}): Promise<Reply> {
    const { query, multipart, headers = {} } = options;
    const form = options.form === undefined ? options.raw : encode(options.form);
    const address = `${this.where.baseUrl}${path}${query === undefined ? '' : `?${encode(query)}`}`;
    const credentials = this.#credentials(options.key);
    const response = await fetch(address, {
      method,
      redirect: 'manual',
      headers: {
        Accept: 'application/json',
        ...(credentials !== null && { Authorization: credentials }),
        ...(form !== undefined && { 'Content-Type': 'application/x-www-form-urlencoded' }),
        ...headers,
      },
      ...(form !== undefined && { body: form }),
      ...(multipart !== undefined && { body: multipart }),
    });
    return replyOf(response, await response.text());
  }

  /** The record of a 200. @throws with the answer for any other status. */
  async record(method: string, path: string, options: CallOptions = {}): Promise<JsonObject> {
    const reply = await this.call(method, path, options);
    if (reply.status !== 200) throw new Error(`${method} ${path} answered ${reply.status}: ${reply.text}`);
    return reply.record;
  }

  /** Calls a control route. @throws {NotShown} when the provider has none. */
  async control(method: string, path: string, body?: Json): Promise<Json> {
    if (!(await this.hasControl())) throw new NotShown('needs the control routes of the sandbox');
    const response = await fetch(`${this.where.baseUrl}/__sandbox${path}`, {
      method,
      headers: { 'Content-Type': 'application/json' },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
    const text = await response.text();
    if (response.status !== 200) throw new Error(`${method} /__sandbox${path} answered ${response.status}: ${text}`);
    return JSON.parse(text) as Json;
  }

  async hasControl(): Promise<boolean> {
    if (this.#control === null) {
      const response = await fetch(`${this.where.baseUrl}/__sandbox/health`, { redirect: 'manual' });
      await response.arrayBuffer();
      this.#control = response.status === 200;
    }
    return this.#control;
  }

  /** The provider's time. */
  async now(): Promise<Date> {
    const { now } = (await this.control('GET', '/clock')) as { now: string };
    return new Date(now);
  }

  /** Sets the clock to an instant and freezes it. */
  async standAt(instant: Date): Promise<void> {
    this.#frozenBefore ??= ((await this.control('GET', '/clock')) as { frozen: boolean }).frozen;
    await this.control('POST', '/clock', { now: instant.toISOString(), frozen: true });
  }

  async advance(seconds: number): Promise<void> {
    await this.control('POST', '/clock', { advance: seconds });
  }

  /** Noon (UTC) of tomorrow by the provider's clock, plus some days. */
  async middayAfter(days = 0): Promise<Date> {
    const now = await this.now();
    return new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth(), now.getUTCDate() + 1 + days, 12));
  }

  /** Receives the account's webhooks. @throws {NotShown} without a webhook secret. */
  async receiver(): Promise<Receiver> {
    if (this.where.webhookSecret === null) throw new NotShown(`needs ${ENVIRONMENT.webhookSecret}`);
    this.#receiver ??= this.#receive();
    return await this.#receiver;
  }

  async #receive(): Promise<Receiver & { readonly close: () => void }> {
    const receiver = await openReceiver();
    this.#webhookUriBefore = (await this.record('GET', '/account'))['webhook_uri'] ?? null;
    await this.record('PATCH', '/account', { form: { webhook_uri: receiver.url } });
    return receiver;
  }

  /** HTTP Basic: the key is the user name, the password is empty. Source: API reference, "Authentication". */
  #credentials(key: CallOptions['key'] = 'secret'): string | null {
    if (key === null) return null;
    const { secretKey, publicKey } = this.where;
    const { userName, password = '' } =
      typeof key === 'object' ? key : { userName: key === 'secret' ? secretKey : publicKey };
    return `Basic ${Buffer.from(`${userName}:${password}`).toString('base64')}`;
  }
}

/** A day in the past, so that no event has a time ahead of the wall clock. */
async function sandboxInThisProcess(): Promise<Where> {
  const errors: unknown[] = [];
  const sandbox = createSandbox({
    seed: 'conformance',
    now: '2026-03-10T09:00:00.000Z',
    onError: (error) => errors.push(error),
  });
  const { url } = await sandbox.listen();
  return {
    baseUrl: url,
    secretKey: sandbox.keys.secret,
    publicKey: sandbox.keys.public,
    webhookSecret: sandbox.keys.webhookSecrets.join(','),
    customer: null,
    dispute: null,
    complete: true,
    close: async () => {
      await sandbox.close();
      if (errors.length > 0) throw new AggregateError(errors, 'The sandbox itself failed.');
    },
  };
}

async function openReceiver(): Promise<Receiver & { readonly close: () => void }> {
  const received: Received[] = [];
  const watchers = new Set<() => void>();
  let status = 200;
  const server = createServer((request, response) => {
    let body = '';
    request.setEncoding('utf8');
    request.on('data', (chunk: string) => (body += chunk));
    request.on('end', () => {
      received.push({ path: request.url ?? '/', headers: request.headers, body });
      response.writeHead(status).end();
      for (const check of watchers) check();
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/webhooks`,
    received,
    answerWith: (next) => (status = next),
    first: async (fits) =>
      await new Promise<Received>((resolve, reject) => {
        const end = (): void => {
          clearTimeout(timer);
          watchers.delete(check);
        };
        const check = (): void => {
          const found = received.find(({ body }, index) => fits(JSON.parse(body) as JsonObject, index));
          if (found === undefined) return;
          end();
          resolve(found);
        };
        const timer = setTimeout(() => {
          end();
          reject(new Error('no such webhook came'));
        }, WEBHOOK_WAIT_MS);
        watchers.add(check);
        check();
      }),
    close: () => {
      server.closeAllConnections();
      server.close();
    },
  };
}

function encode(form: Form): string {
  return Object.entries(form)
    .map(([name, value]) => `${encodeURIComponent(name)}=${encodeURIComponent(value)}`)
    .join('&');
}

function replyOf(response: Response, text: string): Reply {
  return {
    status: response.status,
    headers: response.headers,
    text,
    get json() {
      return JSON.parse(text) as Json;
    },
    get record() {
      const json = JSON.parse(text) as Json;
      if (!isObject(json)) throw new TypeError(`not an object: ${text}`);
      return json;
    },
  };
}
