import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { readSettings } from './settings.js';
import { traceSettings } from './trace-settings.js';

const read = (environment: Record<string, string>) => readSettings(z.object(traceSettings), environment);

describe('the settings of traces', () => {
  it('turn traces off, and otherwise export a fiftieth of them', () => {
    expect(read({})).toMatchObject({
      OTEL_TRACES_SAMPLER: 'parentbased_traceidratio',
      OTEL_TRACES_SAMPLER_ARG: 0.02,
      OTEL_SDK_DISABLED: false,
    });
    expect(read({}).OTEL_EXPORTER_OTLP_ENDPOINT).toBeUndefined();
  });

  it('are those of OpenTelemetry', () => {
    expect(
      read({
        OTEL_EXPORTER_OTLP_ENDPOINT: 'https://traces.example/otlp/',
        OTEL_EXPORTER_OTLP_HEADERS: 'authorization=Basic%20YTpi, x-scope = shop',
        OTEL_TRACES_SAMPLER_ARG: '0.25',
        OTEL_RESOURCE_ATTRIBUTES: 'deployment.environment.name=staging',
      }),
    ).toMatchObject({
      OTEL_EXPORTER_OTLP_ENDPOINT: 'https://traces.example/otlp',
      OTEL_EXPORTER_OTLP_HEADERS: { authorization: 'Basic YTpi', 'x-scope': 'shop' },
      OTEL_TRACES_SAMPLER_ARG: 0.25,
      OTEL_RESOURCE_ATTRIBUTES: { 'deployment.environment.name': 'staging' },
    });
  });

  it.each([
    ['OTEL_EXPORTER_OTLP_ENDPOINT', 'traces.example:4318'],
    ['OTEL_EXPORTER_OTLP_ENDPOINT', 'grpc://traces.example:4317'],
    ['OTEL_EXPORTER_OTLP_ENDPOINT', 'https://user:secret@traces.example'],
    ['OTEL_EXPORTER_OTLP_ENDPOINT', 'https://traces.example?token=secret'],
    ['OTEL_EXPORTER_OTLP_HEADERS', 'secret'],
    ['OTEL_EXPORTER_OTLP_HEADERS', 'authorization=secret%'],
    ['OTEL_EXPORTER_OTLP_PROTOCOL', 'grpc'],
    ['OTEL_TRACES_SAMPLER', 'jaeger_remote'],
    ['OTEL_TRACES_SAMPLER_ARG', '1.5'],
    ['OTEL_TRACES_SAMPLER_ARG', '-0.1'],
    ['OTEL_TRACES_SAMPLER_ARG', 'half'],
    ['OTEL_BSP_MAX_QUEUE_SIZE', '0'],
    ['OTEL_SDK_DISABLED', 'yes'],
  ])('refuse %s=%s, without the value in the message', (name, value) => {
    const refused = () => read({ [name]: value });
    expect(refused).toThrow(name);
    expect(refused).not.toThrow('secret');
  });
});
