import { errors } from 'undici';
import type { z } from 'zod';
import { REQUEST_ID_HEADER } from './assumptions.js';
import type { Clock } from './clock.js';
import {
  ConnectionError,
  errorForStatus,
  IntegrityError,
  type Outcome,
  type PaymentsError,
  type PaymentsErrorDetails,
  RequestAbortedError,
  TimeoutError,
  UnexpectedResponseError,
} from './errors.js';
import { type Break, type Ending, type Head, header, type Lateness, MAX_RESPONSE_BYTES } from './exchange.js';
import { errorCode, type Redactor } from './redaction.js';
import { read } from './records.js';
import { toReferenceForm } from './reference-form.js';
import { retryAfter } from './retry.js';

export type Method = 'GET' | 'POST' | 'PATCH' | 'DELETE';

/** Which endpoint was called. `route` is the path's template, without ids. */
export interface Route {
  readonly method: Method;
  readonly route: string;
}

/** What a call asked, as far as its end is judged by it. */
export interface Question<T> extends Route {
  readonly schema: z.ZodType<T>;
  /** The fields of the request that a reply contradicts. */
  readonly contradictions: (reply: T) => readonly string[];
}

export interface Circumstances {
  /** The failure of the try before. If its outcome is unknown, no refusal of a later try can settle it. */
  readonly previous: PaymentsError | undefined;
  readonly clock: Pick<Clock, 'now'>;
  readonly redactor: Redactor;
}

/** What the end of a try means. `tryAgain` says that a retry is allowed, not that there is time for it. */
export type Verdict<T> =
  | { readonly reply: T; readonly status: number; readonly requestId: string | undefined }
  | { readonly failure: PaymentsError; readonly tryAgain: boolean };

const MAX_MESSAGE_CHARS = 500;

/** Errors after which another try would end the same. */
const HOPELESS = new Set(['UND_ERR_CLOSED', 'UND_ERR_DESTROYED', 'UND_ERR_INVALID_ARG']);

/** Decides what an ending means for the money, and whether it may be tried again. */
export function judge<T>(question: Question<T>, ending: Ending, around: Circumstances): Verdict<T> {
  if (ending.how === 'replied') {
    return isSuccess(ending.head)
      ? judgeSuccess(question, ending.head, ending.body, around)
      : judgeRefusal(question, ending.head, ending.body, around);
  }
  // A status other than success says what there is to know, even when the rest of the reply is lost.
  if (ending.head && !isSuccess(ending.head) && ending.how !== 'aborted') {
    return judgeRefusal(question, ending.head, '', around);
  }
  return judgeBreak(question, ending, around);
}

/** The failure of a call whose time ran out before it was sent, or before it was sent again. */
export function timeUp({ method, route }: Route, limit: Lateness, previous: PaymentsError | undefined): TimeoutError {
  const outcome = previous?.outcome ?? 'not_sent';
  const because = {
    timeout: 'no connection was free within timeoutMs',
    deadline_exceeded: previous ? 'deadlineMs leaves no time for another try' : 'deadlineMs passed before it was sent',
    send_by_passed: previous ? 'sendBy leaves no time for another try' : 'sendBy passed before it was sent',
  }[limit];
  return new TimeoutError(said({ method, route }, because, outcome), {
    code: limit,
    outcome,
    retryable: isSafeToRepeat(method, outcome),
    cause: previous,
  });
}

/** The failure of a call that its caller aborted while nothing of it was in flight. */
export function abortedWaiting(
  { method, route }: Route,
  reason: unknown,
  previous: PaymentsError | undefined,
): RequestAbortedError {
  const outcome = previous?.outcome ?? 'not_sent';
  return new RequestAbortedError(said({ method, route }, 'aborted by the caller', outcome), {
    code: 'aborted',
    outcome,
    retryable: false,
    cause: reason,
  });
}

function judgeSuccess<T>(question: Question<T>, head: Head, body: string, around: Circumstances): Verdict<T> {
  const json = readJson(body);
  if (json === UNREADABLE) return unbelievable(question, head, 'a body that is not JSON', around);

  const reading = read(question.schema, toReferenceForm(json, body));
  if ('issues' in reading) return unbelievable(question, head, `a body of another shape (${reading.issues})`, around);

  const fields = question.contradictions(reading.record);
  if (fields.length === 0) {
    return { reply: reading.record, status: head.status, requestId: requestId(head, around.redactor) };
  }
  const replyId = idOf(reading.record);
  const failure = new IntegrityError(
    around.redactor.text(
      said(question, `the reply ${replyId} differs from the request in ${fields.join(', ')}`, 'unknown'),
    ),
    {
      replyId: around.redactor.text(replyId),
      fields: fields.map((field) => around.redactor.text(field)),
      status: head.status,
      requestId: requestId(head, around.redactor),
    },
  );
  return { failure, tryAgain: false };
}

function idOf(record: unknown): string {
  return typeof record === 'object' && record !== null && 'id' in record ? String(record.id) : '';
}

/** A reply that says neither what was done nor that nothing was. Another try would most likely read the same, so none is made. */
function unbelievable<T>(
  question: Question<T>,
  head: Head | undefined,
  what: string,
  around: Circumstances,
): Verdict<T> {
  const message = said(question, `the provider answered ${head ? `${head.status} ` : ''}with ${what}`, 'unknown');
  const failure = new UnexpectedResponseError(brief(around.redactor.text(message)), {
    code: 'unexpected_response',
    outcome: 'unknown',
    retryable: false,
    status: head?.status,
    requestId: requestId(head, around.redactor),
  });
  return { failure, tryAgain: false };
}

/** Any status but success: 3xx is never followed, 4xx is a definite refusal, 5xx settles nothing. */
function judgeRefusal<T>(question: Question<T>, head: Head, body: string, around: Circumstances): Verdict<T> {
  const { method, route } = question;
  const { status } = head;
  const { redactor } = around;
  const told = readErrorBody(body);
  const isRefusal = status >= 400 && status < 500;
  const outcome: Outcome = isRefusal && around.previous?.outcome !== 'unknown' ? 'rejected' : 'unknown';
  const tryAgain = status === 429 ? isSafeToRepeat(method, outcome) : status >= 500 && method !== 'POST';
  const code = brief(redactor.text(told.code ?? `http_${status}`));
  const message = `${method} ${route}: ${status} ${code}${told.message === undefined ? '' : `: ${told.message}`}`;

  const failure = errorForStatus(brief(redactor.text(message)), {
    code,
    outcome,
    retryable: tryAgain,
    status,
    requestId: requestId(head, redactor),
    location: redactor.optional(told.location ?? header(head, 'location')),
    // Says why a definite refusal is still reported as unknown.
    cause: around.previous?.outcome === 'unknown' ? around.previous : undefined,
    retryAfterMs: retryAfter(head, around.clock.now()),
  });
  return { failure, tryAgain };
}

function judgeBreak<T>(question: Question<T>, ending: Break, around: Circumstances): Verdict<T> {
  switch (ending.how) {
    case 'aborted':
      return { failure: aborted(question, ending, around), tryAgain: false };
    case 'oversized':
      return unbelievable(question, ending.head, `more than ${MAX_RESPONSE_BYTES} bytes`, around);
    case 'timed_out':
    case 'too_late': {
      const failure = ending.sent ? noReply(question, ending, around) : timeUp(question, ending.limit, around.previous);
      return { failure, tryAgain: failure.retryable && ending.limit === 'timeout' };
    }
    default:
      return judgeConnection(question, ending, around);
  }
}

function judgeConnection<T>(
  question: Question<T>,
  ending: Break & { cause: unknown },
  around: Circumstances,
): Verdict<T> {
  const code = errorCode(ending.cause) ?? '';
  if (isProtocolViolation(ending.cause)) return unbelievable(question, ending.head, 'what is not HTTP', around);

  const cause = around.redactor.cause(ending.cause);
  const details = { ...breakDetails(question, ending, around), cause };
  if (code === 'UND_ERR_CONNECT_TIMEOUT') {
    const failure = new TimeoutError(said(question, 'no connection was made in time', details.outcome), {
      ...details,
      code: 'connect_timeout',
    });
    return { failure, tryAgain: details.retryable };
  }
  if (!ending.sent && HOPELESS.has(code)) {
    const failure = new ConnectionError(said(question, `it cannot be sent (${cause.message})`, details.outcome), {
      ...details,
      code: code === 'UND_ERR_INVALID_ARG' ? 'cannot_be_sent' : 'client_closed',
      retryable: false,
    });
    return { failure, tryAgain: false };
  }
  const what = ending.sent ? 'the connection broke' : 'no connection could be made';
  const failure = new ConnectionError(said(question, `${what} (${cause.message})`, details.outcome), {
    ...details,
    code: ending.sent ? 'connection_lost' : 'connection_failed',
  });
  return { failure, tryAgain: details.retryable };
}

function aborted<T>(
  question: Question<T>,
  ending: Break & { cause: unknown },
  around: Circumstances,
): RequestAbortedError {
  const details = breakDetails(question, ending, around);
  return new RequestAbortedError(said(question, 'aborted by the caller', details.outcome), {
    ...details,
    code: 'aborted',
    retryable: false,
    cause: ending.cause,
  });
}

function noReply<T>(question: Question<T>, ending: Break & { limit: Lateness }, around: Circumstances): TimeoutError {
  const details = breakDetails(question, ending, around);
  const limit = ending.limit === 'timeout' ? 'timeoutMs' : 'deadlineMs';
  return new TimeoutError(said(question, `no complete reply within ${limit}`, details.outcome), {
    ...details,
    code: ending.limit,
    cause: around.previous,
  });
}

function breakDetails<T>(
  { method }: Question<T>,
  { sent, head }: Break,
  { previous, redactor }: Circumstances,
): Omit<PaymentsErrorDetails, 'code'> {
  const outcome = sent ? 'unknown' : (previous?.outcome ?? 'not_sent');
  return {
    outcome,
    retryable: isSafeToRepeat(method, outcome),
    status: head?.status,
    requestId: requestId(head, redactor),
  };
}

/** Only a repeated POST can do something twice: on the other methods a repetition ends in the same state. */
function isSafeToRepeat(method: Method, outcome: Outcome): boolean {
  return method !== 'POST' || outcome !== 'unknown';
}

function isSuccess(head: Head): boolean {
  return head.status >= 200 && head.status < 300;
}

/** True when the peer sent something other than HTTP. A reply that merely ends early is a broken connection. */
function isProtocolViolation(cause: unknown): boolean {
  if (cause instanceof errors.HeadersOverflowError) return true;
  // undici gives its parser's errors no usable code; this message is llhttp's for an early end.
  return cause instanceof errors.HTTPParserError && !cause.message.includes('EOF');
}

const CONSEQUENCE: Record<Outcome, string> = {
  not_sent: 'Nothing was sent.',
  rejected: 'The provider refused it; it had no effect.',
  unknown: 'It may have had its effect: look before repeating it.',
};

function said({ method, route }: Route, what: string, outcome: Outcome): string {
  const consequence = method === 'GET' && outcome === 'unknown' ? 'It changed nothing.' : CONSEQUENCE[outcome];
  return `${method} ${route}: ${what}. ${consequence}`;
}

const UNREADABLE = Symbol('not JSON');

function readJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return UNREADABLE;
  }
}

/** assumption: `{ object: "error", location, code, message }`; anything else yields nothing. */
function readErrorBody(text: string): { code?: string; message?: string; location?: string } {
  const json = readJson(text);
  if (typeof json !== 'object' || json === null) return {};
  return {
    ...('code' in json && typeof json.code === 'string' && json.code !== '' && { code: json.code }),
    ...('message' in json && typeof json.message === 'string' && { message: json.message }),
    ...('location' in json && typeof json.location === 'string' && { location: json.location }),
  };
}

function requestId(head: Head | undefined, redactor: Redactor): string | undefined {
  return redactor.optional(header(head, REQUEST_ID_HEADER));
}

function brief(text: string): string {
  return text.length > MAX_MESSAGE_CHARS ? `${text.slice(0, MAX_MESSAGE_CHARS)}…` : text;
}
