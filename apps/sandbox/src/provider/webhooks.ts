import { createHmac } from 'node:crypto';
import { request } from 'undici';
import { plus } from '@tillflow/domain';
import type { Assumptions } from '../assumptions.js';
import type { Clock } from '../clock.js';
import { NO_WEBHOOK_FAULTS, type WebhookRates } from '../faults/plan.js';
import type { Random } from '../random.js';
import type { DeliveryRecord, EventRecord } from '../records/events.js';
import type { ChargeRecord } from '../records/records.js';

/**
 * The signature headers of a webhook: HMAC-SHA256, in hex, with each base64-decoded secret over `<timestamp>.<raw
 * body>`. Source: assumption, "Webhook signature".
 * @param timestamp unix seconds.
 */
function signature(body: string, secrets: readonly string[], timestamp: number): string {
  return secrets
    .map((secret) => createHmac('sha256', Buffer.from(secret, 'base64')).update(`${timestamp}.${body}`).digest('hex'))
    .join(',');
}

/** The addresses of an event: the account's and the charge's, without repetition. */
export function addressesOf(charge: ChargeRecord | null, accountUri: string | null): ReadonlySet<string> {
  return new Set([...(accountUri === null ? [] : [accountUri]), ...(charge?.webhookEndpoints ?? [])]);
}

type Job = {
  readonly event: EventRecord;
  readonly uri: string;
  readonly attempt: number;
  readonly duplicate: boolean;
  readonly reordered: boolean;
  readonly corrupted: boolean;
  readonly delayed: boolean;
};

export type WebhooksOptions = {
  readonly clock: Clock;
  readonly assumptions: Assumptions;
  readonly bodyOf: (event: EventRecord) => string;
  readonly onTried: (delivery: DeliveryRecord) => void;
};

/**
 * Sends events to their addresses, a limited number at a time. It retries on the sandbox's clock until a 2xx. Its
 * faults drop, duplicate, delay, reorder and corrupt deliveries.
 */
export class Webhooks {
  readonly #options: WebhooksOptions;
  #random: Random;
  #secrets: readonly string[];
  #rates: WebhookRates = NO_WEBHOOK_FAULTS;
  /** In the order of sending. */
  readonly #queue = new Set<Job>();
  #held: Job[] = [];
  #inFlight = new Set<AbortController>();
  #idle: (() => void)[] = [];

  constructor(random: Random, secrets: readonly string[], options: WebhooksOptions) {
    this.#random = random;
    this.#secrets = secrets;
    this.#options = options;
  }

  get rates(): WebhookRates {
    return this.#rates;
  }

  configure(rates: WebhookRates, secrets: readonly string[] | null): void {
    this.#rates = rates;
    if (secrets !== null) this.#secrets = secrets;
  }

  /** Signs all further tries with these secrets, retries included. */
  setSecrets(secrets: readonly string[]): void {
    this.#secrets = secrets;
  }

  get secrets(): readonly string[] {
    return this.#secrets;
  }

  /** Sends an event again to each of these addresses, without faults. It retries failures. */
  resend(event: EventRecord, uris: ReadonlySet<string>): void {
    const job = { event, attempt: 1, duplicate: false, reordered: false, corrupted: false, delayed: false };
    this.#submit(Array.from(uris, (uri) => Object.assign({}, job, { uri })));
  }

  /** Drops waiting deliveries and aborts those in progress. */
  reset(random: Random, secrets: readonly string[]): void {
    this.#random = random;
    this.#secrets = secrets;
    this.#rates = NO_WEBHOOK_FAULTS;
    this.#queue.clear();
    this.#held = [];
    const broken = this.#inFlight;
    this.#inFlight = new Set();
    for (const controller of broken) controller.abort();
    this.#resolveIdle();
  }

  /** Resolves when no delivery is in progress or about to start. Tries that wait for the clock do not count. */
  async idle(): Promise<void> {
    if (this.#queue.size === 0 && this.#inFlight.size === 0) return;
    await new Promise<void>((resolve) => this.#idle.push(resolve));
  }

  /** Sends an event to its addresses, subject to faults. */
  publish(event: EventRecord, uris: ReadonlySet<string>): void {
    for (const uri of uris) this.#publishTo(uri, event);
  }

  #publishTo(uri: string, event: EventRecord): void {
    const draw = (rate: number): boolean => this.#random.chance(rate);
    // Always draws all of them in this order, so that one rate does not change the draws of another.
    const [dropped, duplicate, reordered] = [
      draw(this.#rates.drop),
      draw(this.#rates.duplicate),
      draw(this.#rates.reorder),
    ];
    const [corrupted, duplicateCorrupted] = [draw(this.#rates.corrupt_signature), draw(this.#rates.corrupt_signature)];
    const delayed = this.#rates.delay_ms > 0;
    const job: Job = { event, uri, attempt: 1, duplicate: false, reordered, corrupted, delayed };
    if (dropped) {
      this.#note(job, null, 'dropped on purpose', true);
      return;
    }
    const jobs = duplicate ? [job, { ...job, duplicate: true, corrupted: duplicateCorrupted }] : [job];
    const leave = (): void => (reordered ? this.#hold(jobs) : this.#submit(jobs));
    const { clock } = this.#options;
    if (delayed) clock.at(plus(clock.now(), this.#rates.delay_ms), leave);
    else leave();
  }

  #submit(jobs: readonly Job[]): void {
    for (const job of jobs) this.#queue.add(job);
    this.#release();
  }

  #hold(jobs: readonly Job[]): void {
    const { clock, assumptions } = this.#options;
    this.#held.push(...jobs);
    clock.at(plus(clock.now(), assumptions.webhookHoldMs), () => this.#release());
  }

  /** The last held delivery leaves first, so that the order changes even without another delivery in between. */
  #release(): void {
    for (const job of this.#held.toReversed()) this.#queue.add(job);
    this.#held = [];
    this.#pump();
  }

  #pump(): void {
    for (const job of this.#queue) {
      if (this.#inFlight.size >= this.#options.assumptions.webhookConcurrency) break;
      this.#queue.delete(job);
      void this.#send(job);
    }
    this.#resolveIdle();
  }

  #resolveIdle(): void {
    if (this.#queue.size > 0 || this.#inFlight.size > 0) return;
    const waiting = this.#idle;
    this.#idle = [];
    for (const resolve of waiting) resolve();
  }

  async #send(job: Job): Promise<void> {
    const { assumptions, clock } = this.#options;
    const controller = new AbortController();
    this.#inFlight.add(controller);
    const timeout = setTimeout(() => controller.abort(new Error('timed out')), assumptions.webhookTimeoutMs);
    const { status, error } = await this.#post(job, controller.signal);
    clearTimeout(timeout);
    // A reset aborted it and deleted its event.
    if (!this.#inFlight.delete(controller)) return;
    clock.tick();
    this.#note(job, status, error, false);
    const acknowledged = status !== null && status >= 200 && status < 300;
    const wait = assumptions.webhookRetriesMs[job.attempt - 1];
    if (!acknowledged && !job.duplicate && wait !== undefined) {
      const again = { ...job, attempt: job.attempt + 1 };
      clock.at(plus(clock.now(), wait), () => this.#submit([again]));
    }
    this.#pump();
  }

  async #post(job: Job, signal: AbortSignal): Promise<{ status: number | null; error: string | null }> {
    const { assumptions, bodyOf } = this.#options;
    const body = bodyOf(job.event);
    // Wall time, because the receiver compares it with its own clock.
    const timestamp = Math.floor(Date.now() / 1_000);
    const signed = signature(job.corrupted ? `${body} ` : body, this.#secrets, timestamp);
    const headers = {
      'Content-Type': 'application/json',
      [assumptions.signatureHeader]: signed,
      [assumptions.signatureTimestampHeader]: String(timestamp),
    };
    try {
      const { statusCode, body: reply } = await request(job.uri, { method: 'POST', headers, body, signal });
      await reply.dump();
      const isAccepted = statusCode >= 200 && statusCode < 300;
      return { status: statusCode, error: isAccepted ? null : `answered ${statusCode}` };
    } catch (error) {
      return { status: null, error: reasonOf(error) };
    }
  }

  #note(job: Job, status: number | null, error: string | null, dropped: boolean): void {
    const { event, uri, attempt, duplicate, reordered, corrupted, delayed } = job;
    const id = `whdl_${this.#random.stream('delivery').letters(19)}`;
    const facts = { eventId: event.id, key: event.key, uri, attempt, status, error };
    const createdAt = this.#options.clock.now();
    this.#options.onTried({ id, createdAt, ...facts, dropped, duplicate, reordered, corrupted, delayed });
  }
}

function reasonOf(error: unknown): string {
  const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error;
  return cause instanceof Error ? cause.message || cause.name : String(cause);
}
