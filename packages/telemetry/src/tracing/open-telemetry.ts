import {
  ROOT_CONTEXT,
  SpanKind,
  SpanStatusCode,
  trace,
  TraceFlags,
  type Context,
  type SpanContext,
} from '@opentelemetry/api';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http';
import { resourceFromAttributes } from '@opentelemetry/resources';
import {
  AlwaysOnSampler,
  BatchSpanProcessor,
  RandomIdGenerator,
  TracerProvider,
  type IdGenerator,
  type SpanExporter,
} from '@opentelemetry/sdk-trace';
import type { Logger } from 'pino';
import { errorType, INHERITED, type Attributes, type EntryStart, type Span, type SpanStart } from './span.js';
import type { TraceSettings } from './tracing.js';

/** Source: W3C Trace Context, version 00. */
const TRACEPARENT = /^00-(?!0{32})([0-9a-f]{32})-(?!0{16})([0-9a-f]{16})-([0-9a-f]{2})$/;

const KINDS = { server: SpanKind.SERVER, client: SpanKind.CLIENT, internal: SpanKind.INTERNAL } as const;

/** A program that stops waits this long for the export of its last spans. Milliseconds. */
const LAST_EXPORT_MS = 1_000;
/** The log has a line about lost spans at most this often. Milliseconds. */
const WARN_EVERY_MS = 60_000;

type OtelTracer = ReturnType<TracerProvider['getTracer']>;
type OtelSpan = ReturnType<OtelTracer['startSpan']>;

/** The only code that uses OpenTelemetry. A program imports it when traces are on. */
export class OpenTelemetry {
  readonly #ids = new GivenIds();
  readonly #isSampled: Sampling;
  readonly #provider: TracerProvider;
  readonly #tracer: OtelTracer;

  constructor(settings: TraceSettings & { readonly endpoint: string }, program: string, logger: Pick<Logger, 'warn'>) {
    const service = settings.OTEL_SERVICE_NAME ?? `tillflow-${program}`;
    const exporter = new OTLPTraceExporter({
      url: `${settings.endpoint}/v1/traces`,
      headers: settings.OTEL_EXPORTER_OTLP_HEADERS,
      timeoutMillis: settings.OTEL_EXPORTER_OTLP_TIMEOUT,
      // The type is not exported; its values are those of the setting.
      compression: settings.OTEL_EXPORTER_OTLP_COMPRESSION as never,
    });
    this.#isSampled = samplingOf(settings);
    this.#provider = new TracerProvider({
      sampler: new AlwaysOnSampler(),
      idGenerator: this.#ids,
      resource: resourceFromAttributes({ ...settings.OTEL_RESOURCE_ATTRIBUTES, 'service.name': service }),
      spanProcessors: [
        new BatchSpanProcessor({
          exporter: reporting(exporter, logger),
          scheduledDelayMillis: settings.OTEL_BSP_SCHEDULE_DELAY,
          exportTimeoutMillis: settings.OTEL_EXPORTER_OTLP_TIMEOUT,
          maxQueueSize: settings.OTEL_BSP_MAX_QUEUE_SIZE,
          maxExportBatchSize: Math.min(BATCH, settings.OTEL_BSP_MAX_QUEUE_SIZE),
        }),
      ],
    });
    this.#tracer = this.#provider.getTracer('tillflow');
  }

  /** A trace that is not exported makes no span of OpenTelemetry, so it costs little. */
  begin(start: EntryStart): Span {
    const parent = contextOf(start.parent);
    const traceId = parent?.traceId ?? this.#ids.generateTraceId();
    if (!this.#isSampled(traceId, parent))
      return new UnsampledSpan(traceId, start.spanId ?? parent?.spanId ?? this.#ids.generateSpanId());
    const link = contextOf(start.link);
    return this.#ids.with(traceId, start.spanId, () =>
      this.#start(start, parent, {}, link === undefined ? [] : [{ context: link }]),
    );
  }

  /** Whether the span is one of this program. */
  made(span: Span): boolean {
    return span instanceof TracedSpan && span.tracer === this.#tracer;
  }

  async end(): Promise<void> {
    let timer: NodeJS.Timeout | undefined;
    const over = new Promise<void>((resolve) => {
      timer = setTimeout(resolve, LAST_EXPORT_MS);
    });
    // A failed export is reported by then.
    await Promise.race([this.#provider.shutdown().catch(() => undefined), over]);
    clearTimeout(timer);
  }

  #start(
    { name, kind, attributes = {}, startedAt }: SpanStart,
    parent: SpanContext | undefined,
    inherited: Attributes,
    links: { readonly context: SpanContext }[] = [],
  ): Span {
    const startTime = startedAt === undefined ? {} : { startTime: startedAt };
    const span = this.#tracer.startSpan(name, { kind: KINDS[kind], links, ...startTime }, contextWith(parent));
    const begin = (start: SpanStart, passed: Attributes): Span => this.#start(start, span.spanContext(), passed);
    const traced = new TracedSpan(this.#tracer, span, begin);
    traced.set(inherited);
    traced.set(attributes);
    return traced;
  }
}

/** Has the ids that other programs and the log need. It stands for all spans within it, also in other programs. */
class UnsampledSpan implements Span {
  readonly isSampled = false;

  constructor(
    readonly traceId: string,
    readonly spanId: string,
  ) {}

  get traceparent(): string {
    return `00-${this.traceId}-${this.spanId}-00`;
  }

  begin(): Span {
    return this;
  }

  set(): void {}
  fail(): void {}
  end(): void {}
}

class TracedSpan implements Span {
  readonly traceId: string;
  readonly spanId: string;
  readonly isSampled = true;
  readonly #inherited: Record<string, string | number | boolean> = {};

  constructor(
    readonly tracer: OtelTracer,
    private readonly span: OtelSpan,
    private readonly beginWithin: (start: SpanStart, inherited: Attributes) => Span,
  ) {
    ({ traceId: this.traceId, spanId: this.spanId } = span.spanContext());
  }

  get traceparent(): string {
    return `00-${this.traceId}-${this.spanId}-01`;
  }

  begin(start: SpanStart): Span {
    return this.beginWithin(start, this.#inherited);
  }

  set(attributes: Attributes): void {
    for (const [name, value] of Object.entries(attributes)) {
      if (value === undefined) continue;
      this.span.setAttribute(name, value);
      if (INHERITED.has(name)) this.#inherited[name] = value;
    }
  }

  fail(type: string): void {
    this.span.setAttribute('error.type', errorType(type));
    this.span.setStatus({ code: SpanStatusCode.ERROR });
  }

  end(at?: number): void {
    this.span.end(at);
  }
}

/** Random ids, except for a span whose ids are given. */
class GivenIds implements IdGenerator {
  readonly #random = new RandomIdGenerator();
  #traceId: string | undefined;
  #spanId: string | undefined;

  readonly generateTraceId = (): string => this.#traceId ?? this.#random.generateTraceId();
  readonly generateSpanId = (): string => this.#spanId ?? this.#random.generateSpanId();

  with<T>(traceId: string, spanId: string | undefined, start: () => T): T {
    this.#traceId = traceId;
    this.#spanId = spanId;
    try {
      return start();
    } finally {
      this.#traceId = undefined;
      this.#spanId = undefined;
    }
  }
}

/** The most spans in one request. Source: OpenTelemetry's default. */
const BATCH = 512;

/** Whether a trace is exported. */
type Sampling = (traceId: string, parent: SpanContext | undefined) => boolean;

/**
 * The last hexadecimal digits of a trace's id are random, so they decide. API and worker decide the same. Source of the rule:
 * W3C Trace Context Level 2. A number is exact up to 13 digits.
 */
const RANDOM_DIGITS = 13;

function samplingOf({ OTEL_TRACES_SAMPLER: name, OTEL_TRACES_SAMPLER_ARG: share }: TraceSettings): Sampling {
  const root: (traceId: string) => boolean = name.endsWith('always_on')
    ? () => true
    : name.endsWith('always_off')
      ? () => false
      : (traceId) => Number.parseInt(traceId.slice(-RANDOM_DIGITS), 16) < share * 16 ** RANDOM_DIGITS;
  if (!name.startsWith('parentbased_')) return root;
  return (traceId, parent) => (parent === undefined ? root(traceId) : (parent.traceFlags & TraceFlags.SAMPLED) !== 0);
}

function contextOf(traceparent: string | undefined): SpanContext | undefined {
  const [, traceId, spanId, flags] = TRACEPARENT.exec(traceparent ?? '') ?? [];
  if (traceId === undefined || spanId === undefined || flags === undefined) return undefined;
  return { traceId, spanId, traceFlags: Number.parseInt(flags, 16) & TraceFlags.SAMPLED, isRemote: true };
}

function contextWith(parent: SpanContext | undefined): Context {
  return parent === undefined ? ROOT_CONTEXT : trace.setSpanContext(ROOT_CONTEXT, parent);
}

/** Logs that spans were lost, and why. Nothing else depends on it. */
function reporting(exporter: SpanExporter, logger: Pick<Logger, 'warn'>): SpanExporter {
  let warnedAt = Number.NEGATIVE_INFINITY;
  return {
    export(spans, done) {
      exporter.export(spans, (result) => {
        const now = performance.now();
        if (result.error !== undefined && now - warnedAt >= WARN_EVERY_MS) {
          warnedAt = now;
          logger.warn({ why: result.error.message, spans: spans.length }, 'spans were not exported');
        }
        done(result);
      });
    },
    forceFlush: () => exporter.forceFlush?.() ?? Promise.resolve(),
    shutdown: () => exporter.shutdown(),
  };
}
