/**
 * Whether the request had an effect at the provider.
 *
 * - `not_sent`: it had none; no byte of the request left this process.
 * - `rejected`: it had none; the provider refused it (any 4xx).
 * - `unknown`: it may have had one. Look the record up before you repeat the request.
 */
export type Outcome = 'not_sent' | 'rejected' | 'unknown';

/** The fields that every {@link PaymentsError} carries. */
export interface PaymentsErrorDetails {
  /**
   * The provider's error code (`failed_expire`, `not_found`, …), or this client's own (`timeout`, `connection_failed`,
   * …).
   */
  code: string;
  outcome: Outcome;
  /** True when the same call can be repeated without risk of doing it twice, and may then succeed. */
  retryable: boolean;
  /** HTTP status of the last reply, when there was one. */
  status?: number | undefined;
  /** The provider's `X-Request-Id`, to quote to its support. Source: assumption `REQUEST_ID_HEADER`. */
  requestId?: string | undefined;
  /** The `location` field of the provider's error body, or the target of a redirect. */
  location?: string | undefined;
  cause?: unknown;
}

/**
 * Base of every failure of this client. A 4xx without a class of its own is a plain `PaymentsError`.
 * What to do: docs/errors/PaymentsError.md
 */
export class PaymentsError extends Error implements PaymentsErrorDetails {
  static {
    this.prototype.name = 'PaymentsError';
  }

  readonly code: string;
  readonly outcome: Outcome;
  readonly retryable: boolean;
  readonly status: number | undefined;
  readonly requestId: string | undefined;
  readonly location: string | undefined;

  constructor(message: string, details: PaymentsErrorDetails) {
    super(message, details.cause === undefined ? undefined : { cause: details.cause });
    this.code = details.code;
    this.outcome = details.outcome;
    this.retryable = details.retryable;
    this.status = details.status;
    this.requestId = details.requestId;
    this.location = details.location;
  }

  /** The fields for a log. `JSON.stringify` of a bare Error would lose name and message. */
  toJSON(): Record<string, unknown> {
    return { name: this.name, message: this.message, ...Object.fromEntries(Object.entries(this)) };
  }
}

/**
 * 401: the key is missing, wrong, or of the wrong kind for the endpoint. Also thrown, `not_sent`, when `useKey` is
 * `public` and the client has no public key. What to do: docs/errors/AuthenticationError.md
 */
export class AuthenticationError extends PaymentsError {
  static {
    this.prototype.name = 'AuthenticationError';
  }
}

/**
 * 403: the key is valid but does not permit this call.
 * What to do: docs/errors/PermissionError.md
 */
export class PermissionError extends PaymentsError {
  static {
    this.prototype.name = 'PermissionError';
  }
}

/**
 * 404: no such record under this key's account and mode.
 * What to do: docs/errors/NotFoundError.md
 */
export class NotFoundError extends PaymentsError {
  static {
    this.prototype.name = 'NotFoundError';
  }
}

/**
 * 400 and 422: the provider refused the request. Also thrown, `not_sent`, for an id or a parameter that cannot be sent.
 * What to do: docs/errors/InvalidRequestError.md
 */
export class InvalidRequestError extends PaymentsError {
  static {
    this.prototype.name = 'InvalidRequestError';
  }
}

/**
 * 429: too many requests. The provider did not process this one.
 * What to do: docs/errors/RateLimitError.md
 */
export class RateLimitError extends PaymentsError {
  static {
    this.prototype.name = 'RateLimitError';
  }

  /** The wait that the provider asked for, in milliseconds; undefined when it asked for none. */
  readonly retryAfterMs: number | undefined;

  constructor(message: string, details: PaymentsErrorDetails & { retryAfterMs?: number | undefined }) {
    super(message, details);
    this.retryAfterMs = details.retryAfterMs;
  }
}

/**
 * 5xx: the provider failed, perhaps after it had processed the request.
 * What to do: docs/errors/ServerError.md
 */
export class ServerError extends PaymentsError {
  static {
    this.prototype.name = 'ServerError';
  }

  /** The wait that the provider asked for (503 only), in milliseconds; undefined when it asked for none. */
  readonly retryAfterMs: number | undefined;

  constructor(message: string, details: PaymentsErrorDetails & { retryAfterMs?: number | undefined }) {
    super(message, details);
    this.retryAfterMs = details.retryAfterMs;
  }
}

/**
 * The connection could not be made (`not_sent`) or broke (`unknown`).
 * What to do: docs/errors/ConnectionError.md
 */
export class ConnectionError extends PaymentsError {
  static {
    this.prototype.name = 'ConnectionError';
  }
}

/**
 * Time ran out: `timeout` for one attempt, `deadline_exceeded` for the whole call, `send_by_passed` for {@link
 * RequestOptions.sendBy}. When it ran out while the client waited to retry, `cause` is the last failure. What to do:
 * docs/errors/TimeoutError.md
 */
export class TimeoutError extends PaymentsError {
  static {
    this.prototype.name = 'TimeoutError';
  }
}

/**
 * The caller's signal aborted the call. `cause` is the signal's reason.
 * What to do: docs/errors/RequestAbortedError.md
 */
export class RequestAbortedError extends PaymentsError {
  static {
    this.prototype.name = 'RequestAbortedError';
  }
}

/**
 * A reply that proves neither success nor failure: a redirect, a success that is not JSON or not of the documented
 * shape, or a body beyond the size limit. What to do: docs/errors/UnexpectedResponseError.md
 */
export class UnexpectedResponseError extends PaymentsError {
  static {
    this.prototype.name = 'UnexpectedResponseError';
  }
}

/**
 * The provider reported a success that differs from the request. A record exists under `replyId`: retrieve it before
 * you do anything else. What to do: docs/errors/IntegrityError.md
 */
export class IntegrityError extends PaymentsError {
  static {
    this.prototype.name = 'IntegrityError';
  }

  /** Id of the record in the reply. */
  readonly replyId: string;
  /** The request fields that the reply contradicts, e.g. `['amount', 'metadata[order]']`. */
  readonly fields: readonly string[];

  constructor(
    message: string,
    details: Omit<PaymentsErrorDetails, 'code' | 'outcome' | 'retryable'> & {
      replyId: string;
      fields: readonly string[];
    },
  ) {
    super(message, { ...details, code: 'integrity_mismatch', outcome: 'unknown', retryable: false });
    this.replyId = details.replyId;
    this.fields = details.fields;
  }
}

/**
 * The client's settings cannot be used. The message lists every mistake, and never a key.
 * What to do: docs/errors/ConfigurationError.md
 */
export class ConfigurationError extends PaymentsError {
  static {
    this.prototype.name = 'ConfigurationError';
  }

  constructor(mistakes: readonly string[]) {
    super(`PaymentsClient settings: ${mistakes.join('; ')}`, {
      code: 'invalid_settings',
      outcome: 'not_sent',
      retryable: false,
    });
  }
}

/** The failure of a call that cannot be sent as it is. */
export function notSent(code: string, message: string, cause?: unknown): InvalidRequestError {
  return new InvalidRequestError(`${message}. Nothing was sent.`, {
    code,
    outcome: 'not_sent',
    retryable: false,
    cause,
  });
}

interface ReplyDetails extends PaymentsErrorDetails {
  status: number;
  retryAfterMs: number | undefined;
}

/** Maps a status to its class. Source: assumption "Status codes". */
export function errorForStatus(message: string, details: ReplyDetails): PaymentsError {
  const { status } = details;
  switch (status) {
    case 400:
    case 422:
      return new InvalidRequestError(message, details);
    case 401:
      return new AuthenticationError(message, details);
    case 403:
      return new PermissionError(message, details);
    case 404:
      return new NotFoundError(message, details);
    case 429:
      return new RateLimitError(message, details);
    default:
      if (status >= 500) return new ServerError(message, details);
      if (status >= 400) return new PaymentsError(message, details);
      return new UnexpectedResponseError(message, details);
  }
}
