import { randomUUID } from 'node:crypto';
import { STATUS_CODES } from 'node:http';
import type { Socket } from 'node:net';
import { StandardSchemaValidationPipe } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { FastifyAdapter, type NestFastifyApplication } from '@nestjs/platform-fastify';
import { SwaggerModule } from '@nestjs/swagger';
import { PaymentsClient } from '@tillflow/payments-client';
import { correlate, type Correlation } from '@tillflow/telemetry';
import { openTemporal, warnIfUnencrypted } from '@tillflow/temporal';
import type { ConnectionError, FastifyReply, FastifyRequest } from 'fastify';
import type { Logger } from 'pino';
import { AppModule } from './app.module.js';
import { keyNameOf } from './auth/auth.guard.js';
import { allowCodecOrigins } from './codec/codec-origins.js';
import { Metrics } from './metrics/metrics.js';
import { takeMultipart } from './disputes/multipart.js';
import { openApiDocument } from './openapi/document.js';
import { PROBLEMS } from './problems/catalog.js';
import { Problem } from './problems/problem.js';
import { ProblemFilter } from './problems/problem.filter.js';
import type { ApiSettings } from './settings.js';
import { Settings } from './settings.provider.js';
import { allowOrigins } from './streams/cors.js';
import { closeUnusedConnections } from './unused-connections.js';

export type RunningApi = {
  /** `http://host:port` as it listens. */
  readonly url: string;
  /** Answers what was asked, takes no more, closes its connections. */
  close(): Promise<void>;
};

/** Starts the API. It starts without Temporal too, and says so at `/health/ready`. */
export async function startApi(values: ApiSettings, logger: Logger): Promise<RunningApi> {
  warnIfUnencrypted(values, logger);
  const settings = new Settings(values);
  const temporal = await openTemporal(values);
  const provider = new PaymentsClient({
    baseUrl: values.PROVIDER_BASE_URL,
    secretKey: values.PROVIDER_SECRET_KEY,
    apiVersion: values.PROVIDER_API_VERSION,
    logger,
  });
  const app = await createApp({ settings, temporal, provider, logger });
  await app.listen(values.PORT, values.HOST);
  const url = await app.getUrl();
  settings.listeningAt(url);
  return {
    url,
    async close() {
      await app.close();
      await provider.close();
      await temporal.close();
    },
  };
}

async function createApp(parts: Parameters<typeof AppModule.of>[0]): Promise<NestFastifyApplication> {
  const { settings, logger } = parts;
  const filter = new ProblemFilter(settings, logger);
  const adapter = new FastifyAdapter({
    bodyLimit: settings.values.BODY_LIMIT_BYTES,
    genReqId: () => randomUUID(),
    forceCloseConnections: 'idle',
    routerOptions: { maxParamLength: 256 },
    frameworkErrors: (error: Error, request: FastifyRequest, reply: FastifyReply) =>
      void filter.send(error, request, reply),
    clientErrorHandler: refuseUnreadable,
  });
  const app = await NestFactory.create<NestFastifyApplication>(AppModule.of(parts), adapter, {
    rawBody: true,
    logger: false,
    abortOnError: false,
  });
  app.useGlobalFilters(filter);
  app.useGlobalPipes(
    new StandardSchemaValidationPipe({
      exceptionFactory: (issues) =>
        new Problem('invalid_request', 'See errors', {
          errors: issues.map(({ path, message }) => ({ path: (path ?? []).map(segmentOf).join('.'), message })),
        }),
    }),
  );
  closeUnusedConnections(app.getHttpAdapter().getInstance());
  logRequests(app, logger);
  allowCodecOrigins(app, settings.values.TEMPORAL_UI_URL);
  allowOrigins(app.getHttpAdapter().getInstance(), settings.values.CORS_ORIGINS);
  SwaggerModule.setup('docs', app, () => openApiDocument(app), { jsonDocumentUrl: 'openapi.json' });
  await app.init();
  // JSON is the language here, and multipart for files; the framework would read these two as well.
  adapter.getInstance().removeContentTypeParser(['text/plain', 'application/x-www-form-urlencoded']);
  takeMultipart(adapter.getInstance());
  return app;
}

/**
 * Method, route, status, time, the name of the caller's key, and the ids that tie it to what it brought about; never a
 * header, a body, or an id in the route.
 */
function logRequests(app: NestFastifyApplication, logger: Logger): void {
  const server = app.getHttpAdapter().getInstance();
  const metrics = app.get(Metrics);
  const correlations = new WeakMap<FastifyRequest, Correlation>();
  server.addHook('onRequest', (request, reply, done) => {
    void reply.header('x-request-id', request.id);
    // Many clients name JSON on a POST without a body.
    const { 'content-length': length, 'transfer-encoding': encoding } = request.headers;
    if (encoding === undefined && (length === undefined || length === '0')) delete request.headers['content-type'];
    done();
  });
  // Not earlier: reading a body loses the context.
  server.addHook('preHandler', (request, _reply, done) => {
    const fields: Correlation = { request_id: request.id };
    correlations.set(request, fields);
    correlate(fields, done);
  });
  server.addHook('onResponse', (request, reply, done) => {
    const route = request.routeOptions.url ?? 'unknown';
    metrics.answered(request.method, route, reply.statusCode, reply.elapsedTime);
    logger.info(
      {
        request_id: request.id,
        ...correlations.get(request),
        key: keyNameOf(request),
        method: request.method,
        route,
        status: reply.statusCode,
        ms: Math.round(reply.elapsedTime),
      },
      'request',
    );
    done();
  });
}

/** What is not HTTP, or too large a head, has no request yet: the answer is written by hand. */
function refuseUnreadable(error: ConnectionError, socket: Socket): void {
  if (error.code === 'ECONNRESET' || !socket.writable) {
    socket.destroy();
    return;
  }
  const status = error.code === 'HPE_HEADER_OVERFLOW' ? 431 : error.code === 'ERR_HTTP_REQUEST_TIMEOUT' ? 408 : 400;
  const { title } = PROBLEMS.invalid_request;
  const body = JSON.stringify({
    type: 'about:blank',
    title,
    status,
    code: 'invalid_request',
    request_id: randomUUID(),
  });
  socket.end(
    `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\nContent-Type: application/problem+json\r\n` +
      `Content-Length: ${Buffer.byteLength(body)}\r\nConnection: close\r\n\r\n${body}`,
  );
}

function segmentOf(segment: PropertyKey | { readonly key: PropertyKey }): string {
  return String(typeof segment === 'object' ? segment.key : segment);
}
