import { notSent } from '../errors.js';

/** A resource path whose ids are not encoded yet. Only `route` may be logged: it never contains an id. */
export interface Path {
  /** Encodes each parameter. @throws {InvalidRequestError} `invalid_id`, `not_sent`. */
  readonly encode: () => string;
  /** The template, e.g. `/charges/{id}/expire`. */
  readonly route: string;
  /** The record that the path names last: for `/disputes/…/documents/…` the document. */
  readonly subject: Subject | undefined;
}

/** A record by its `object` and its id. */
export interface Subject {
  readonly kind: string;
  readonly id: unknown;
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

/**
 * Tag for resource paths: path`/charges/${id}/expire`. A bad id is refused when the call is made, so that the call
 * rejects rather than throws.
 */
export function path(parts: TemplateStringsArray, ...ids: readonly (string | Named)[]): Path {
  return {
    route: parts.reduce((route, part, index) => `${route}{${nameOf(ids[index - 1])}}${part}`),
    encode: () => parts.reduce((encoded, part, index) => encoded + encodeId(ids[index - 1]) + part),
    subject: subjectOf(parts[ids.length - 1], ids.at(-1)),
  };
}

/** `/charges/` before an id means that the id is a charge's. Every collection of the API is a plain plural. */
function subjectOf(before: string | undefined, id: string | Named | undefined): Subject | undefined {
  const kind = before?.match(/\/(\w+)s\/$/)?.[1];
  return kind === undefined ? undefined : { kind, id: idOf(id) };
}

function nameOf(id: unknown): string {
  return id instanceof Named ? id.name : 'id';
}

/** The provider's ids match this and need no encoding. */
const PLAIN = /^\w+$/;

function idOf(parameter: unknown): unknown {
  return parameter instanceof Named ? parameter.id : parameter;
}

function encodeId(parameter: unknown): string {
  const id = idOf(parameter);
  if (typeof id === 'string' && PLAIN.test(id)) return id;
  // "." and ".." would address another resource once the path is normalised.
  if (typeof id === 'string' && id.trim() !== '' && id !== '.' && id !== '..') {
    try {
      return encodeURIComponent(id);
    } catch {
      // It contains half of a surrogate pair.
    }
  }
  throw notSent('invalid_id', 'An id must be a non-empty string other than "." and ".."');
}
