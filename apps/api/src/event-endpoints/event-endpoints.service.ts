import { Injectable } from '@nestjs/common';
import { EndpointSealer, EventEndpoints, refuseEndpoint, Seal, SecretsReplacedError } from '@tillflow/temporal';
import { CHECKOUT_EVENTS, MAX_ENDPOINTS, type EventEndpointMemo } from '@tillflow/workflows';
import type { Asker } from '../auth/caller.js';
import { Problem } from '../problems/problem.js';
import { Settings } from '../providers.js';
import { Cursors } from '../shared/cursors.js';
import { afterWrite, retryAfterSeconds, unavailable } from '../temporal/failures.js';
import { TemporalAccess } from '../temporal/temporal.provider.js';
import { EndpointLinks } from './endpoint-links.js';
import type {
  ChangeEndpoint,
  CreateEndpoint,
  DeliveriesReply,
  EndpointReply,
  EndpointsReply,
  EndpointWithSecret,
  EventType,
  ListDeliveries,
  ReplayEvents,
  TestReply,
} from './event-endpoints.schema.js';

const READ_WITHIN_MS = 3_000;

/** The rules of the API for event endpoints. */
@Injectable()
export class EventEndpointsService {
  readonly #endpoints: EventEndpoints;
  readonly #sealer: EndpointSealer;

  constructor(
    temporal: TemporalAccess,
    private readonly settings: Settings,
    private readonly cursors: Cursors,
    private readonly links: EndpointLinks,
  ) {
    const { TEMPORAL_TASK_QUEUE: taskQueue, PROVIDER_SECRET_KEY: secret } = settings.values;
    this.#endpoints = new EventEndpoints(temporal, {
      taskQueue,
      readWithinMs: READ_WITHIN_MS,
      bounded: temporal.within,
    });
    this.#sealer = new EndpointSealer(new Seal(secret));
  }

  /** @throws {Problem} `endpoint_refused`, `too_many_endpoints`. */
  async create({ url, events, description }: CreateEndpoint, { by }: Asker): Promise<EndpointWithSecret> {
    await this.#mustBeAllowed(url);
    const { secret, sealed } = await this.#sealer.create(this.links.own);
    const fields = { url, events: eventsOf(events ?? null), description: description ?? null, by };
    const memo = await asked(this.#endpoints.create(fields, sealed));
    if (memo === null) throw new Problem('too_many_endpoints', `An account can have ${MAX_ENDPOINTS} endpoints`);
    return { ...toReply(memo), secret };
  }

  async list(): Promise<EndpointsReply> {
    const running = await asked(this.#endpoints.running());
    return { data: running.map(({ memo }) => toReply(memo)), next_cursor: null };
  }

  /** @throws {Problem} `not_found`, as every method here with an id. */
  async get(id: string): Promise<EndpointReply> {
    return toReply(found(await asked(this.#endpoints.get(id))));
  }

  /** @throws {Problem} `endpoint_refused`. */
  async change(
    id: string,
    { enabled, events, ...others }: ChangeEndpoint,
    { by, origin }: Asker,
  ): Promise<EndpointReply> {
    if (others.url !== undefined) await this.#mustBeAllowed(others.url);
    const settings = { ...others, ...(events === undefined ? {} : { events: eventsOf(events) }) };
    const change = { by, origin, settings, ...(enabled === undefined ? {} : { enabled }) };
    return toReply(found(await asked(this.#endpoints.change(id, change))));
  }

  async remove(id: string, { by }: Asker): Promise<void> {
    if (!(await asked(this.#endpoints.remove(id, by)))) throw notFound();
  }

  async rotate(id: string, { by, origin }: Asker): Promise<EndpointWithSecret> {
    const rotated = this.#endpoints.rotate(id, this.#sealer, this.links.own, { by, origin }).catch((error: unknown) => {
      if (error instanceof SecretsReplacedError) {
        const retryAfter = { retryAfterSeconds: retryAfterSeconds() };
        throw new Problem('overloaded', 'Other requests replace this secret', retryAfter);
      }
      throw error;
    });
    const { memo, secret } = found(await asked(rotated));
    return { ...toReply(memo), secret };
  }

  async test(id: string, { by }: Asker): Promise<TestReply> {
    return { id: found(await asked(this.#endpoints.test(id, by))) };
  }

  async replay(id: string, { from, to }: ReplayEvents, { by }: Asker): Promise<EndpointReply> {
    const times = [Date.parse(from), Date.parse(to)];
    const range = { from: Math.min(...times), to: Math.max(...times) };
    if (!(await asked(this.#endpoints.replay(id, range, by)))) throw notFound();
    return afterWrite(this.get(id));
  }

  async deliveries(id: string, { limit, cursor }: ListDeliveries): Promise<DeliveriesReply> {
    const list = ['deliveries', id];
    const token = cursor === undefined ? null : this.cursors.read(cursor, list).token;
    const place = token === null ? null : Buffer.from(token).toString('utf8');
    const page = found(await asked(this.#endpoints.deliveries(id, limit, place)));
    return {
      data: page.data.map(({ checkout, event, at, ms, tries, error, next, ...record }) => ({
        id: record.id,
        type: event === 'test' ? ('endpoint.test' as const) : (`checkout.${event}` as const),
        checkout_id: checkout,
        version: event === 'test' ? null : record.version,
        attempt: tries + 1,
        at: new Date(at).toISOString(),
        duration_ms: ms,
        status: record.status,
        error: error ?? null,
        accepted: next === undefined && error === undefined,
        next_try_at: next === undefined || next === null ? null : new Date(next).toISOString(),
      })),
      next_cursor:
        page.next === null ? null : this.cursors.write({ search: 0, token: Buffer.from(page.next, 'utf8') }, list),
    };
  }

  async #mustBeAllowed(url: string): Promise<void> {
    const why = await refuseEndpoint(url, this.settings.values.EVENT_ENDPOINT_NETWORKS);
    if (why !== null) throw new Problem('endpoint_refused', why);
  }
}

function eventsOf(types: readonly EventType[] | null): EventEndpointMemo['endpoint']['events'] {
  return types === null ? null : CHECKOUT_EVENTS.filter((event) => types.includes(`checkout.${event}`));
}

async function asked<T>(work: Promise<T>): Promise<T> {
  try {
    return await work;
  } catch (error) {
    throw unavailable(error);
  }
}

function found<T>(value: T | null): T {
  if (value === null) throw notFound();
  return value;
}

function notFound(): Problem {
  return new Problem('not_found', 'No event endpoint has this id');
}

function toReply({ endpoint, health }: EventEndpointMemo): EndpointReply {
  const { disabled = null, failing_since = null, failure = null } = health ?? {};
  return {
    ...endpoint,
    events: (endpoint.events ?? CHECKOUT_EVENTS).map((event) => `checkout.${event}` as const),
    enabled: disabled === null,
    disabled_because: disabled?.because ?? null,
    disabled_since: disabled?.since ?? null,
    failing_since,
    failure,
  };
}
