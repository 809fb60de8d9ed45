import { formatInstant, instant, parseInstant, plus } from '@tillflow/domain';
import type { RequestLog } from '../api/request-log.js';
import type { CardJson, DisputeJson } from '../api/render-records.js';
import type { ChargeJson, Renderer } from '../api/render.js';
import type { Assumptions, RateLimit } from '../assumptions.js';
import type { Clock } from '../clock.js';
import { readFaultLog, type FaultLogEntry } from './fault-log.js';
import type { Faults, FaultState } from '../faults/faults.js';
import {
  checkFaultPlan,
  faultSchema,
  NO_WEBHOOK_FAULTS,
  type CheckedFaultPlan,
  type Fault,
  type FaultPlan,
  type WebhookRates,
} from '../faults/plan.js';
import type { RateLimiter } from '../faults/rate-limit.js';
import type { JsonStream } from '../http/answer.js';
import { ApiError, check } from '../http/api-error.js';
import type { Provider } from '../provider/provider.js';
import { addressesOf, type Webhooks } from '../provider/webhooks.js';
import { Random } from '../random.js';
import type { DisputeStatus, FailureCode } from '../records/records.js';
import { webhookSchema, type Mark, type WebhookConfiguration } from './inputs.js';
import { seedSchema, type Seed, type Seeded } from './seed-schema.js';
import { seedRecords } from './seed.js';
import { readState, SECTIONS, streamState, type SandboxState, type Section } from './state.js';

/** What {@link Control} controls. */
export type Controlled = {
  readonly assumptions: Assumptions;
  readonly clock: Clock;
  readonly faults: Faults;
  /** Applied at the start and after each reset. */
  readonly faultPlan: CheckedFaultPlan | null;
  readonly log: RequestLog;
  readonly provider: Provider;
  readonly rateLimiter: RateLimiter;
  readonly render: Renderer;
  readonly webhooks: Webhooks;
  readonly webhookSecrets: readonly string[];
};

export type ClockChange = {
  /** Seconds. */
  readonly advance?: number | undefined;
  /** ISO 8601 with a zone. */
  readonly now?: string | undefined;
  readonly frozen?: boolean | undefined;
};
/** A rotation of the webhook secret: `secret` is the new one, `overlap` is in seconds on the sandbox's clock. */
export type Rotation = { readonly secret?: string | undefined; readonly overlap?: number | undefined };
/** Base64, newest first. Each of them signs webhooks. */
export type WebhookSecrets = { readonly secrets: readonly string[] };
export type WebhookSettings = WebhookRates & { readonly url: string | null };

/** The wire format has no later year than 9999. */
const LAST_INSTANT = parseInstant('9000-01-01T00:00:00Z');

/** Everything that a test, or a control route, may do to the provider and its surroundings. */
export class Control {
  readonly #parts: Controlled;
  #random: Random;

  constructor(random: Random, parts: Controlled) {
    this.#random = random;
    this.#parts = parts;
    this.#applyStartFaults();
  }

  get seed(): string {
    return this.#random.seed;
  }

  get frozen(): boolean {
    return this.#parts.clock.frozen;
  }

  get rateLimit(): RateLimit | null {
    return this.#parts.rateLimiter.limit;
  }

  /** The present source of ids and choices. */
  protected get random(): Random {
    return this.#random;
  }

  /** ISO 8601 UTC, on the sandbox's clock. */
  now(): string {
    return formatInstant(this.#parts.clock.tick());
  }

  /** Deletes all records, faults and settings, and resets the clock. With a seed, the ids start again. */
  reset({ seed }: { readonly seed?: string | undefined } = {}): void {
    const { clock, faults, log, provider, webhooks, webhookSecrets } = this.#parts;
    if (seed !== undefined) this.#random = new Random(seed);
    clock.reset();
    faults.reset();
    webhooks.reset(this.#random.stream('webhooks'), webhookSecrets);
    provider.reset(this.#random);
    log.clear();
    this.#applyStartFaults();
  }

  /** All sections of the state, or some of them. */
  state(): SandboxState;
  state(sections: readonly Section[]): Partial<SandboxState>;
  state(sections: readonly Section[] = SECTIONS): Partial<SandboxState> {
    return readState(this.#parts, this.seed, sections);
  }

  /** The same as JSON that is written row by row. */
  stateStream(sections: readonly Section[] = SECTIONS): JsonStream {
    return streamState(this.#parts, this.seed, sections);
  }

  /** Which fault hit which request or webhook, in order of time. */
  faultLog(): FaultLogEntry[] {
    return readFaultLog(this.#parts.log.requests, this.#parts.provider.records.deliveries.rows);
  }

  /** Creates records that the API cannot create. @throws {ApiError} and creates none when one is wrong. */
  seedRecords(seed: Seed): Seeded {
    const { assumptions, clock, provider } = this.#parts;
    const now = clock.tick();
    return seedRecords(check(seedSchema, seed), provider, assumptions, now);
  }

  /** The issuer's decision about a dispute. @throws {ApiError} when the dispute does not exist or is closed. */
  decide(disputeId: string, status: DisputeStatus): DisputeJson {
    const { clock, provider, render } = this.#parts;
    const now = clock.tick();
    return render.dispute(provider.disputes.move(disputeId, status), now);
  }

  /** Makes each later charge of a card fail with this code; null lets it succeed. @throws {ApiError} `not_found`. */
  setCard(cardId: string, failureCode: FailureCode | null): CardJson {
    const { clock, provider, render } = this.#parts;
    clock.tick();
    return render.card(provider.customers.setOutcome(cardId, failureCode));
  }

  /** Sends an event again, without webhook faults. @returns the addresses. @throws {ApiError} `not_found`. */
  resend(eventId: string): string[] {
    const { clock, provider, webhooks } = this.#parts;
    clock.tick();
    const event = provider.event(eventId);
    const charge = event.chargeId === null ? null : provider.payments.charge(event.chargeId);
    const uris = addressesOf(charge, provider.records.account.webhookUri);
    webhooks.resend(event, uris);
    return [...uris];
  }

  /** Starts with a full bucket; null removes the limit. */
  setRateLimit(limit: RateLimit | null): void {
    this.#parts.clock.tick();
    this.#parts.rateLimiter.set(limit);
  }

  /** The customer's decision. @throws {ApiError} when the charge does not exist or is no longer pending. */
  mark(chargeId: string, mark: Mark): ChargeJson {
    const { assumptions, clock, provider, render } = this.#parts;
    const now = clock.tick();
    if (mark.status === 'confirming' || mark.status === 'pending') {
      return render.charge(provider.payments.review(chargeId, mark.status === 'confirming'), now);
    }
    const outcome =
      mark.status === 'successful'
        ? { status: mark.status }
        : { status: mark.status, failureCode: mark.failure_code ?? assumptions.defaultFailureCode };
    return render.charge(provider.payments.settle(chargeId, outcome, mark.force ?? false), now);
  }

  /** Moves the clock and runs what falls due, in order. @throws {ApiError} when `seconds` is negative. */
  advance(seconds: number): void {
    this.setClock({ advance: seconds });
  }

  /** @param now ISO 8601 with a zone. @throws {ApiError} when it is before the present. */
  setNow(now: string): void {
    this.setClock({ now });
  }

  /** Stops the clock, or lets it run with wall time again. */
  freeze(frozen = true): void {
    this.setClock({ frozen });
  }

  setClock({ advance, now, frozen }: ClockChange): void {
    const { clock } = this.#parts;
    const present = clock.tick();
    const target = now === undefined ? present + Math.round((advance ?? 0) * 1_000) : readInstant(now);
    if (!(target >= present)) throw new ApiError('bad_request', 'The clock does not go backwards.');
    if (target > LAST_INSTANT) throw new ApiError('bad_request', 'The clock does not go beyond the year 8999.');
    if (frozen !== undefined) clock.freeze(frozen);
    // Wall time may have passed since `present` was read.
    clock.moveTo(instant(Math.max(target, clock.tick())));
  }

  readonly faults = {
    /** Adds faults after the existing ones. @throws {ApiError} and adds none when one is wrong. */
    add: (faults: Fault | readonly Fault[]): void => {
      const list = [faults].flat().map((fault) => check(faultSchema, fault));
      this.#parts.faults.add(list, this.#random);
    },
    /** Applies a plan. @throws {ApiError} and changes nothing when any of it is wrong. */
    plan: (plan: FaultPlan): void => this.#apply(checkFaultPlan(plan)),
    clear: (): void => this.#parts.faults.clear(),
    list: (): FaultState[] => this.#parts.faults.list(),
  };

  readonly webhooks = {
    /**
     * Sets address, secret and rates; a rate that is left out is 0. @throws {ApiError} and changes nothing when wrong.
     */
    configure: (configuration: WebhookConfiguration): void => {
      const { provider, webhooks } = this.#parts;
      const { url, secret, ...rates } = check(webhookSchema, configuration);
      const webhookUri = url ?? provider.records.account.webhookUri;
      if (webhookUri === null) throw new ApiError('bad_request', 'url is required: no address is set.');
      provider.updateAccount({ webhookUri });
      webhooks.configure(rates, secret === undefined ? null : secret.split(','));
    },
    /** Stops sending to the account's address, and removes all webhook faults. */
    clear: (): void => {
      this.#parts.provider.updateAccount({ webhookUri: null });
      this.#parts.webhooks.configure(NO_WEBHOOK_FAULTS, null);
    },
    settings: (): WebhookSettings => ({
      url: this.#parts.provider.records.account.webhookUri,
      ...this.#parts.webhooks.rates,
    }),
    /** Signs with a new secret and the previous one, and after the overlap with the new one alone. */
    rotate: ({ secret, overlap }: Rotation = {}): WebhookSecrets => {
      const { clock, webhooks } = this.#parts;
      const now = clock.tick();
      const [newest] = webhooks.secrets;
      const next = secret ?? this.#random.stream('rotation').bytes(32).toString('base64');
      const both = newest === undefined || overlap === 0 ? [next] : [next, newest];
      webhooks.setSecrets(both);
      if (overlap !== undefined && overlap > 0) {
        clock.at(plus(now, Math.round(overlap * 1_000)), () => {
          if (webhooks.secrets === both) webhooks.setSecrets([next]);
        });
      }
      return { secrets: both };
    },
    /** Signs with the newest secret alone. */
    endRotation: (): WebhookSecrets => {
      const { webhooks } = this.#parts;
      webhooks.setSecrets(webhooks.secrets.slice(0, 1));
      return { secrets: webhooks.secrets };
    },
    /** Resolves when no delivery is in progress or about to start. Tries that wait for the clock do not count. */
    idle: async (): Promise<void> => await this.#parts.webhooks.idle(),
  };

  #applyStartFaults(): void {
    const { assumptions, faultPlan, rateLimiter } = this.#parts;
    rateLimiter.set(assumptions.rateLimit);
    if (faultPlan !== null) this.#apply(faultPlan);
  }

  #apply({ faults, webhooks, rate_limit }: CheckedFaultPlan): void {
    this.#parts.faults.add(faults ?? [], this.#random);
    if (webhooks !== undefined) this.#parts.webhooks.configure(webhooks, null);
    if (rate_limit !== undefined) this.setRateLimit(rate_limit);
  }
}

function readInstant(text: string): number {
  try {
    return parseInstant(text);
  } catch {
    throw new ApiError('bad_request', 'now must be an ISO 8601 date-time with a zone.');
  }
}
