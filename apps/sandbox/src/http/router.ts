import { ApiError } from './api-error.js';

type Node<T> = {
  readonly children: Map<string, Node<T>>;
  parameter: Node<T> | null;
  readonly ends: Map<string, { template: string; target: T }>;
};

export type Match<T> = { readonly target: T; readonly template: string; readonly params: readonly string[] };

/**
 * Finds the route of a path. A literal segment wins over a parameter, so that `/charges/schedules` and `/charges/{id}`
 * can both exist. The cost depends on the length of the path, not on the number of routes.
 */
export class Router<T> {
  readonly #root: Node<T> = node();
  #methods: readonly string[] = [];

  /** @param template such as `/charges/{id}/refunds`; a match lists its parameters in this order. */
  add(method: string, template: string, target: T): this {
    if (!this.#methods.includes(method)) this.#methods = [...this.#methods, method];
    let at = this.#root;
    for (const segment of segmentsOf(template)) {
      if (segment.startsWith('{')) at = at.parameter ??= node();
      else at = literal(at, segment);
    }
    at.ends.set(method, { template, target });
    return this;
  }

  /** `HEAD` matches the route of `GET`. @throws {ApiError} when the path has malformed percent-encoding. */
  match(method: string, path: string): Match<T> | null {
    const known = method === 'HEAD' ? 'GET' : method;
    return this.#find(this.#root, known, decodePath(path), 0, []);
  }

  /** The methods of a path; `HEAD` comes with `GET`. */
  methods(path: string): readonly string[] {
    const methods = this.#methods.filter((method) => this.match(method, path) !== null);
    return methods.includes('GET') ? [...methods, 'HEAD'] : methods;
  }

  #find(
    at: Node<T>,
    method: string,
    segments: readonly string[],
    index: number,
    params: readonly string[],
  ): Match<T> | null {
    const segment = segments[index];
    if (segment === undefined) {
      const end = at.ends.get(method);
      return end === undefined ? null : { ...end, params };
    }
    const child = at.children.get(segment);
    const literalMatch = child === undefined ? null : this.#find(child, method, segments, index + 1, params);
    if (literalMatch !== null || at.parameter === null || segment === '') return literalMatch;
    return this.#find(at.parameter, method, segments, index + 1, [...params, segment]);
  }
}

function node<T>(): Node<T> {
  return { children: new Map(), parameter: null, ends: new Map() };
}

function literal<T>(at: Node<T>, segment: string): Node<T> {
  const child = at.children.get(segment) ?? node<T>();
  at.children.set(segment, child);
  return child;
}

function segmentsOf(path: string): string[] {
  return path.slice(1).split('/');
}

function decodePath(path: string): string[] {
  try {
    return segmentsOf(path).map((segment) => (segment.includes('%') ? decodeURIComponent(segment) : segment));
  } catch {
    throw new ApiError('bad_request', 'The path has malformed percent-encoding.');
  }
}
