import { REQUEST_ID_HEADER } from '../assumptions.js';
import {
  ConnectionError,
  IntegrityError,
  type Outcome,
  type PaymentsError,
  type PaymentsErrorDetails,
  RequestAbortedError,
  TimeoutError,
  UnexpectedResponseError,
} from '../errors.js';
import type { Route } from '../request/request.js';
import { header, type ResponseHead } from './attempt.js';
import type { DeadlineKind } from './deadline.js';
import { errorCode, type Redactor } from './redaction.js';
import { isSafeToRepeat } from './retry-policy.js';

const MAX_MESSAGE_CHARS = 500;

const CONSEQUENCE: Record<Outcome, string> = {
  not_sent: 'Nothing was sent.',
  rejected: 'The provider refused it, so it had no effect.',
  unknown: 'The outcome is unknown: look the record up before you repeat the request.',
};

/** The endpoint, what happened, and what that means for the money. */
function messageOf({ method, route }: Route, event: string, outcome: Outcome): string {
  const consequence = method === 'GET' && outcome === 'unknown' ? 'A GET changes nothing.' : CONSEQUENCE[outcome];
  return `${method} ${route}: ${event}. ${consequence}`;
}

export function shorten(text: string): string {
  return text.length > MAX_MESSAGE_CHARS ? `${text.slice(0, MAX_MESSAGE_CHARS)}…` : text;
}

export function requestIdOf(head: ResponseHead | undefined, redactor: Redactor): string | undefined {
  return redactor.optional(header(head, REQUEST_ID_HEADER));
}

/** A reply that proves neither success nor failure. */
export function unexpectedResponse(
  route: Route,
  head: ResponseHead | undefined,
  content: string,
  redactor: Redactor,
): UnexpectedResponseError {
  const event = `the provider answered ${head ? `${head.status} ` : ''}with ${content}`;
  return new UnexpectedResponseError(shorten(redactor.text(messageOf(route, event, 'unknown'))), {
    code: 'unexpected_response',
    outcome: 'unknown',
    retryable: false,
    status: head?.status,
    requestId: requestIdOf(head, redactor),
  });
}

/** A success that differs from the request in `fields`. */
export function contradictoryReply(
  route: Route,
  head: ResponseHead,
  replyId: string,
  fields: readonly string[],
  redactor: Redactor,
): IntegrityError {
  const event = `the reply ${replyId} differs from the request in ${fields.join(', ')}`;
  return new IntegrityError(redactor.text(messageOf(route, event, 'unknown')), {
    replyId: redactor.text(replyId),
    fields: fields.map((field) => redactor.text(field)),
    status: head.status,
    requestId: requestIdOf(head, redactor),
  });
}

/** The outcome of a call whose last attempt got no complete reply. */
export type CallState = Omit<PaymentsErrorDetails, 'code'>;

/** Nothing of the call is in flight: its outcome is that of the attempt before, if there was one. */
function betweenAttempts({ method }: Route, previous: PaymentsError | undefined): CallState {
  const outcome = previous?.outcome ?? 'not_sent';
  return { outcome, retryable: isSafeToRepeat(method, outcome) };
}

/** Time ran out before the call was sent, or before it was sent again. */
export function deadlinePassed(
  route: Route,
  deadline: DeadlineKind,
  previous: PaymentsError | undefined,
): TimeoutError {
  const state = betweenAttempts(route, previous);
  const event = {
    timeout: 'no connection was free within timeoutMs',
    deadline_exceeded: previous
      ? 'deadlineMs leaves no time for another attempt'
      : 'deadlineMs leaves no time to send it',
    send_by_passed: previous ? 'sendBy leaves no time for another attempt' : 'sendBy leaves no time to send it',
  }[deadline];
  return new TimeoutError(messageOf(route, event, state.outcome), { ...state, code: deadline, cause: previous });
}

/** Time ran out while the call was in flight. */
export function noReply(
  route: Route,
  deadline: DeadlineKind,
  state: CallState,
  previous: PaymentsError | undefined,
): TimeoutError {
  const event = `no complete reply within ${deadline === 'timeout' ? 'timeoutMs' : 'deadlineMs'}`;
  return new TimeoutError(messageOf(route, event, state.outcome), { ...state, code: deadline, cause: previous });
}

/** The caller aborted the call. @param state without it, nothing was in flight */
export function abortedByCaller(
  route: Route,
  reason: unknown,
  previous: PaymentsError | undefined,
  state = betweenAttempts(route, previous),
): RequestAbortedError {
  const message = messageOf(route, 'aborted by the caller', state.outcome);
  return new RequestAbortedError(message, { ...state, code: 'aborted', retryable: false, cause: reason });
}

/** The client was closed before the call was sent, or before it was sent again. */
export function clientClosed(route: Route, previous: PaymentsError | undefined): ConnectionError {
  const { outcome } = betweenAttempts(route, previous);
  const message = messageOf(route, 'the client is closed', outcome);
  return new ConnectionError(message, { code: 'client_closed', outcome, retryable: false, cause: previous });
}

/** Errors after which another attempt would end the same way. */
const PERMANENT_ERRORS = new Set(['UND_ERR_CLOSED', 'UND_ERR_DESTROYED', 'UND_ERR_INVALID_ARG']);

/** The connection could not be made, or broke. @param error the system's or undici's */
export function connectionFailure(
  route: Route,
  error: unknown,
  sent: boolean,
  state: CallState,
  redactor: Redactor,
): PaymentsError {
  const code = errorCode(error) ?? '';
  const cause = redactor.cause(error);
  const message = (event: string): string => messageOf(route, event, state.outcome);
  if (code === 'UND_ERR_CONNECT_TIMEOUT') {
    return new TimeoutError(message('no connection was made in time'), { ...state, cause, code: 'connect_timeout' });
  }
  if (!sent && PERMANENT_ERRORS.has(code)) {
    return new ConnectionError(message(`it cannot be sent (${cause.message})`), {
      ...state,
      cause,
      code: code === 'UND_ERR_INVALID_ARG' ? 'cannot_be_sent' : 'client_closed',
      retryable: false,
    });
  }
  const event = sent ? 'the connection broke' : 'no connection could be made';
  return new ConnectionError(message(`${event} (${cause.message})`), {
    ...state,
    cause,
    code: sent ? 'connection_lost' : 'connection_failed',
  });
}
