import type { IncomingMessage, ServerResponse } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { StandardSchemaValidationPipe } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { FastifyAdapter, type NestFastifyApplication } from '@nestjs/platform-fastify';
import { DEFAULT_ACCOUNT } from '@tillflow/domain';
import { PaymentsClient } from '@tillflow/payments-client';
import { traceCall, type Tracer } from '@tillflow/telemetry';
import { openTemporal, type ConfiguredKeys, type Temporal } from '@tillflow/temporal';
import type { Logger } from 'pino';
import { AppModule, CONTROLLERS } from '../app.module.js';
import { CounterService } from '../counter/counter.service.js';
import { serveCounter } from '../counter/site.js';
import { takeBodies } from '../edge/bodies.js';
import { closeConnections } from '../edge/connections.js';
import { Edge, type Handler } from '../edge/edge.js';
import { Limits } from '../edge/limits.js';
import { refuseOtherMethods } from '../edge/methods.js';
import { EndpointLinks } from '../event-endpoints/endpoint-links.js';
import { BusinessMetrics } from '../metrics/business.js';
import { Metrics } from '../metrics/metrics.js';
import { openApiDocument } from '../openapi/document.js';
import { serveDescription } from '../openapi/pages.js';
import { Problem } from '../problems/problem.js';
import { Settings } from '../providers.js';
import type { ApiSettings } from '../settings.js';
import { StreamsService } from '../streams/streams.service.js';
import { WaitingService } from '../streams/waiting.service.js';
import type { Neighbours } from './neighbours.js';

/** What the parts of all accounts share. */
export type Shared = {
  readonly keys: ConfiguredKeys;
  readonly neighbours: Neighbours;
  readonly logger: Logger;
  /** Undefined: no traces. */
  readonly tracer: Tracer | undefined;
};

/** How long the requests of a part may go on after another part has taken its place. Milliseconds. */
const REQUESTS_END_WITHIN_MS = 60_000;
const LOOK_EVERY_MS = 100;

/**
 * The part of the API that serves one account: its own client of the provider, connection to Temporal, limits, places and
 * caches. So an account whose provider is down slows no other, and no request of one account reaches what belongs to
 * another.
 */
export class AccountApi {
  #requests = 0;

  /**
   * @param routeElsewhere decides which part handles a request. Absent: the only part, which listens
   * @throws {SettingsError}
   */
  static async open(values: ApiSettings, shared: Shared, routeElsewhere?: RouteElsewhere): Promise<AccountApi> {
    const settings = new Settings(values);
    const { account } = settings;
    const logger = account === DEFAULT_ACCOUNT ? shared.logger : shared.logger.child({ account });
    const temporal = await openTemporal(values, shared.tracer && traceCall);
    const provider = new PaymentsClient({
      name: account,
      baseUrl: values.PROVIDER_BASE_URL,
      secretKey: values.PROVIDER_SECRET_KEY,
      apiVersion: values.PROVIDER_API_VERSION,
      requestsPerSecond: values.PROVIDER_REQUESTS_PER_SECOND / values.PROVIDER_PROCESSES,
      logger,
    });
    const parts = { ...shared, settings, limits: new Limits(values), temporal, provider, logger };
    const edge = new Edge(parts, routeElsewhere);
    const app = await NestFactory.create<NestFastifyApplication>(AppModule.of(parts), new FastifyAdapter(edge.server), {
      bodyParser: false,
      logger: false,
      abortOnError: false,
    });
    app.useGlobalFilters(edge.problems);
    app.useGlobalPipes(
      new StandardSchemaValidationPipe({
        exceptionFactory: (issues) =>
          new Problem('invalid_request', 'See errors', {
            errors: issues.map(({ path, message }) => ({ path: (path ?? []).map(segmentOf).join('.'), message })),
          }),
      }),
    );
    edge.report(app.get(Metrics));
    closeConnections(edge.server);
    refuseOtherMethods(edge.server);
    takeBodies(edge.server);
    await app.init();
    // Callers without a key see these pages, so they belong to the installation and not to one account.
    if (account === DEFAULT_ACCOUNT) {
      serveCounter(edge.server);
      if (values.DOCS_OPEN) await serveDescription(edge.server, () => openApiDocument(CONTROLLERS));
    }
    const api = new AccountApi(settings, app, edge, temporal, provider);
    shared.neighbours.set(account, api.#neighbour);
    return api;
  }

  private constructor(
    readonly settings: Settings,
    readonly app: NestFastifyApplication,
    readonly edge: Edge,
    private readonly temporal: Temporal,
    private readonly provider: PaymentsClient,
  ) {}

  /** Handles a request that another part has received. */
  readonly handle: Handler = (request: IncomingMessage, response: ServerResponse): void => {
    this.#requests += 1;
    response.once('close', () => {
      this.#requests -= 1;
    });
    this.edge.handle(request, response);
  };

  /** Call it when the API listens: from then on, links have its address. */
  listeningAt(url: string): void {
    this.settings.listeningAt(url);
    this.app.get(EndpointLinks).replaceAll();
  }

  /** Ends streams and waits. @returns closes the connections, once the requests are answered */
  async stop(): Promise<() => Promise<void>> {
    await this.app.close();
    return async () => {
      await this.provider.close();
      await this.temporal.close();
    };
  }

  /** Closes a part that gets no more requests. Requests under way are answered. */
  async retire(): Promise<void> {
    this.app.get(StreamsService).beforeApplicationShutdown();
    this.app.get(WaitingService).beforeApplicationShutdown();
    const endsAt = performance.now() + REQUESTS_END_WITHIN_MS;
    while (this.#requests > 0 && performance.now() < endsAt) await sleep(LOOK_EVERY_MS, undefined, { ref: false });
    await (
      await this.stop()
    )();
  }

  get #neighbour() {
    return {
      counter: this.app.get(CounterService),
      metrics: async () => {
        await this.app.get(BusinessMetrics).refresh();
        return this.app.get(Metrics).registry.metrics();
      },
    };
  }
}

export type RouteElsewhere = (request: IncomingMessage) => Handler | undefined;

function segmentOf(segment: PropertyKey | { readonly key: PropertyKey }): string {
  return String(typeof segment === 'object' ? segment.key : segment);
}
