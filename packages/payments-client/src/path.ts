import { InvalidRequestError } from './errors.js';

/** A resource path with its parameters not yet encoded. `route` is what may be logged: it never holds an id. */
export interface Path {
  /** Encodes each parameter. @throws {InvalidRequestError} `invalid_id`, `not_sent`. */
  readonly encode: () => string;
  /** The template, e.g. `/charges/{id}/expire`. */
  readonly route: string;
}

/** Tag for resource paths: path`/charges/${id}/expire`. Refuses a bad id when the call is made, so that it rejects rather than throws. */
export function path(parts: TemplateStringsArray, ...ids: readonly string[]): Path {
  return {
    route: parts.join('{id}'),
    encode: () => parts.reduce((encoded, part, index) => encoded + encodeId(ids[index - 1]) + part),
  };
}

function encodeId(id: unknown): string {
  // "." and ".." would address another resource once the path is normalised.
  if (typeof id === 'string' && id.trim() !== '' && id !== '.' && id !== '..') {
    try {
      return encodeURIComponent(id);
    } catch {
      // Half of a surrogate pair.
    }
  }
  throw new InvalidRequestError('An id must be a non-empty string other than "." and "..". Nothing was sent.', {
    code: 'invalid_id',
    outcome: 'not_sent',
    retryable: false,
  });
}
