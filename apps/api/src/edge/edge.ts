import { randomUUID } from 'node:crypto';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { Readable } from 'node:stream';
import { correlate, enterSpan, type Correlation, type Tracer } from '@tillflow/telemetry';
import type { ConfiguredKeys } from '@tillflow/temporal';
import {
  fastify,
  type FastifyInstance,
  type FastifyReply,
  type FastifyRequest,
  type FastifyServerOptions,
} from 'fastify';
import type { Logger } from 'pino';
import { budgetOf, withBudget } from '../temporal/request-budget.js';
import { Admission } from '../auth/admission.js';
import { auditOf } from '../auth/audit.js';
import { keyNameOf, type Caller } from '../auth/caller.js';
import { WrongKeys } from '../auth/wrong-keys.js';
import { addressKey } from './client-address.js';
import { SignedLinks } from '../auth/signed-links.js';
import { Signatures } from '../auth/signatures.js';
import { CodecLinks } from '../codec/codec-links.js';
import { TillTokens } from '../counter/till-tokens.js';
import { allowCodecOrigins, allowOrigins } from './cors.js';
import { UPLOAD_WITHIN_MS } from '../disputes/upload.js';
import type { Metrics } from '../metrics/metrics.js';
import { PROBLEMS } from '../problems/catalog.js';
import { ProblemFilter } from '../problems/problem.filter.js';
import { Problem } from '../problems/problem.js';
import type { Settings } from '../providers.js';
import { askForBody, boundArrival, decideExpectations, hasBody } from './connections.js';
import { mustHaveOneHost, setCommonHeaders, setRateLimitHeaders } from './headers.js';
import { refuseUnfitNames } from './json.js';
import type { Limits } from './limits.js';
import { requestSpan } from './traces.js';
import { Unreadable } from './unreadable.js';

type Parts = {
  readonly settings: Settings;
  readonly keys: ConfiguredKeys;
  readonly limits: Limits;
  readonly logger: Logger;
  /** Undefined: no traces. */
  readonly tracer: Tracer | undefined;
};

/** Handles a request from its headers to its answer. */
export type Handler = (request: IncomingMessage, response: ServerResponse) => void;

/** How long a caller should wait after a 202. Seconds. */
const POLL_AFTER_S = 1;

/** How often Node checks for headers that do not arrive. */
const HEADS_CHECKED_EVERY_MS = 5_000;

/**
 * The HTTP server, and what it does with every request before it reads the body: common headers, limits, the caller,
 * and the time in which the body must arrive.
 */
export class Edge {
  readonly server: FastifyInstance;
  readonly problems: ProblemFilter;
  readonly #admission: Admission;
  readonly #wrongKeys = new WrongKeys();
  readonly #settings: Settings;
  readonly #logger: Logger;
  readonly #correlations = new WeakMap<FastifyRequest, Correlation>();
  /** The requests whose caller disconnected before the answer was known. */
  readonly #left = new WeakSet<FastifyRequest>();
  #metrics: Metrics | undefined;
  #handle: Handler = () => undefined;

  /**
   * @param elsewhere who else handles a request; undefined: this server does. Absent: the server handles all requests, and
   *   is one that the framework makes
   */
  constructor(
    { settings, keys, limits, logger, tracer }: Parts,
    elsewhere?: (request: IncomingMessage) => Handler | undefined,
  ) {
    this.#settings = settings;
    this.#logger = logger;
    this.problems = new ProblemFilter(settings, logger);
    const signatures = new Signatures(settings);
    const links = new SignedLinks(signatures, settings);
    const codecLinks = new CodecLinks(signatures, settings);
    this.#admission = new Admission({
      settings,
      keys,
      limits,
      links,
      codecLinks,
      tillTokens: new TillTokens(signatures, settings),
    });
    const unreadable = new Unreadable(settings);
    const { BODY_LIMIT_BYTES, REQUEST_TIMEOUT_MS, TRUST_PROXY, TEMPORAL_UI_URL, CORS_ORIGINS } = settings.values;
    const http = {
      headersTimeout: REQUEST_TIMEOUT_MS,
      connectionsCheckingInterval: Math.min(REQUEST_TIMEOUT_MS, HEADS_CHECKED_EVERY_MS),
      // Node would refuse a missing host with an empty answer.
      requireHostHeader: false,
    };
    this.server = fastify({
      bodyLimit: BODY_LIMIT_BYTES,
      genReqId: () => randomUUID(),
      forceCloseConnections: 'idle',
      routerOptions: { maxParamLength: 256 },
      trustProxy: TRUST_PROXY ?? false,
      frameworkErrors: (error, request, reply) => this.#refuseUnrouted(error, request, reply),
      clientErrorHandler: unreadable.refuse,
      // With a server of its own, the framework listens at one address of a host name only.
      ...(elsewhere === undefined
        ? { http }
        : {
            serverFactory: (handle: Handler, options: FastifyServerOptions) => {
              this.#handle = handle;
              const server = createServer(http, (request, response) =>
                (elsewhere(request) ?? handle)(request, response),
              );
              return withLimits(server, options);
            },
          }),
    });
    unreadable.watch(this.server);
    decideExpectations(this.server);
    // Before the framework's own hooks, so that every answer has these headers, also a refusal.
    allowCodecOrigins(this.server, TEMPORAL_UI_URL);
    allowOrigins(this.server, CORS_ORIGINS);
    this.server.addHook('onRequest', (request, reply, done) => {
      this.#logAtEnd(request, reply);
      this.#slowly(request, this.#refusalOf(request, reply), done);
    });
    // Not earlier: reading a body loses the context.
    this.server.addHook('preHandler', (request: Caller, reply, done) => {
      const fields: Correlation = { request_id: request.id };
      this.#correlations.set(request, fields);
      const budget = budgetOf(reply.raw, settings.values.ANSWER_WITHIN_MS, request.caller);
      const span = tracer && requestSpan(tracer, settings.account, request, reply);
      withBudget(budget, () => correlate(fields, span === undefined ? done : () => enterSpan(span, done)));
    });
    this.server.addHook('onSend', (request, reply, payload, done) => {
      // A stream watches its reader itself. Node ends the connection when the reader has taken nothing for so long.
      if (!(payload instanceof Readable)) reply.raw.setTimeout(REQUEST_TIMEOUT_MS);
      if (reply.statusCode === 202 && !reply.hasHeader('retry-after')) void reply.header('retry-after', POLL_AFTER_S);
      if (this.#left.has(request)) this.#log(request, reply);
      done();
    });
  }

  /** Handles a request that another server has received. */
  handle(request: IncomingMessage, response: ServerResponse): void {
    this.#handle(request, response);
  }

  /** Counts answers from now on. */
  report(metrics: Metrics): void {
    this.#metrics = metrics;
  }

  /** @returns why the request is refused; undefined when it may continue. */
  #refusalOf(request: Caller, reply: FastifyReply): Problem | undefined {
    setCommonHeaders(request, reply, this.#settings.publicUrl);
    const refusal = problemIn(() => {
      this.#admission.admit(request);
      mustHaveOneHost(request.raw);
      refuseUnfitNames(request.query);
    });
    setRateLimitHeaders(request, reply);
    this.#boundArrival(request, reply, refusal === undefined);
    if (refusal === undefined && !request.is404) askForBody(request.raw, reply.raw);
    // Many clients send `Content-Type: application/json` with a POST without a body.
    if (!hasBody(request.raw)) delete request.headers['content-type'];
    return refusal;
  }

  /** An address that tries keys gets its answers later. */
  #slowly(request: Caller, refusal: Problem | undefined, done: (refusal?: Problem) => void): void {
    if (request.hasWrongKey === true) this.#wrongKeys.answer(addressKey(request.ip), () => done(refusal));
    else done(refusal);
  }

  /** Only a caller who may send files has the time of an upload. */
  #boundArrival(request: FastifyRequest, reply: FastifyReply, isAdmitted: boolean): void {
    const takesFiles = isAdmitted && request.routeOptions.config.access?.body === 'files';
    const withinMs = takesFiles ? UPLOAD_WITHIN_MS : this.#settings.values.REQUEST_TIMEOUT_MS;
    boundArrival(request.raw, withinMs, () => {
      if (reply.sent) request.raw.destroy();
      else {
        void reply.header('connection', 'close');
        this.problems.send(new Problem('request_timeout', PROBLEMS.request_timeout.example), request, reply);
      }
    });
  }

  /** A path that cannot be decoded has no route, and the framework runs no hooks for it. */
  #refuseUnrouted(error: Error, request: FastifyRequest, reply: FastifyReply): void {
    this.#logAtEnd(request, reply);
    let failure: unknown = error;
    // No runner of hooks catches what is thrown here: it would end the process.
    try {
      failure = this.#refusalOf(request, reply) ?? error;
    } catch (unexpected) {
      failure = unexpected;
    }
    this.problems.send(failure, request, reply);
  }

  /** A caller who disconnects gets no answer, but the request may have changed something: it is logged with its answer. */
  #logAtEnd(request: FastifyRequest, reply: FastifyReply): void {
    reply.raw.once('close', () => {
      if (reply.raw.headersSent) this.#log(request, reply);
      else this.#left.add(request);
    });
  }

  /**
   * Logs method, route, status, time, the name of the key, and the ids that connect the request with its workflow. It
   * logs no header, no body and no id in the route.
   */
  #log(request: FastifyRequest, reply: FastifyReply): void {
    const route = request.routeOptions.url;
    const isSent = reply.raw.writableFinished;
    if (isSent) this.#metrics?.answered(request.method, route, reply.statusCode, reply.elapsedTime);
    this.#logger.info(
      {
        request_id: request.id,
        ...this.#correlations.get(request),
        key: keyNameOf(request),
        method: request.method,
        route: route ?? 'unknown',
        status: reply.statusCode,
        ms: Math.round(reply.elapsedTime),
        ...(isSent ? {} : { disconnected: true }),
      },
      'request',
    );
    const audit = auditOf(request, reply);
    if (audit !== undefined) this.#logger.info({ request_id: request.id, audit }, 'audit');
  }
}

/** As the framework does with a server that it creates itself. */
function withLimits(server: Server, options: FastifyServerOptions): Server {
  const { keepAliveTimeout, requestTimeout, connectionTimeout } = options;
  if (keepAliveTimeout !== undefined) server.keepAliveTimeout = keepAliveTimeout;
  if (requestTimeout !== undefined) server.requestTimeout = requestTimeout;
  return server.setTimeout(connectionTimeout ?? 0);
}

/** @throws every error that is not a problem */
function problemIn(check: () => void): Problem | undefined {
  try {
    check();
    return undefined;
  } catch (error) {
    if (error instanceof Problem) return error;
    throw error;
  }
}
