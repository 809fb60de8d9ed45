import { z } from 'zod';

/** Status of each error code. Source: assumption (the reference shows neither codes nor statuses). */
const STATUS = {
  bad_request: 400,
  invalid_amount: 400,
  invalid_charge: 400,
  expired_charge: 400,
  documents_locked: 400,
  failed_expire: 400,
  failed_refund: 400,
  failed_void: 400,
  invalid_file_type: 400,
  invalid_filters: 400,
  invalid_page: 400,
  invalid_scope: 400,
  authentication_failure: 401,
  not_authorized: 403,
  not_found: 404,
  unsupported_media_type: 415,
  unprocessable: 422,
  too_many_requests: 429,
  internal_error: 500,
} as const;

export type ApiErrorCode = keyof typeof STATUS;

/** A refusal that the caller gets as its answer. Thrown before anything changes. */
export class ApiError extends Error {
  override readonly name = 'ApiError';
  readonly status: number;

  constructor(
    readonly code: ApiErrorCode,
    message: string,
    /** Seconds to wait before the next try, sent as `Retry-After`. */
    readonly retryAfter?: number,
  ) {
    super(message);
    this.status = STATUS[code];
  }
}

/** The body of an error answer. Source: assumption. */
export function renderError(
  code: string,
  message: string,
): { object: 'error'; location: string; code: string; message: string } {
  return { object: 'error', location: `/errors/${code}`, code, message };
}

/** The code for an error answer that only has a status. */
export function codeOfStatus(status: number): string {
  const known = Object.entries(STATUS).find(([, value]) => value === status);
  return known?.[0] ?? (status < 500 ? 'bad_request' : 'internal_error');
}

/** The checked value. @throws {ApiError} `bad_request` that lists every mistake. */
export function check<T>(schema: z.ZodType<T>, input: unknown): T {
  const result = schema.safeParse(input);
  if (result.success) return result.data;
  throw new ApiError('bad_request', z.prettifyError(result.error));
}
