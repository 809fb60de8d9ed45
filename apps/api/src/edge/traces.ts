import type { Span, Tracer } from '@tillflow/telemetry';
import type { FastifyReply } from 'fastify';
import type { Caller } from '../auth/caller.js';

/** Probes and pages, which tell nothing about a payment, and streams, which last for hours. */
const UNTRACED = /^\/(health|metrics|docs|openapi\.json|counter|errors)\b|\/events$/;

const SERVER_ERROR = 500;

/**
 * The span of a request: from its arrival to its answer. A caller with a key continues its own trace
 * (`traceparent`); any other request begins one, so that no stranger decides what is exported. Source of the names:
 * OpenTelemetry's semantic conventions, HTTP server spans. The address is left out: it may contain a link or a reference
 * of a payment. The route's template stands for it.
 * @returns undefined for a route that has no traces
 */
export function requestSpan(tracer: Tracer, account: string, request: Caller, reply: FastifyReply): Span | undefined {
  const { method, routeOptions, key, headers, id, protocol } = request;
  const { url: route } = routeOptions;
  if (route === undefined || UNTRACED.test(route)) return undefined;
  const { traceparent } = headers;
  const span = tracer.begin({
    name: `${method} ${route}`,
    kind: 'server',
    parent: key !== undefined && typeof traceparent === 'string' ? traceparent : undefined,
    startedAt: Date.now() - reply.elapsedTime,
  });
  if (!span.isSampled) return span;
  span.set({
    'http.request.method': method,
    'http.route': route,
    'url.scheme': protocol,
    'tillflow.account': account,
    'tillflow.request.id': id,
  });
  // Also when the caller disconnects before the answer.
  reply.raw.once('close', () => {
    const { statusCode: status } = reply;
    span.set({ 'http.response.status_code': status });
    if (status >= SERVER_ERROR) span.fail(String(status));
    span.end();
  });
  return span;
}
