import { defaultPayloadConverter, type Headers } from '@temporalio/common';

/**
 * The header of a workflow's start, of a signal, an update and an activity that names the span which caused it. It has
 * the name and the form that Temporal's own OpenTelemetry packages use. Temporal's library does not encrypt headers, so
 * it contains nothing but random ids.
 */
const TRACE_HEADER = '_tracer-data';

/** Source: W3C Trace Context, version 00. */
const TRACEPARENT = /^00-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}$/;

/** @returns these headers with the `traceparent` in them */
export function withTraceparent(headers: Headers, traceparent: string): Headers {
  return { ...headers, [TRACE_HEADER]: defaultPayloadConverter.toPayload({ traceparent }) };
}

/** The `traceparent` in these headers; undefined when they have none, or something else. */
export function traceparentIn(headers: Headers): string | undefined {
  const payload = headers[TRACE_HEADER];
  if (payload === undefined) return undefined;
  try {
    const { traceparent } = defaultPayloadConverter.fromPayload<{ readonly traceparent?: unknown }>(payload);
    return typeof traceparent === 'string' && TRACEPARENT.test(traceparent) ? traceparent : undefined;
  } catch {
    // Any client may send any header. It must not stop a workflow.
    return undefined;
  }
}
