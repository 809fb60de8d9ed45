import { parseCheckoutId } from '@tillflow/domain';
import { CheckoutNotFoundError, UnreadablePayloadError, type Checkouts, type Seal } from '@tillflow/temporal';
import { GONE, type DeliverCall, type Delivery, type DeliveryRecord, type EndpointSecrets } from '@tillflow/workflows';
import { bodyOf, idOfEvent } from './events.js';
import type { FreezeDetector } from './freeze-detector.js';
import { reportDelivery } from './metrics.js';
import type { EventSender, Sent } from './sender.js';

/** The most requests of one batch that are in flight. */
const CONCURRENCY = 8;
/** Each pause before a further try is up to this share longer, so that receivers are not asked together. */
const JITTER = 0.1;
/** A receiver's Retry-After counts up to this, in milliseconds. */
const LONGEST_WAIT_MS = 24 * 3_600_000;
/** The pause before a delivery that Tillflow could not send is tried again. Milliseconds. */
const OUR_PAUSE_MS = 10 * 60_000;

type Parts = {
  readonly sender: Pick<EventSender, 'send'>;
  readonly seal: Pick<Seal, 'open'>;
  readonly checkouts: Pick<Checkouts, 'get'>;
  readonly freezes: Pick<FreezeDetector, 'count'>;
};
type Result = Sent & Pick<DeliveryRecord, 'isUnsendable' | 'isOurFailure'>;

/** Another worker may have the batch: its requests would be overtaken by those of this one. */
class TakenOverError extends Error {
  override readonly name = 'TakenOverError';
}

/** Delivers one batch. */
export class BatchDelivery {
  readonly #records: DeliveryRecord[] = [];
  readonly #freezes: number;

  /**
   * @param done the records of an earlier try of this batch, which are not repeated
   * @param signal ends the batch
   */
  constructor(
    private readonly parts: Parts,
    private readonly call: Omit<DeliverCall, 'deliveries'>,
    private readonly signal: AbortSignal,
    done: readonly DeliveryRecord[] = [],
  ) {
    this.#records.push(...done);
    this.#freezes = parts.freezes.count;
  }

  get records(): readonly DeliveryRecord[] {
    return this.#records;
  }

  /**
   * The deliveries of different checkouts do not wait for one another. When the worker itself fails, it does not try the
   * rest of the batch.
   * @throws the error when there is no record at all
   */
  async run(deliveries: readonly Delivery[]): Promise<readonly DeliveryRecord[]> {
    const secrets = await this.#secrets();
    const left = [...deliveries];
    const failures: unknown[] = [];
    const work = async (): Promise<void> => {
      for (let next = left.shift(); next !== undefined; next = left.shift()) {
        try {
          await this.#deliver(next, secrets);
          if (this.#records.some(({ status }) => status === GONE)) left.length = 0;
        } catch (error) {
          failures.push(error);
          left.length = 0;
        }
      }
    };
    await Promise.all(Array.from({ length: CONCURRENCY }, work));
    const [failure] = failures;
    if (failure instanceof TakenOverError || (failure !== undefined && this.#records.length === 0)) throw failure;
    return this.#records;
  }

  /** Sends an event without a checkout, once. */
  async test(id: string): Promise<DeliveryRecord> {
    const data = { endpoint: this.call.endpoint };
    const body = JSON.stringify({ type: 'endpoint.test', timestamp: new Date().toISOString(), data });
    const sent = await this.#send(id, body, await this.#secrets());
    const { next, ...record } = this.#recordOf(sent, { id, checkout: null, event: 'test', version: 0, tries: 0 });
    return next === undefined ? record : { ...record, next: null };
  }

  /** Sends the events of a checkout in the order of their versions, until one fails. */
  async #deliver({ checkout, events, tries }: Delivery, secrets: EndpointSecrets | null): Promise<void> {
    for (const [index, event] of events.entries()) {
      const id = idOfEvent({ checkout, ...event });
      const about = { id, checkout, event: event.event, version: event.version, tries: index === 0 ? tries : 0 };
      const known = this.#records.find((record) => record.id === id);
      const record = known ?? this.#recordOf(await this.#sendEvent(checkout, event, id, secrets), about);
      if (known === undefined) {
        this.#records.push(record);
        if (record.isOurFailure !== true) reportDelivery(record, Date.now() - event.at);
      }
      if (record.next !== undefined) return;
    }
  }

  async #sendEvent(
    checkout: string,
    event: Delivery['events'][number],
    id: string,
    secrets: EndpointSecrets | null,
  ): Promise<Result> {
    const key = parseCheckoutId(checkout);
    if (key === null) return { ...unsent('not the id of a checkout'), isUnsendable: true };
    if (secrets === null) return this.#send(id, '', null);
    try {
      return await this.#send(id, bodyOf(await this.parts.checkouts.get(key), event, secrets.links), secrets);
    } catch (error) {
      // Its retention is over.
      if (error instanceof CheckoutNotFoundError) return { ...unsent(String(error)), isUnsendable: true };
      if (error instanceof UnreadablePayloadError) {
        return { ...unsent('PAYLOAD_KEYS has no key for this checkout'), isOurFailure: true };
      }
      throw error;
    }
  }

  /** @throws {TakenOverError} */
  async #send(id: string, body: string, secrets: EndpointSecrets | null): Promise<Result> {
    if (secrets === null) return unsent('PROVIDER_SECRET_KEY has changed since the secret was made: rotate the secret');
    this.#mustBeMine();
    const { endpoint, url } = this.call;
    const now = Date.now();
    const signing = secrets.secrets.flatMap(({ secret, until }) => (until === null || now < until ? secret : []));
    const sent = await this.parts.sender.send({ endpoint, url, signal: this.signal }, id, body, signing);
    // A request that this worker cut off itself says nothing about the receiver.
    if (sent.status === null) this.#mustBeMine();
    return sent;
  }

  #mustBeMine(): void {
    if (!this.signal.aborted && this.parts.freezes.count === this.#freezes) return;
    throw new TakenOverError('Another worker may have taken this batch over');
  }

  #recordOf(
    { status, ms, error, retryAfterMs = 0, isUnsendable, isOurFailure }: Result,
    about: Pick<DeliveryRecord, 'id' | 'checkout' | 'event' | 'version' | 'tries'>,
  ): DeliveryRecord {
    const now = Date.now();
    const record = { ...about, at: now - ms, ms, status, ...(error === undefined ? {} : { error }) };
    if (isUnsendable === true) return { ...record, isUnsendable };
    if (isOurFailure === true) return { ...record, isOurFailure, next: now + OUR_PAUSE_MS };
    if (status !== null && status >= 200 && status < 300) return record;
    const askedMs = Math.min(retryAfterMs, LONGEST_WAIT_MS);
    const failed = askedMs === 0 ? record : { ...record, notBefore: now + askedMs };
    const delayMs = this.call.retryDelaysMs[about.tries];
    if (delayMs === undefined) return { ...failed, next: null };
    return { ...failed, next: Math.round(now + Math.max(delayMs * (1 + Math.random() * JITTER), askedMs)) };
  }

  /** Null when they were sealed with another key. */
  async #secrets(): Promise<EndpointSecrets | null> {
    try {
      return (await this.parts.seal.open(this.call.sealed)) as EndpointSecrets;
    } catch (error) {
      if (error instanceof UnreadablePayloadError) return null;
      throw error;
    }
  }
}

function unsent(error: string): Sent {
  return { status: null, ms: 0, error };
}
