import { StandardSchemaValidationPipe } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { FastifyAdapter, type NestFastifyApplication } from '@nestjs/platform-fastify';
import { PaymentsClient } from '@tillflow/payments-client';
import { openTemporal, warnIfUnencrypted } from '@tillflow/temporal';
import type { Logger } from 'pino';
import { AppModule, CONTROLLERS, type AppParts } from './app.module.js';
import { serveCounter } from './counter/site.js';
import { takeBodies } from './edge/bodies.js';
import { Edge } from './edge/edge.js';
import { Limits } from './edge/limits.js';
import { refuseOtherMethods } from './edge/methods.js';
import { EndpointLinks } from './event-endpoints/endpoint-links.js';
import { Metrics } from './metrics/metrics.js';
import { openApiDocument } from './openapi/document.js';
import { serveDescription } from './openapi/pages.js';
import { Problem } from './problems/problem.js';
import type { ApiSettings } from './settings.js';
import { Settings } from './providers.js';
import { closeConnections } from './edge/connections.js';

export type RunningApi = {
  /** `http://host:port` at which it listens. */
  readonly url: string;
  /** Finishes the requests in progress, accepts no more, and closes all connections. */
  close(): Promise<void>;
};

/** Starts the API. It also starts without Temporal; `/health/ready` then answers 503. */
export async function startApi(values: ApiSettings, logger: Logger): Promise<RunningApi> {
  warnIfUnencrypted(values, logger);
  const settings = new Settings(values);
  const temporal = await openTemporal(values);
  const provider = new PaymentsClient({
    baseUrl: values.PROVIDER_BASE_URL,
    secretKey: values.PROVIDER_SECRET_KEY,
    apiVersion: values.PROVIDER_API_VERSION,
    requestsPerSecond: values.PROVIDER_REQUESTS_PER_SECOND / values.PROVIDER_PROCESSES,
    logger,
  });
  const app = await createApp({ settings, limits: new Limits(values), temporal, provider, logger });
  await app.listen(values.PORT, values.HOST);
  const url = await app.getUrl();
  settings.listeningAt(url);
  app.get(EndpointLinks).replaceAll();
  return {
    url,
    async close() {
      await app.close();
      await provider.close();
      await temporal.close();
    },
  };
}

async function createApp(parts: AppParts): Promise<NestFastifyApplication> {
  const { settings } = parts;
  const edge = new Edge(parts);
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
  serveCounter(edge.server);
  if (settings.values.DOCS_OPEN) await serveDescription(edge.server, openApiDocument(CONTROLLERS));
  return app;
}

function segmentOf(segment: PropertyKey | { readonly key: PropertyKey }): string {
  return String(typeof segment === 'object' ? segment.key : segment);
}
