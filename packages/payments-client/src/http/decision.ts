import { errors } from 'undici';
import { errorForStatus, type Outcome, type PaymentsError } from '../errors.js';
import { type Body, parseBody } from '../reply/body.js';
import { normalizeReply } from '../reply/normalize.js';
import { readRecord } from '../reply/records.js';
import type { Operation } from '../request/request.js';
import { type AttemptResult, type FailedAttempt, header, MAX_RESPONSE_BYTES, type ResponseHead } from './attempt.js';
import type { Clock } from './deadline.js';
import {
  abortedByCaller,
  type CallState,
  connectionFailure,
  contradictoryReply,
  deadlinePassed,
  noReply,
  requestIdOf,
  shorten,
  unexpectedResponse,
} from './failures.js';
import type { Redactor } from './redaction.js';
import { isSafeToRepeat, retryAfter } from './retry-policy.js';

export interface DecisionContext {
  /** The failure of the attempt before. If its outcome is unknown, a refusal of a later attempt cannot settle it. */
  readonly previous: PaymentsError | undefined;
  readonly clock: Pick<Clock, 'now'>;
  readonly redactor: Redactor;
}

/** The decision about an attempt. `tryAgain`: another attempt is allowed; the caller checks whether time is left. */
export type Decision<T> =
  | { readonly reply: T; readonly status: number; readonly requestId: string | undefined }
  | { readonly failure: PaymentsError; readonly tryAgain: boolean };

/** Decides what an attempt means for the money, and whether it may be repeated. */
export function decide<T>(operation: Operation<T>, result: AttemptResult, context: DecisionContext): Decision<T> {
  if (result.kind === 'replied') {
    return isSuccess(result.head)
      ? decideSuccess(operation, result.head, result.body, context.redactor)
      : decideRefusal(operation, result.head, result.body, context);
  }
  // A status other than success is an answer, even when the rest of the reply is lost.
  if (result.head && !isSuccess(result.head) && result.kind !== 'aborted') {
    return decideRefusal(operation, result.head, [], context);
  }
  return decideFailedAttempt(operation, result, context);
}

/** A reply that fails a check is not requested again: the next one would most likely be the same. */
function decideSuccess<T>(operation: Operation<T>, head: ResponseHead, body: Body, redactor: Redactor): Decision<T> {
  const json = parseJson(body);
  if (json === NOT_JSON) return final(unexpectedResponse(operation, head, 'a body that is not JSON', redactor));

  const reading = readRecord(operation.schema, normalizeReply(json, body));
  if ('issues' in reading) {
    const what = `a body that does not have the documented shape (${reading.issues})`;
    return final(unexpectedResponse(operation, head, what, redactor));
  }
  const fields = operation.contradictions(reading.record);
  if (fields.length > 0) {
    return final(contradictoryReply(operation, head, idOf(reading.record), fields, redactor));
  }
  return { reply: reading.record, status: head.status, requestId: requestIdOf(head, redactor) };
}

function idOf(record: unknown): string {
  return typeof record === 'object' && record !== null && 'id' in record ? String(record.id) : '';
}

/** Any status but success: 3xx is never followed, 4xx is a definite refusal, 5xx settles nothing. */
function decideRefusal<T>(
  { method, route }: Operation<T>,
  head: ResponseHead,
  body: Body,
  { previous, clock, redactor }: DecisionContext,
): Decision<T> {
  const { status } = head;
  const error = parseErrorBody(body);
  const isRefused = status >= 400 && status < 500;
  const outcome: Outcome = isRefused && previous?.outcome !== 'unknown' ? 'rejected' : 'unknown';
  const tryAgain = status === 429 ? isSafeToRepeat(method, outcome) : status >= 500 && method !== 'POST';
  const code = shorten(redactor.text(error.code ?? `http_${status}`));
  const message = `${method} ${route}: ${status} ${code}${error.message === undefined ? '' : `: ${error.message}`}`;

  const failure = errorForStatus(shorten(redactor.text(message)), {
    code,
    outcome,
    retryable: tryAgain,
    status,
    requestId: requestIdOf(head, redactor),
    location: redactor.optional(error.location ?? header(head, 'location')),
    // The reason why a definite refusal is reported as unknown.
    cause: previous?.outcome === 'unknown' ? previous : undefined,
    retryAfterMs: retryAfter(head, clock.now()),
  });
  return { failure, tryAgain };
}

function decideFailedAttempt<T>(
  operation: Operation<T>,
  attempt: FailedAttempt,
  { previous, redactor }: DecisionContext,
): Decision<T> {
  const { sent, head } = attempt;
  const outcome = sent ? 'unknown' : (previous?.outcome ?? 'not_sent');
  const state: CallState = {
    outcome,
    retryable: isSafeToRepeat(operation.method, outcome),
    status: head?.status,
    requestId: requestIdOf(head, redactor),
  };
  switch (attempt.kind) {
    case 'aborted':
      return final(abortedByCaller(operation, attempt.cause, previous, state));
    case 'oversized':
      return final(unexpectedResponse(operation, head, `more than ${MAX_RESPONSE_BYTES} bytes`, redactor));
    case 'timed_out':
    case 'too_late': {
      const failure = sent
        ? noReply(operation, attempt.deadline, state, previous)
        : deadlinePassed(operation, attempt.deadline, previous);
      return { failure, tryAgain: failure.retryable && attempt.deadline === 'timeout' };
    }
    default: {
      if (isProtocolViolation(attempt.cause)) {
        return final(unexpectedResponse(operation, head, 'a reply that is not HTTP', redactor));
      }
      const failure = connectionFailure(operation, attempt.cause, sent, state, redactor);
      return { failure, tryAgain: failure.retryable };
    }
  }
}

function final<T>(failure: PaymentsError): Decision<T> {
  return { failure, tryAgain: false };
}

function isSuccess(head: ResponseHead): boolean {
  return head.status >= 200 && head.status < 300;
}

/** True when the peer sent something other than HTTP. A reply that merely ends early is a broken connection. */
function isProtocolViolation(cause: unknown): boolean {
  if (cause instanceof errors.HeadersOverflowError) return true;
  // undici gives its parser's errors no usable code. This is the parser's message for an early end.
  return cause instanceof errors.HTTPParserError && !cause.message.includes('EOF');
}

const NOT_JSON = Symbol('not JSON');

function parseJson(body: Body): unknown {
  try {
    return parseBody(body);
  } catch {
    return NOT_JSON;
  }
}

/** assumption: `{ object: "error", location, code, message }`. Any other body gives no field. */
function parseErrorBody(body: Body): { code?: string; message?: string; location?: string } {
  const json = parseJson(body);
  if (typeof json !== 'object' || json === null) return {};
  return {
    ...('code' in json && typeof json.code === 'string' && json.code !== '' && { code: json.code }),
    ...('message' in json && typeof json.message === 'string' && { message: json.message }),
    ...('location' in json && typeof json.location === 'string' && { location: json.location }),
  };
}
