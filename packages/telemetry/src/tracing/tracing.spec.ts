import { describe, expect, it } from 'vitest';
import { currentSpan, ending, enterSpan, errorType, inSpan, type Tracer } from './span.js';
import { openTracer, type TraceSettings } from './tracing.js';

const SETTINGS: TraceSettings = {
  // The discard port: nothing is exported.
  OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:9',
  OTEL_EXPORTER_OTLP_HEADERS: {},
  OTEL_EXPORTER_OTLP_TIMEOUT: 100,
  OTEL_EXPORTER_OTLP_COMPRESSION: 'none',
  OTEL_TRACES_SAMPLER: 'parentbased_traceidratio',
  OTEL_TRACES_SAMPLER_ARG: 0.1,
  OTEL_RESOURCE_ATTRIBUTES: {},
  OTEL_BSP_SCHEDULE_DELAY: 5_000,
  OTEL_BSP_MAX_QUEUE_SIZE: 10,
  OTEL_SDK_DISABLED: false,
};
const LOGGER = { warn: () => undefined };
const TRACE = '4bf92f3577b34da6a3ce929d0e0e4736';
const parentOf = (flags: '00' | '01'): string => `00-${TRACE}-00f067aa0ba902b7-${flags}`;

/** Runs with the traces of a program that has these settings. */
async function withTracer(settings: Partial<TraceSettings>, run: (tracer: Tracer) => unknown): Promise<void> {
  const tracer = await openTracer({ ...SETTINGS, ...settings }, 'test', LOGGER);
  if (tracer === undefined) throw new Error('Traces are off');
  try {
    await run(tracer);
  } finally {
    await tracer.end();
  }
}

describe('traces', () => {
  it('are off without an endpoint, and when they are disabled', async () => {
    const off = { ...SETTINGS, OTEL_EXPORTER_OTLP_ENDPOINT: undefined };
    expect(await openTracer(off, 'test', LOGGER)).toBeUndefined();
    expect(await openTracer({ ...SETTINGS, OTEL_SDK_DISABLED: true }, 'test', LOGGER)).toBeUndefined();
  });

  it('are off in work that has no span: the work runs, and gets none', async () => {
    expect(await inSpan({ name: 'work', kind: 'client' }, (span) => Promise.resolve(span))).toBeUndefined();
  });
});

describe('a sampler', () => {
  const sampledOf = (settings: Partial<TraceSettings>, parent?: string): Promise<number> =>
    new Promise((resolve, reject) => {
      withTracer(settings, (tracer) => {
        const spans = Array.from({ length: 1_000 }, () => tracer.begin({ name: 'work', kind: 'server', parent }));
        resolve(spans.filter(({ isSampled }) => isSampled).length);
      }).catch(reject);
    });

  it.each([
    ['always_on', 1_000, 1_000],
    ['always_off', 0, 0],
    ['parentbased_always_on', 1_000, 1_000],
    ['parentbased_always_off', 0, 0],
  ] as const)('%s takes its share of new traces', async (OTEL_TRACES_SAMPLER, least, most) => {
    const sampled = await sampledOf({ OTEL_TRACES_SAMPLER });
    expect(sampled).toBeGreaterThanOrEqual(least);
    expect(sampled).toBeLessThanOrEqual(most);
  });

  it.each(['traceidratio', 'parentbased_traceidratio'] as const)(
    '%s takes about the share of new traces that is set',
    async (OTEL_TRACES_SAMPLER) => {
      const sampled = await sampledOf({ OTEL_TRACES_SAMPLER, OTEL_TRACES_SAMPLER_ARG: 0.3 });
      // Nine standard deviations.
      expect(Math.abs(sampled - 300)).toBeLessThan(131);
    },
  );

  it('that is based on the parent follows it', async () => {
    expect(await sampledOf({ OTEL_TRACES_SAMPLER_ARG: 0 }, parentOf('01'))).toBe(1_000);
    expect(await sampledOf({ OTEL_TRACES_SAMPLER_ARG: 1 }, parentOf('00'))).toBe(0);
  });
});

describe('the type of a failure in a span', () => {
  it.each([
    'failed_refund',
    'http_503',
    '503',
    'ECONNREFUSED',
    'ERR_HTTP2_ERROR',
    'Error',
    'TypeError',
    'ActivityFailure',
  ])('can be %s', (type) => {
    expect(errorType(type)).toBe(type);
  });

  it.each(['Somchai', 'somchai@example.com', '0812345678', 'card_4242424242424242', 'two words', '', 'a'.repeat(65)])(
    'is _OTHER in place of %j',
    (type) => {
      expect(errorType(type)).toBe('_OTHER');
    },
  );
});

describe('a span', () => {
  it('continues the trace of its parent, and begins one without a valid parent', async () => {
    await withTracer({}, (tracer) => {
      const traceOf = (parent: string | undefined) => tracer.begin({ name: 'work', kind: 'server', parent }).traceId;
      expect(traceOf(parentOf('01'))).toBe(TRACE);
      for (const parent of [
        undefined,
        '',
        'x',
        parentOf('01').toUpperCase(),
        `00-${'0'.repeat(32)}-00f067aa0ba902b7-01`,
      ])
        expect(traceOf(parent)).not.toBe(TRACE);
    });
  });

  it('that is not sampled passes on the ids of its parent, and stands for the spans within it', async () => {
    await withTracer({}, async (tracer) => {
      const span = tracer.begin({ name: 'work', kind: 'server', parent: parentOf('00') });
      expect(span.traceparent).toBe(parentOf('00'));
      const within = () => inSpan({ name: 'call', kind: 'client' }, (call) => Promise.resolve(call));
      expect(await enterSpan(span, within)).toBe(span);
    });
  });

  it('has the id that it is given, and the next one another', async () => {
    await withTracer({}, (tracer) => {
      const given = { name: 'work', kind: 'internal', spanId: '00f067aa0ba902b9' } as const;
      expect(tracer.begin(given).traceparent).toMatch(/^00-[0-9a-f]{32}-00f067aa0ba902b9-0[01]$/);
      expect(tracer.begin({ name: 'work', kind: 'internal' }).spanId).not.toBe(given.spanId);
    });
  });

  it('is the current one in the work that it covers, and its calls are within it', async () => {
    await withTracer({ OTEL_TRACES_SAMPLER: 'always_on' }, async (tracer) => {
      const span = tracer.begin({ name: 'work', kind: 'server' });
      const call = await enterSpan(span, async () => {
        await Promise.resolve();
        expect(currentSpan()).toBe(span);
        return inSpan({ name: 'call', kind: 'client' }, (within) => Promise.resolve(within?.traceparent));
      });
      expect(currentSpan()).toBeUndefined();
      expect(call).toContain(span.traceId);
      expect(call).not.toContain(span.spanId);
    });
  });

  it('shows the type of a failure, and never its message', async () => {
    await withTracer({ OTEL_TRACES_SAMPLER: 'always_on' }, async (tracer) => {
      const failures: string[] = [];
      const span = {
        ...tracer.begin({ name: 'work', kind: 'server' }),
        fail: (type: string) => void failures.push(type),
        end: () => undefined,
      };
      for (const error of [
        new TypeError('Somchai'),
        Object.assign(new Error('Somchai'), { code: 'not_found' }),
        'Somchai',
      ])
        await expect(ending(span, () => Promise.reject(error as Error))).rejects.toBe(error);
      expect(failures).toEqual(['TypeError', 'not_found', 'string']);
    });
  });
});
