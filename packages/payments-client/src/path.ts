import { InvalidRequestError } from './errors.js';

/** A resource path with its parameters not yet encoded. `route` is what may be logged: it never holds an id. */
export interface Path {
  /** Encodes each parameter. @throws {InvalidRequestError} `invalid_id`, `not_sent`. */
  readonly encode: () => string;
  /** The template, e.g. `/charges/{id}/expire`. */
  readonly route: string;
}

/** A path parameter with a name other than `id`. */
class Named {
  constructor(
    readonly name: string,
    readonly id: string,
  ) {}
}

/** path`/customers/${id}/cards/${named('card_id', cardId)}` has the route `/customers/{id}/cards/{card_id}`. */
export function named(name: string, id: string): Named {
  return new Named(name, id);
}

/** Tag for resource paths: path`/charges/${id}/expire`. Refuses a bad id when the call is made, so that it rejects rather than throws. */
export function path(parts: TemplateStringsArray, ...ids: readonly (string | Named)[]): Path {
  return {
    route: parts.reduce((route, part, index) => `${route}{${nameOf(ids[index - 1])}}${part}`),
    encode: () => parts.reduce((encoded, part, index) => encoded + encodeId(ids[index - 1]) + part),
  };
}

function nameOf(id: unknown): string {
  return id instanceof Named ? id.name : 'id';
}

/** What the provider's ids are made of. */
const PLAIN = /^\w+$/;

function encodeId(parameter: unknown): string {
  const id: unknown = parameter instanceof Named ? parameter.id : parameter;
  if (typeof id === 'string' && PLAIN.test(id)) return id;
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
