import type { Headers } from '@temporalio/common';
import { proxySinks, workflowInfo, type WorkflowInterceptors } from '@temporalio/workflow';
import { traceparentIn, withTraceparent } from './trace-header.js';
import { spanIdOf, type TraceSinks, type WorkflowSpan } from './workflow-span.js';

const HEX = 16;
/** A flag of `traceparent`. */
const SAMPLED = 1;

/**
 * The traces of a workflow. It passes the trace of the newest message on to the calls that follow, and tells its worker
 * what each message caused. Without a trace in any header it does nothing. It issues no command, waits for nothing and
 * draws no random number, so histories replay with and without it.
 */
export function interceptors(): WorkflowInterceptors {
  const traced = new TracedWork();
  return {
    inbound: [
      {
        execute(input, next) {
          traced.begin(`RunWorkflow:${workflowInfo().workflowType}`, input.headers, true);
          return next(input);
        },
        handleSignal(input, next) {
          traced.begin(`HandleSignal:${input.signalName}`, input.headers);
          return next(input);
        },
        handleUpdate(input, next) {
          traced.begin(`HandleUpdate:${input.name}`, input.headers, false, input.updateId);
          return next(input);
        },
      },
    ],
    outbound: [
      {
        scheduleActivity: (input, next) => next({ ...input, headers: traced.passOn(input.headers) }),
        scheduleLocalActivity: (input, next) => next({ ...input, headers: traced.passOn(input.headers) }),
        startChildWorkflowExecution: (input, next) => next({ ...input, headers: traced.passOn(input.headers) }),
        signalWorkflow: (input, next) => next({ ...input, headers: traced.passOn(input.headers) }),
      },
    ],
    internals: [
      {
        activate(input, next) {
          for (const { resolveActivity: resolved } of input.activation.jobs ?? []) {
            if (resolved) traced.callEnded(resolved.seq);
          }
          next(input);
        },
        concludeActivation(input, next) {
          const output = next(input);
          for (const { scheduleActivity, scheduleLocalActivity } of output.commands) {
            const scheduled = scheduleActivity ?? scheduleLocalActivity;
            if (scheduled) traced.callBegan(scheduled.seq);
          }
          traced.endIfAtRest();
          return output;
        },
      },
    ],
  };
}

/**
 * What the messages of one run have caused and is not at rest yet. A workflow lives for a year, but its work after a
 * message ends within seconds: so no span stays open.
 */
class TracedWork {
  readonly #open: WorkflowSpan[] = [];
  /** The activities under way. */
  readonly #calls = new Set<unknown>();
  /** What the calls of the newest message get. */
  #traceparent: string | undefined;
  /** The same as a header, made once: most messages cause several calls. */
  #header: Headers | undefined;
  #start: string | undefined;

  /** @param distinction of messages that the same request may have sent */
  begin(name: string, headers: Headers, isStart = false, distinction = ''): void {
    const parent = traceparentIn(headers);
    // A message without a trace ends what the calls so far belong to.
    this.#traceparent = parent;
    this.#header = undefined;
    if (parent === undefined) return;
    const [version = '', traceId = '', sender = '', flags = ''] = parent.split('-');
    if ((Number.parseInt(flags, HEX) & SAMPLED) === 0) return;
    const spanId = spanIdOf(sender, `${workflowInfo().runId} ${name} ${distinction}`);
    this.#traceparent = [version, traceId, spanId, flags].join('-');
    if (isStart) this.#start = this.#traceparent;
    const link = isStart ? undefined : this.#start;
    this.#open.push({ name, parent, spanId, startedAt: Date.now(), ...(link === undefined ? {} : { link }) });
  }

  passOn(headers: Headers): Headers {
    if (this.#traceparent === undefined) return headers;
    this.#header ??= withTraceparent({}, this.#traceparent);
    return { ...headers, ...this.#header };
  }

  callBegan(seq: unknown): void {
    this.#calls.add(seq);
  }

  callEnded(seq: unknown): void {
    this.#calls.delete(seq);
  }

  /** Work that a timer begins later belongs to no message. */
  endIfAtRest(): void {
    if (this.#calls.size > 0) return;
    this.#traceparent = undefined;
    if (this.#open.length === 0) return;
    const { traces } = proxySinks<TraceSinks>();
    for (const span of this.#open.splice(0)) traces.ended(span);
  }
}
