import { ROOT_CONTEXT, SpanKind, SpanStatusCode, trace, TraceFlags, type SpanContext } from '@opentelemetry/api';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http';
import { resourceFromAttributes } from '@opentelemetry/resources';
import {
  AlwaysOffSampler,
  AlwaysOnSampler,
  BatchSpanProcessor,
  ParentBasedSampler,
  RandomIdGenerator,
  TraceIdRatioBasedSampler,
  TracerProvider,
  type IdGenerator,
  type Sampler,
  type SpanExporter,
} from '@opentelemetry/sdk-trace';
import type { Logger } from 'pino';
import { INHERITED, type Attributes, type EntryStart, type Span, type SpanStart } from './span.js';
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
    this.#provider = new TracerProvider({
      sampler: samplerOf(settings),
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

  begin(start: EntryStart): Span {
    const links = [contextOf(start.link)].flatMap((context) => (context === undefined ? [] : [{ context }]));
    return this.#ids.with(start.spanId, () => this.#start(start, contextOf(start.parent), {}, links));
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
    links: readonly { readonly context: SpanContext }[] = [],
  ): Span {
    const context = parent === undefined ? ROOT_CONTEXT : trace.setSpanContext(ROOT_CONTEXT, parent);
    const span = this.#tracer.startSpan(
      name,
      {
        kind: KINDS[kind],
        links: [...links],
        ...(startedAt === undefined ? {} : { startTime: startedAt }),
      },
      context,
    );
    const begin = (within: SpanStart, passed: Attributes): Span => this.#start(within, span.spanContext(), passed);
    const traced = new TracedSpan(this.#tracer, span, begin);
    // No sampler looks at them.
    traced.set({ ...inherited, ...attributes });
    return traced;
  }
}

class TracedSpan implements Span {
  readonly traceId: string;
  readonly spanId: string;
  readonly isSampled: boolean;
  #inherited: Attributes = {};

  constructor(
    readonly tracer: OtelTracer,
    private readonly span: OtelSpan,
    private readonly beginWithin: (start: SpanStart, inherited: Attributes) => Span,
  ) {
    ({ traceId: this.traceId, spanId: this.spanId } = span.spanContext());
    this.isSampled = span.isRecording();
  }

  get traceparent(): string {
    return `00-${this.traceId}-${this.spanId}-0${this.isSampled ? 1 : 0}`;
  }

  /** A span that is not sampled stands for those within it, too: they would not be sampled either. */
  begin(start: SpanStart): Span {
    return this.isSampled ? this.beginWithin(start, this.#inherited) : this;
  }

  set(attributes: Attributes): void {
    if (!this.isSampled) return;
    this.#inherited = { ...this.#inherited, ...passedOn(attributes) };
    this.span.setAttributes(known(attributes));
  }

  fail(type: string): void {
    // The provider chooses its codes.
    this.span.setAttribute('error.type', /^[\w.:-]{1,64}$/.test(type) ? type : '_OTHER');
    this.span.setStatus({ code: SpanStatusCode.ERROR });
  }

  end(at?: number): void {
    this.span.end(at);
  }
}

/** Random ids, except for a span whose id is given. */
class GivenIds implements IdGenerator {
  readonly #random = new RandomIdGenerator();
  #given: string | undefined;

  readonly generateTraceId = (): string => this.#random.generateTraceId();
  readonly generateSpanId = (): string => this.#given ?? this.#random.generateSpanId();

  with<T>(id: string | undefined, start: () => T): T {
    this.#given = id;
    try {
      return start();
    } finally {
      this.#given = undefined;
    }
  }
}

/** The most spans in one request. Source: OpenTelemetry's default. */
const BATCH = 512;

function samplerOf({ OTEL_TRACES_SAMPLER: name, OTEL_TRACES_SAMPLER_ARG: share }: TraceSettings): Sampler {
  const basedOnParent = (root: Sampler): Sampler => new ParentBasedSampler({ root });
  switch (name) {
    case 'always_on':
      return new AlwaysOnSampler();
    case 'always_off':
      return new AlwaysOffSampler();
    case 'traceidratio':
      return new TraceIdRatioBasedSampler(share);
    case 'parentbased_always_on':
      return basedOnParent(new AlwaysOnSampler());
    case 'parentbased_always_off':
      return basedOnParent(new AlwaysOffSampler());
    case 'parentbased_traceidratio':
      return basedOnParent(new TraceIdRatioBasedSampler(share));
  }
}

function contextOf(traceparent: string | undefined): SpanContext | undefined {
  const [, traceId, spanId, flags] = TRACEPARENT.exec(traceparent ?? '') ?? [];
  if (traceId === undefined || spanId === undefined || flags === undefined) return undefined;
  return { traceId, spanId, traceFlags: Number.parseInt(flags, 16) & TraceFlags.SAMPLED, isRemote: true };
}

function known(attributes: Attributes): Record<string, string | number | boolean> {
  return Object.fromEntries(
    Object.entries(attributes).flatMap(([name, value]) => (value === undefined ? [] : [[name, value]])),
  );
}

function passedOn(attributes: Attributes): Attributes {
  return Object.fromEntries(Object.entries(attributes).filter(([name]) => INHERITED.has(name)));
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
