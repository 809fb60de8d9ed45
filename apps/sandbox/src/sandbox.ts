import { randomBytes } from 'node:crypto';
import { formatInstant, instant, parseInstant, plus } from '@tillflow/domain';
import { ApiError } from './http/api-error.js';
import { DEFAULT_ASSUMPTIONS, type Assumptions, type RateLimit } from './assumptions.js';
import { BrowserGuard } from './http/browser-guard.js';
import { Clock } from './clock.js';
import { check } from './http/check.js';
import { controlRoutes, type Mark } from './control/routes.js';
import { checkFaultPlan, faultSchema, Faults, type Fault, type FaultPlan, type FaultState } from './faults/faults.js';
import { JsonStream } from './http/json-stream.js';
import { pageRoutes } from './pages/routes.js';
import { Provider } from './provider/provider.js';
import { Random } from './random.js';
import { RateLimiter } from './faults/rate-limit.js';
import type { DisputeStatus, FailureCode } from './records/records.js';
import { Renderer, type ChargeJson } from './api/render.js';
import type { CardJson, DisputeJson } from './api/render-records.js';
import { apiRoutes } from './api/routes.js';
import { seedRecords, seedSchema, type Seed, type Seeded } from './control/seed.js';
import { Server, type Moment, type RequestRecord } from './http/server.js';
import {
  readFaultLog,
  readState,
  RequestLog,
  SECTIONS,
  stateMembers,
  type FaultLogEntry,
  type SandboxState,
  type Section,
} from './control/state.js';
import {
  addressesOf,
  NO_FAULTS,
  Webhooks,
  webhookSchema,
  type WebhookConfiguration,
  type WebhookRates,
} from './provider/webhooks.js';

export type SandboxOptions = {
  /** Makes ids and choices repeatable; made up when left out. */
  readonly seed?: string | undefined;
  /** Keys of the one merchant; made up when left out, from the seed where one is given. */
  readonly secretKey?: string | undefined;
  readonly publicKey?: string | undefined;
  /** Base64, several while one is rotated; one is made up as the keys are when left out. */
  readonly webhookSecrets?: readonly string[] | undefined;
  /** Where events go from the start. */
  readonly webhookUrl?: string | undefined;
  /** Absolute address that the QR code and the image use; where it listens when left out. */
  readonly publicUrl?: string | undefined;
  /**
   * Names and addresses, each with a port or without, that callers of the control routes and the pages may use in `Host`,
   * besides this machine's own and those of `publicUrl` and of where it listens.
   */
  readonly allowedHosts?: readonly string[] | undefined;
  /** ISO 8601 with a zone; the present when left out. */
  readonly now?: string | undefined;
  /** Whether the clock stands still until it is moved. */
  readonly frozen?: boolean | undefined;
  /** False: test mode, in which charges can be marked. */
  readonly livemode?: boolean | undefined;
  readonly assumptions?: Partial<Assumptions> | undefined;
  /** What goes wrong from the start, and again after a reset. */
  readonly faultPlan?: FaultPlan | undefined;
  /** Told about an error of the sandbox itself; written to standard error when left out. */
  readonly onError?: ((error: unknown) => void) | undefined;
};

export type Observer = (request: RequestRecord) => void;
export type ClockChange = {
  readonly advance?: number | undefined;
  readonly now?: string | undefined;
  readonly frozen?: boolean | undefined;
};
/** A rotation of the webhook secret: `secret` is the new one, `overlap` in seconds on the sandbox's clock. */
export type Rotation = { readonly secret?: string | undefined; readonly overlap?: number | undefined };
/** Base64, the newest first: webhooks are signed with each of them. */
export type WebhookSecrets = { readonly secrets: readonly string[] };
export type WebhookSettings = WebhookRates & { readonly url: string | null };

/** Later instants would leave the calendar that the wire can write. */
const LAST_INSTANT = parseInstant('9000-01-01T00:00:00Z');

/**
 * A payment provider in memory: its API over HTTP, and everything that happens to it under control.
 * {@link createSandbox} makes one; {@link listen} opens it.
 */
export class Sandbox {
  readonly keys: { readonly secret: string; readonly public: string; readonly webhookSecrets: readonly string[] };
  readonly #clock: Clock;
  readonly #provider: Provider;
  readonly #render: Renderer;
  readonly #faults = new Faults();
  readonly #plan: ReturnType<typeof checkFaultPlan> | null;
  readonly #rateLimiter: RateLimiter;
  readonly #log: RequestLog;
  readonly #webhooks: Webhooks;
  readonly #server: Server;
  readonly #assumptions: Assumptions;
  readonly #observers: Readonly<Record<Moment, Set<Observer>>> = {
    request: new Set(),
    committed: new Set(),
    response: new Set(),
  };
  readonly #onError: (error: unknown) => void;
  #random: Random;
  #listening: string | null = null;
  #publicUrl: string | null;

  constructor(options: SandboxOptions = {}) {
    const livemode = options.livemode ?? false;
    this.#assumptions = { ...DEFAULT_ASSUMPTIONS, ...options.assumptions };
    this.#log = new RequestLog(this.#assumptions.rememberedRequests);
    this.#onError = options.onError ?? ((error) => void process.stderr.write(`sandbox: ${describe(error)}\n`));
    this.#publicUrl = options.publicUrl?.replace(/\/+$/, '') ?? null;
    this.#random = new Random(options.seed ?? randomBytes(8).toString('hex'));
    this.keys = this.#makeKeys(options, livemode);
    this.#clock = new Clock({
      startAt: options.now === undefined ? undefined : parseInstant(options.now),
      frozen: options.frozen,
    });
    this.#rateLimiter = new RateLimiter(this.#clock);
    const publicUrl = (): string => this.#publicUrl ?? this.#listening ?? 'http://127.0.0.1';
    this.#render = new Renderer({ assumptions: this.#assumptions, livemode, publicUrl });
    this.#webhooks = new Webhooks(this.#random.stream('webhooks'), this.keys.webhookSecrets, {
      clock: this.#clock,
      assumptions: this.#assumptions,
      bodyOf: (event) => this.#render.webhookBody(event, this.#provider.records.account),
      onTried: (delivery) => this.#provider.records.addDelivery(delivery),
    });
    this.#provider = new Provider(this.#random, {
      clock: this.#clock,
      assumptions: this.#assumptions,
      livemode,
      webhookUri: options.webhookUrl ?? null,
      onEvent: (event, charge) =>
        this.#webhooks.publish(event, addressesOf(charge, this.#provider.records.account.webhookUri)),
    });
    const routing = {
      provider: this.#provider,
      render: this.#render,
      clock: this.#clock,
      assumptions: this.#assumptions,
    };
    const guard = new BrowserGuard({
      allowedHosts: options.allowedHosts ?? [],
      ownUrls: () => [this.#publicUrl, this.#listening].filter((url) => url !== null),
    });
    this.#server = new Server({
      api: apiRoutes({ ...routing, livemode }),
      pages: pageRoutes({ ...routing, livemode, guard }),
      control: controlRoutes(this),
      clock: this.#clock,
      faults: this.#faults,
      guard,
      rateLimiter: this.#rateLimiter,
      downloadOf: (token) => this.#provider.records.downloads.get(token),
      assumptions: this.#assumptions,
      keys: this.keys,
      nextRequestId: () => `req_${this.#random.stream('req').letters(19)}`,
      observe: (moment, request) => this.#observe(moment, request),
      onError: this.#onError,
    });
    this.#plan = options.faultPlan === undefined ? null : checkFaultPlan(options.faultPlan);
    this.#misbehave();
  }

  get seed(): string {
    return this.#random.seed;
  }

  get frozen(): boolean {
    return this.#clock.frozen;
  }

  /** The address it listens at, or null. */
  get url(): string | null {
    return this.#listening;
  }

  /** ISO 8601 UTC, on the sandbox's clock. */
  now(): string {
    return formatInstant(this.#clock.tick());
  }

  /** @param where a free port of 127.0.0.1 when left out. @throws when the port is taken. */
  async listen(where: { readonly port?: number; readonly host?: string } = {}): Promise<{ readonly url: string }> {
    const { address, family, port } = await this.#server.listen(where.port ?? 0, where.host ?? '127.0.0.1');
    const everywhere = address === '0.0.0.0' || address === '::';
    const host = everywhere ? '127.0.0.1' : family === 'IPv6' ? `[${address}]` : address;
    this.#listening = `http://${host}:${port}`;
    return { url: this.#listening };
  }

  async close(): Promise<void> {
    this.#clock.stop();
    this.#webhooks.reset(this.#random, []);
    await this.#server.close();
    this.#listening = null;
  }

  /** Forgets everything, faults, webhook settings and clock included. Ids go on unless a seed lets them begin again. */
  reset({ seed }: { readonly seed?: string | undefined } = {}): void {
    if (seed !== undefined) this.#random = new Random(seed);
    this.#server.release();
    this.#clock.reset();
    this.#faults.reset();
    this.#webhooks.reset(this.#random.stream('webhooks'), this.keys.webhookSecrets);
    this.#provider.reset(this.#random);
    this.#log.clear();
    this.#misbehave();
  }

  /** The records, or the sections of them that are asked for. */
  state(): SandboxState;
  state(sections: readonly Section[]): Partial<SandboxState>;
  state(sections: readonly Section[] = SECTIONS): Partial<SandboxState> {
    return { seed: this.seed, ...readState(this.#stateOptions(), sections) };
  }

  /** The same as JSON that is written row by row. */
  stateStream(sections: readonly Section[] = SECTIONS): JsonStream {
    return new JsonStream(stateMembers(this.#stateOptions(), this.seed, sections));
  }

  /** Which fault hit which request or webhook. */
  faultLog(): FaultLogEntry[] {
    return readFaultLog(this.#stateOptions());
  }

  /** Makes records that only people make at a real provider. @throws {ApiError} and makes none when one is wrong. */
  seedRecords(seed: Seed): Seeded {
    const now = this.#clock.tick();
    return seedRecords(check(seedSchema, seed), this.#provider, this.#assumptions, now);
  }

  /** What the issuer decides about a dispute. @throws {ApiError} when there is none, or it is won or lost. */
  decide(disputeId: string, status: DisputeStatus): DisputeJson {
    const now = this.#clock.tick();
    return this.#render.dispute(this.#provider.disputes.move(disputeId, status), now);
  }

  /** What each later charge of a card fails with; null lets it succeed. @throws {ApiError} when there is no such card. */
  setCard(cardId: string, failureCode: FailureCode | null): CardJson {
    this.#clock.tick();
    return this.#render.card(this.#provider.customers.setOutcome(cardId, failureCode));
  }

  /** Sends an event once more, past all webhook faults. @returns where to. @throws {ApiError} when there is no such event. */
  resend(eventId: string): string[] {
    this.#clock.tick();
    const { records } = this.#provider;
    const event = this.#provider.event(eventId);
    const charge = event.chargeId === null ? null : this.#provider.payments.charge(event.chargeId);
    const uris = addressesOf(charge, records.account.webhookUri);
    this.#webhooks.resend(event, uris);
    return [...uris];
  }

  get rateLimit(): RateLimit | null {
    return this.#rateLimiter.limit;
  }

  /** Begins with a full bucket; null lifts the limit. */
  setRateLimit(limit: RateLimit | null): void {
    this.#clock.tick();
    this.#rateLimiter.set(limit);
  }

  /** What the customer decides. @throws {ApiError} when there is no such charge or it is no longer pending. */
  mark(chargeId: string, mark: Mark): ChargeJson {
    const now = this.#clock.tick();
    if (mark.status === 'confirming' || mark.status === 'pending') {
      return this.#render.charge(this.#provider.payments.review(chargeId, mark.status === 'confirming'), now);
    }
    const outcome =
      mark.status === 'successful'
        ? { status: mark.status }
        : { status: mark.status, failureCode: mark.failure_code ?? this.#assumptions.defaultFailureCode };
    return this.#render.charge(this.#provider.payments.settle(chargeId, outcome, mark.force ?? false), now);
  }

  /** Moves the clock and runs what falls due, in order. @throws {ApiError} when seconds is negative. */
  advance(seconds: number): void {
    this.setClock({ advance: seconds });
  }

  /** @param now ISO 8601 with a zone. @throws {ApiError} when that is before the present. */
  setNow(now: string): void {
    this.setClock({ now });
  }

  /** Stops the clock, or lets it move with wall time again. */
  freeze(frozen = true): void {
    this.setClock({ frozen });
  }

  setClock({ advance, now, frozen }: ClockChange): void {
    const present = this.#clock.tick();
    const target = now === undefined ? present + Math.round((advance ?? 0) * 1_000) : readInstant(now);
    if (!(target >= present)) throw new ApiError('bad_request', 'The clock does not go backwards.');
    if (target > LAST_INSTANT) throw new ApiError('bad_request', 'The clock does not go beyond the year 8999.');
    if (frozen !== undefined) this.#clock.freeze(frozen);
    // Wall time may have passed since `present` was read.
    this.#clock.moveTo(instant(Math.max(target, this.#clock.tick())));
  }

  readonly faults = {
    /** Adds faults after those already set. @throws {ApiError} and adds none when one is wrong. */
    add: (faults: Fault | readonly Fault[]): void => {
      const list = [faults].flat().map((fault) => check(faultSchema, fault));
      this.#faults.add(list, this.#random);
    },
    /** Sets all that a plan names. @throws {ApiError} and sets nothing when any of it is wrong. */
    plan: (plan: FaultPlan): void => this.#apply(checkFaultPlan(plan)),
    clear: (): void => this.#faults.clear(),
    list: (): FaultState[] => this.#faults.list(),
  };

  readonly webhooks = {
    /** Sets address, secret and rates; rates that are not named are 0. @throws {ApiError} and changes nothing when wrong. */
    configure: (configuration: WebhookConfiguration): void => {
      const { url, secret, ...rates } = check(webhookSchema, configuration);
      const webhookUri = url ?? this.#provider.records.account.webhookUri;
      if (webhookUri === null) throw new ApiError('bad_request', 'url is required: none is set.');
      this.#provider.updateAccount({ webhookUri });
      this.#webhooks.configure(rates, secret === undefined ? null : secret.split(','));
    },
    /** Sends nothing more to the account's address. */
    clear: (): void => {
      this.#provider.updateAccount({ webhookUri: null });
      this.#webhooks.configure(NO_FAULTS, null);
    },
    settings: (): WebhookSettings => ({ url: this.#provider.records.account.webhookUri, ...this.#webhooks.rates }),
    /** Signs with a new secret as well as with the newest so far, and with the new one alone after the overlap. */
    rotate: ({ secret, overlap }: Rotation = {}): WebhookSecrets => {
      const now = this.#clock.tick();
      const [newest] = this.#webhooks.secrets;
      const next = secret ?? this.#random.stream('rotation').bytes(32).toString('base64');
      const both = newest === undefined || overlap === 0 ? [next] : [next, newest];
      this.#webhooks.setSecrets(both);
      if (overlap !== undefined && overlap > 0) {
        this.#clock.at(plus(now, Math.round(overlap * 1_000)), () => {
          if (this.#webhooks.secrets === both) this.#webhooks.setSecrets([next]);
        });
      }
      return { secrets: both };
    },
    /** Signs with the newest secret alone. */
    endRotation: (): WebhookSecrets => {
      this.#webhooks.setSecrets(this.#webhooks.secrets.slice(0, 1));
      return { secrets: this.#webhooks.secrets };
    },
    /** Resolves when nothing is on the wire or about to be; tries that wait for the clock do not count. */
    idle: async (): Promise<void> => await this.#webhooks.idle(),
  };

  /**
   * Calls back synchronously at a moment of every API request, so that a test can act at the exact point: freeze the
   * caller when its request has arrived, kill it when the change is made and the answer is not yet written.
   * @returns a function that ends it.
   */
  on(moment: Moment, observer: Observer): () => void {
    this.#observers[moment].add(observer);
    return () => void this.#observers[moment].delete(observer);
  }

  #stateOptions() {
    const options = { provider: this.#provider, render: this.#render, clock: this.#clock, faults: this.#faults };
    return { ...options, log: this.#log };
  }

  /** What goes wrong from the start. */
  #misbehave(): void {
    this.#rateLimiter.set(this.#assumptions.rateLimit);
    if (this.#plan !== null) this.#apply(this.#plan);
  }

  #apply({ faults, webhooks, rate_limit }: ReturnType<typeof checkFaultPlan>): void {
    this.#faults.add(faults ?? [], this.#random);
    if (webhooks !== undefined) this.#webhooks.configure(webhooks, null);
    if (rate_limit !== undefined) this.setRateLimit(rate_limit);
  }

  #makeKeys(options: SandboxOptions, livemode: boolean): Sandbox['keys'] {
    // The control routes answer with the seed: one that was made up must not give the keys away.
    const random = options.seed === undefined ? new Random(randomBytes(16).toString('hex')) : this.#random;
    const letters = random.stream('key');
    const marker = livemode ? '' : 'test_';
    const [secret, open] = [`skey_${marker}${letters.letters(19)}`, `pkey_${marker}${letters.letters(19)}`];
    const webhookSecret = letters.bytes(32).toString('base64');
    return {
      secret: options.secretKey ?? secret,
      public: options.publicKey ?? open,
      webhookSecrets: options.webhookSecrets ?? [webhookSecret],
    };
  }

  #observe(moment: Moment, request: RequestRecord): void {
    if (moment === 'request') this.#log.add(request);
    for (const observer of this.#observers[moment]) observer(request);
  }
}

/** A provider in memory. See {@link Sandbox}. */
export function createSandbox(options: SandboxOptions = {}): Sandbox {
  return new Sandbox(options);
}

function readInstant(text: string): number {
  try {
    return parseInstant(text);
  } catch {
    throw new ApiError('bad_request', 'now must be an ISO 8601 date-time with a zone.');
  }
}

function describe(error: unknown): string {
  return error instanceof Error ? (error.stack ?? error.message) : String(error);
}
