import { randomBytes } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { parseInstant } from '@tillflow/domain';
import { ApiHandler, type Moment } from './api/handler.js';
import { Renderer } from './api/render.js';
import { RequestLog, type RequestRecord } from './api/request-log.js';
import { apiRoutes } from './api/routes.js';
import { DEFAULT_ASSUMPTIONS, type Assumptions } from './assumptions.js';
import { Clock } from './clock.js';
import { Control } from './control/control.js';
import { controlHandler } from './control/handler.js';
import { controlRoutes } from './control/routes.js';
import { Faults } from './faults/faults.js';
import { checkFaultPlan, type FaultPlan } from './faults/plan.js';
import { RateLimiter } from './faults/rate-limit.js';
import { BrowserGuard } from './http/browser-guard.js';
import { Server } from './http/server.js';
import { downloadHandler, pageHandler } from './pages/handler.js';
import { pageRoutes } from './pages/routes.js';
import { Provider } from './provider/provider.js';
import { addressesOf, Webhooks } from './provider/webhooks.js';
import { Random } from './random.js';

export type SandboxOptions = {
  /** Makes ids and choices repeatable. Default: random. */
  readonly seed?: string | undefined;
  /** Keys of the one merchant. Default: derived from `seed`, or random. */
  readonly secretKey?: string | undefined;
  readonly publicKey?: string | undefined;
  /** Base64; several while one is rotated. Default: one, made as the keys are. */
  readonly webhookSecrets?: readonly string[] | undefined;
  /** The address for events. */
  readonly webhookUrl?: string | undefined;
  /** Absolute address in QR codes and downloads. Default: the address where the sandbox listens. */
  readonly publicUrl?: string | undefined;
  /**
   * Values of `Host`, each with a port or without, that callers of the control routes and the pages may use, besides
   * this machine's own and those of `publicUrl` and of the listening address.
   */
  readonly allowedHosts?: readonly string[] | undefined;
  /** ISO 8601 with a zone. Default: the present. */
  readonly now?: string | undefined;
  /** Whether the clock stands still until it is moved. */
  readonly frozen?: boolean | undefined;
  /** Default: false, the test mode, in which charges can be marked. */
  readonly livemode?: boolean | undefined;
  readonly assumptions?: Partial<Assumptions> | undefined;
  /** Faults from the start, applied again after each reset. */
  readonly faultPlan?: FaultPlan | undefined;
  /** Gets each error of the sandbox itself. Default: writes it to standard error. */
  readonly onError?: ((error: unknown) => void) | undefined;
};

export type Observer = (request: RequestRecord) => void;
type Keys = { readonly secret: string; readonly public: string; readonly webhookSecrets: readonly string[] };

/** A payment provider in memory, with its API over HTTP. {@link createSandbox} makes one, {@link listen} opens it. */
export class Sandbox extends Control {
  readonly keys: Keys;
  readonly #observers: Readonly<Record<Moment, Set<Observer>>>;
  readonly #parts: ReturnType<typeof partsOf>;
  readonly #api: ApiHandler;
  readonly #server: Server;

  constructor(options: SandboxOptions = {}) {
    const parts = partsOf(options);
    super(parts.random, parts);
    this.#parts = parts;
    this.keys = parts.keys;
    this.#observers = { request: new Set(), committed: new Set(), response: new Set() };
    const { address, assumptions, clock, faults, keys, onError, provider, rateLimiter, render } = parts;
    const livemode = options.livemode ?? false;
    const guard = new BrowserGuard({
      allowedHosts: options.allowedHosts ?? [],
      ownUrls: () => [address.public, address.listening].filter((url) => url !== null),
    });
    const pages = pageRoutes({ provider, render, clock, assumptions, livemode, guard });
    this.#api = new ApiHandler({
      routes: apiRoutes({ provider, render, assumptions, livemode }),
      clock,
      faults,
      rateLimiter,
      assumptions,
      keys,
      nextRequestId: () => `req_${this.random.stream('req').letters(19)}`,
      observe: (moment, request) => this.#observe(moment, request),
      onError,
    });
    this.#server = new Server(
      [
        controlHandler(
          controlRoutes(this, () => this.url),
          guard,
          clock,
          onError,
        ),
        downloadHandler((token) => provider.records.downloads.get(token), clock),
        pageHandler(pages, clock, assumptions.maximumBodyBytes),
        this.#api,
      ],
      onError,
    );
  }

  /** The address where the sandbox listens, or null. */
  get url(): string | null {
    return this.#parts.address.listening;
  }

  /** @param where default: a free port of 127.0.0.1. @throws when the port is taken. */
  async listen(where: { readonly port?: number; readonly host?: string } = {}): Promise<{ readonly url: string }> {
    const { address, family, port } = await this.#server.listen(where.port ?? 0, where.host ?? '127.0.0.1');
    const everywhere = address === '0.0.0.0' || address === '::';
    const host = everywhere ? '127.0.0.1' : family === 'IPv6' ? `[${address}]` : address;
    const url = `http://${host}:${port}`;
    this.#parts.address.listening = url;
    return { url };
  }

  /** Answers one request that came without a socket. */
  handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    return this.#server.serve(request, response);
  }

  async close(): Promise<void> {
    this.#parts.clock.stop();
    this.#parts.webhooks.reset(this.random, []);
    this.#api.release();
    await this.#server.close();
    this.#parts.address.listening = null;
  }

  override reset(options: { readonly seed?: string | undefined } = {}): void {
    this.#api.release();
    super.reset(options);
  }

  /**
   * Calls back synchronously at a moment of every API request, so that a test can act at the exact point: freeze the
   * caller when its request has arrived, kill it when the change is recorded and the answer is not yet written.
   * @returns a function that removes the observer.
   */
  on(moment: Moment, observer: Observer): () => void {
    this.#observers[moment].add(observer);
    return () => void this.#observers[moment].delete(observer);
  }

  #observe(moment: Moment, request: RequestRecord): void {
    if (moment === 'request') this.#parts.log.add(request);
    for (const observer of this.#observers[moment]) observer(request);
  }
}

/** A provider in memory. See {@link Sandbox}. */
export function createSandbox(options: SandboxOptions = {}): Sandbox {
  return new Sandbox(options);
}

function partsOf(options: SandboxOptions) {
  const livemode = options.livemode ?? false;
  const assumptions: Assumptions = { ...DEFAULT_ASSUMPTIONS, ...options.assumptions };
  const faultPlan = options.faultPlan === undefined ? null : checkFaultPlan(options.faultPlan);
  const random = new Random(options.seed ?? randomBytes(8).toString('hex'));
  const keys = keysOf(options, random, livemode);
  const address = { public: options.publicUrl?.replace(/\/+$/, '') ?? null, listening: null as string | null };
  const startAt = options.now === undefined ? undefined : parseInstant(options.now);
  const clock = new Clock({ startAt, frozen: options.frozen });
  const publicUrl = (): string => address.public ?? address.listening ?? 'http://127.0.0.1';
  const render = new Renderer({ assumptions, livemode, publicUrl });
  const webhooks = new Webhooks(random.stream('webhooks'), keys.webhookSecrets, {
    clock,
    assumptions,
    bodyOf: (event) => render.webhookBody(event, provider.records.account),
    onTried: (delivery) => provider.records.addDelivery(delivery),
  });
  const provider = new Provider(random, {
    clock,
    assumptions,
    livemode,
    webhookUri: options.webhookUrl ?? null,
    onEvent: (event, charge) => webhooks.publish(event, addressesOf(charge, provider.records.account.webhookUri)),
  });
  return {
    address,
    assumptions,
    clock,
    faultPlan,
    faults: new Faults(),
    keys,
    log: new RequestLog(assumptions.rememberedRequests),
    onError: options.onError ?? ((error: unknown) => void process.stderr.write(`sandbox: ${describe(error)}\n`)),
    provider,
    random,
    rateLimiter: new RateLimiter(clock),
    render,
    webhooks,
    webhookSecrets: keys.webhookSecrets,
  };
}

function keysOf(options: SandboxOptions, random: Random, livemode: boolean): Keys {
  // The control routes answer with the seed. A random seed must not reveal the keys.
  const source = options.seed === undefined ? new Random(randomBytes(16).toString('hex')) : random;
  const letters = source.stream('key');
  const marker = livemode ? '' : 'test_';
  const [secret, open] = [`skey_${marker}${letters.letters(19)}`, `pkey_${marker}${letters.letters(19)}`];
  const webhookSecret = letters.bytes(32).toString('base64');
  return {
    secret: options.secretKey ?? secret,
    public: options.publicKey ?? open,
    webhookSecrets: options.webhookSecrets ?? [webhookSecret],
  };
}

function describe(error: unknown): string {
  return error instanceof Error ? (error.stack ?? error.message) : String(error);
}
