import { setTimeout as sleep } from 'node:timers/promises';
import { Inject, Injectable, type OnApplicationShutdown } from '@nestjs/common';
import {
  EndpointSealer,
  EventEndpoints,
  eventLinks,
  Seal,
  UnreadablePayloadError,
  type EventLinks,
} from '@tillflow/temporal';
import type { EventEndpointMemo } from '@tillflow/workflows';
import type { Logger } from 'pino';
import { LOGGER, Settings } from '../providers.js';
import { TemporalAccess } from '../temporal/temporal.provider.js';

const WITHIN_MS = 5_000;
/** The pause before a further try, in milliseconds. */
const AGAIN_MS = 30_000;

/**
 * Each endpoint stores how the API writes links, because workers do not know `URL_SIGNING_KEY`. An API that starts with
 * another `PUBLIC_URL` or `URL_SIGNING_KEY` replaces it.
 */
@Injectable()
export class EndpointLinks implements OnApplicationShutdown {
  readonly #endpoints: EventEndpoints;
  readonly #sealer: EndpointSealer;
  readonly #closing = new AbortController();

  constructor(
    temporal: TemporalAccess,
    private readonly settings: Settings,
    @Inject(LOGGER) private readonly logger: Logger,
  ) {
    const { values } = settings;
    this.#endpoints = new EventEndpoints(temporal, {
      taskQueue: values.TEMPORAL_TASK_QUEUE,
      readWithinMs: WITHIN_MS,
    });
    this.#sealer = new EndpointSealer(new Seal(values.PROVIDER_SECRET_KEY));
  }

  /** Of this API. */
  get own(): EventLinks {
    const { publicUrl, values, account } = this.settings;
    const [signingSecret = ''] = values.URL_SIGNING_KEY;
    return eventLinks(publicUrl, signingSecret, account);
  }

  /** Call it when the API listens: before, its address may not be known. */
  replaceAll(): void {
    void this.#replaceAll();
  }

  /** A call in progress ends with the connection: waiting for a Temporal that is down would delay the stop. */
  onApplicationShutdown(): void {
    this.#closing.abort();
  }

  async #replaceAll(): Promise<void> {
    const { signal } = this.#closing;
    while (!signal.aborted) {
      try {
        for (const { memo } of await this.#endpoints.running()) if (!signal.aborted) await this.#replace(memo);
        return;
      } catch (error) {
        if (signal.aborted) return;
        this.logger.warn({ err: error }, 'the links of event endpoints cannot be replaced yet');
        await sleep(AGAIN_MS, undefined, { signal, ref: false }).catch(() => undefined);
      }
    }
  }

  async #replace({ endpoint: { id }, sealed: present }: EventEndpointMemo): Promise<void> {
    try {
      const sealed = await this.#sealer.withLinks(present, this.own);
      if (sealed !== null) await this.#endpoints.change(id, { sealed: { before: present, after: sealed } });
    } catch (error) {
      if (!(error instanceof UnreadablePayloadError)) throw error;
      this.logger.warn({ endpoint: id }, 'the secret of an event endpoint was sealed with another PROVIDER_SECRET_KEY');
    }
  }
}
