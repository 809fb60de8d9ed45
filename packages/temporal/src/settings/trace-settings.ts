import { z } from 'zod';
import { flag, integer } from './settings.js';

/** The share of traces that is exported by default. */
const DEFAULT_SHARE = 0.02;

/** `name=value`, comma-separated, values percent-encoded. Source: W3C Baggage, as OpenTelemetry's settings use it. */
function pairs(): z.ZodType<Readonly<Record<string, string>>> {
  return z
    .string()
    .default('')
    .transform((text, context) => {
      const entries = text.split(',').filter((entry) => entry.trim() !== '');
      return Object.fromEntries(
        entries.flatMap((entry, index) => {
          const [, name, value] = /^\s*([^\s=]+)\s*=(.*)$/.exec(entry) ?? [];
          const decoded = value === undefined ? undefined : decodedOf(value.trim());
          if (name !== undefined && decoded !== undefined) return [[name, decoded]];
          context.addIssue(`entry ${index + 1} must be name=value, the value percent-encoded`);
          return [];
        }),
      );
    });
}

function decodedOf(text: string): string | undefined {
  try {
    return decodeURIComponent(text);
  } catch {
    return undefined;
  }
}

/**
 * The traces of API and worker. Names and meanings are OpenTelemetry's own. Source: its specification, "Environment
 * Variable Specification" and "OTLP Exporter".
 */
export const traceSettings = {
  /** Where spans go: the address of a collector or a trace store, to which `/v1/traces` is added. Unset: no traces. */
  OTEL_EXPORTER_OTLP_ENDPOINT: z
    .url({ protocol: /^https?$/, error: 'must be an http(s) address' })
    .refine((url) => {
      const { search, hash, username, password } = new URL(url);
      return [search, hash, username, password].every((part) => part === '');
    }, 'must have no query, fragment or credentials: use OTEL_EXPORTER_OTLP_HEADERS')
    .transform((url) => url.replace(/\/+$/, ''))
    .optional(),
  /** Sent with each export, such as an authorization. */
  OTEL_EXPORTER_OTLP_HEADERS: pairs(),
  OTEL_EXPORTER_OTLP_TIMEOUT: integer(10_000, 100, 600_000),
  OTEL_EXPORTER_OTLP_COMPRESSION: z.enum(['none', 'gzip']).default('none'),
  /** Only this protocol is supported. */
  OTEL_EXPORTER_OTLP_PROTOCOL: z.literal('http/json').default('http/json'),
  OTEL_TRACES_SAMPLER: z
    .enum([
      'always_on',
      'always_off',
      'traceidratio',
      'parentbased_always_on',
      'parentbased_always_off',
      'parentbased_traceidratio',
    ])
    .default('parentbased_traceidratio'),
  /** The share of traces that the two `traceidratio` samplers export. */
  OTEL_TRACES_SAMPLER_ARG: z
    .string()
    .regex(/^(0(\.\d+)?|1(\.0+)?)$/, 'must be from 0 to 1, such as 0.02')
    .transform(Number)
    .default(DEFAULT_SHARE),
  /** Unset: `tillflow-api` and `tillflow-worker`. */
  OTEL_SERVICE_NAME: z.string().optional(),
  OTEL_RESOURCE_ATTRIBUTES: pairs(),
  /** The longest time that a span waits for its export. */
  OTEL_BSP_SCHEDULE_DELAY: integer(5_000, 10, 600_000),
  /** How many spans may wait. Further ones are lost. */
  OTEL_BSP_MAX_QUEUE_SIZE: integer(2_048, 1, 1_000_000),
  /** Turns traces off, although there is an endpoint. */
  OTEL_SDK_DISABLED: flag(false),
};
