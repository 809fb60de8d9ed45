import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { eventually } from './eventually.js';

/** A span as a trace store gets it. */
export type StoredSpan = {
  readonly service: string;
  readonly name: string;
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId: string | undefined;
  /** Of OTLP: 1 internal, 2 server, 3 client. */
  readonly kind: number;
  readonly attributes: Readonly<Record<string, string | number | boolean>>;
  readonly links: readonly { readonly traceId: string; readonly spanId: string }[];
  readonly hasFailed: boolean;
};

/** The part of OTLP's JSON that this reads. Source: opentelemetry-proto, `ExportTraceServiceRequest`. */
type Value = { readonly stringValue?: string; readonly intValue?: number | string; readonly boolValue?: boolean };
type Attributes = readonly { readonly key: string; readonly value: Value }[];
type Export = {
  readonly resourceSpans: readonly {
    readonly resource: { readonly attributes: Attributes };
    readonly scopeSpans: readonly {
      readonly spans: readonly (Omit<StoredSpan, 'attributes' | 'links' | 'hasFailed' | 'service'> & {
        readonly attributes: Attributes;
        readonly links?: StoredSpan['links'];
        readonly status: { readonly code?: number };
      })[];
    }[];
  }[];
};

const ERROR = 2;

/** Takes spans by OTLP over HTTP, as a collector or a trace store does. */
export class TraceStore {
  readonly spans: StoredSpan[] = [];
  /** Every export, as it arrived. */
  readonly bodies: string[] = [];
  readonly headers: IncomingMessage['headers'][] = [];
  /** While false, exports arrive and get no answer. */
  answers = true;
  readonly #server = createServer((request, response) => void this.#receive(request, response));

  static async start(): Promise<TraceStore> {
    const store = new TraceStore();
    store.#server.listen(0, '127.0.0.1');
    await once(store.#server, 'listening');
    return store;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  /** The settings of a program that exports every trace here, soon. */
  get settings(): Record<string, string> {
    return {
      OTEL_EXPORTER_OTLP_ENDPOINT: this.url,
      OTEL_TRACES_SAMPLER: 'parentbased_always_on',
      OTEL_BSP_SCHEDULE_DELAY: '20',
    };
  }

  /** Waits for a span. */
  until(matches: (span: StoredSpan) => boolean): Promise<StoredSpan> {
    return eventually(async () => {
      const found = this.spans.find(matches);
      if (found === undefined) throw new Error(`No such span among ${this.spans.map(({ name }) => name).join(', ')}`);
      return found;
    });
  }

  /** The spans from the first one of the trace to this one. Fails while one of them has not arrived. */
  pathTo(span: StoredSpan): Promise<StoredSpan[]> {
    return eventually(async () => {
      const path = [span];
      for (let parent = span.parentSpanId; parent !== undefined;) {
        const found = this.spans.find(({ traceId, spanId }) => traceId === span.traceId && spanId === parent);
        if (found === undefined) throw new Error(`The parent of ${path[0]?.name} has not arrived`);
        path.unshift(found);
        parent = found.parentSpanId;
      }
      return path;
    });
  }

  async #receive(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const body = await text(request);
    this.bodies.push(body);
    this.headers.push(request.headers);
    if (request.url === '/v1/traces') this.spans.push(...spansIn(JSON.parse(body) as Export));
    if (this.answers) response.writeHead(200, { 'content-type': 'application/json' }).end('{}');
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections();
    this.#server.close();
    await once(this.#server, 'close');
  }
}

function spansIn({ resourceSpans }: Export): StoredSpan[] {
  return resourceSpans.flatMap(({ resource, scopeSpans }) =>
    scopeSpans.flatMap(({ spans }) =>
      spans.map(({ attributes, links = [], status, parentSpanId, ...span }) =>
        Object.assign(span, {
          parentSpanId: parentSpanId === '' ? undefined : parentSpanId,
          service: String(valuesOf(resource.attributes)['service.name']),
          attributes: valuesOf(attributes),
          links,
          hasFailed: status.code === ERROR,
        }),
      ),
    ),
  );
}

function valuesOf(attributes: Attributes): StoredSpan['attributes'] {
  return Object.fromEntries(
    attributes.map(({ key, value: { stringValue, intValue, boolValue } }) => [
      key,
      stringValue ?? boolValue ?? Number(intValue),
    ]),
  );
}
