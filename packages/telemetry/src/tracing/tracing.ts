import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { REQUEST_CHANNEL, type RequestReport } from '@tillflow/payments-client';
import type { Logger } from 'pino';
import { currentSpan, type Span, type Tracer } from './span.js';

/** OpenTelemetry's own settings, as `traceSettings` of packages/temporal reads them. */
export type TraceSettings = {
  /** Where spans go, without `/v1/traces`. Undefined: traces are off. */
  readonly OTEL_EXPORTER_OTLP_ENDPOINT?: string | undefined;
  readonly OTEL_EXPORTER_OTLP_HEADERS: Readonly<Record<string, string>>;
  /** Milliseconds. */
  readonly OTEL_EXPORTER_OTLP_TIMEOUT: number;
  readonly OTEL_EXPORTER_OTLP_COMPRESSION: 'none' | 'gzip';
  readonly OTEL_TRACES_SAMPLER:
    | 'always_on'
    | 'always_off'
    | 'traceidratio'
    | 'parentbased_always_on'
    | 'parentbased_always_off'
    | 'parentbased_traceidratio';
  /** The share of traces that the two `traceidratio` samplers export, from 0 to 1. */
  readonly OTEL_TRACES_SAMPLER_ARG: number;
  readonly OTEL_SERVICE_NAME?: string | undefined;
  readonly OTEL_RESOURCE_ATTRIBUTES: Readonly<Record<string, string>>;
  /** The longest time that a span waits for its export, in milliseconds. */
  readonly OTEL_BSP_SCHEDULE_DELAY: number;
  /** How many spans may wait. Further ones are lost. */
  readonly OTEL_BSP_MAX_QUEUE_SIZE: number;
  readonly OTEL_SDK_DISABLED: boolean;
};

/**
 * The traces of a program, with a span for each of its calls to the provider. Undefined when traces are off: then it
 * loads nothing of OpenTelemetry.
 * @param program `api` or `worker`: spans name it as the service `tillflow-<program>`
 */
export async function openTracer(
  settings: TraceSettings,
  program: string,
  logger: Pick<Logger, 'warn'>,
): Promise<Tracer | undefined> {
  const { OTEL_EXPORTER_OTLP_ENDPOINT: endpoint, OTEL_SDK_DISABLED: isDisabled } = settings;
  if (endpoint === undefined || isDisabled) return undefined;
  const { OpenTelemetry } = await import('./open-telemetry.js');
  const spans = new OpenTelemetry({ ...settings, endpoint }, program, logger);
  const listener = (message: unknown): void => {
    const span = currentSpan();
    // Only the client publishes on this channel. In a test, a process has several programs.
    if (span?.isSampled === true && spans.made(span)) recordCall(message as RequestReport, span);
  };
  subscribe(REQUEST_CHANNEL, listener);
  return {
    begin: (start) => spans.begin(start),
    end: () => {
      unsubscribe(REQUEST_CHANNEL, listener);
      return spans.end();
    },
  };
}

/** From this status on, an answer is an error. */
const REFUSED = 400;

/**
 * A span for a finished call, whatever number of requests it took. Source of the names: OpenTelemetry's semantic
 * conventions, HTTP client spans. The route's template stands for the address, which may name a customer.
 */
function recordCall(report: RequestReport, within: Span): void {
  const { method, route, origin, client, status, attempts, outcome, code, durationMs } = report;
  const endedAt = Date.now();
  const { hostname, port, protocol } = new URL(origin);
  const span = within.begin({
    name: `${method} ${route}`,
    kind: 'client',
    startedAt: endedAt - durationMs,
    attributes: {
      'http.request.method': method,
      'url.template': route,
      'url.full': `${origin}${route}`,
      'server.address': hostname,
      'server.port': port === '' ? (protocol === 'https:' ? 443 : 80) : Number(port),
      'http.response.status_code': status,
      'http.request.resend_count': attempts > 1 ? attempts - 1 : undefined,
      'tillflow.account': client,
      'tillflow.outcome': outcome,
    },
  });
  if (code !== undefined) span.fail(status !== undefined && status >= REFUSED ? String(status) : code);
  span.end(endedAt);
}
