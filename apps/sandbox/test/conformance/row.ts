import { expect } from 'vitest';
import { ERROR, isObject, mistakesIn, type Json, type Kind } from './kinds.js';
import type { Reply } from './provider.js';
import type { Samples } from './samples.js';

/** Rows are no tests yet: the spec makes one of each. */
export { expect };

/** One fact of the reference and how it shows. Becomes one test of that name. */
export type Row = { readonly fact: string; readonly shows: (samples: Samples) => Promise<void> };

export function expectKind(value: Json | undefined, kind: Kind, name: string): void {
  expect(mistakesIn(value, kind, name)).toEqual([]);
}

/** @param code null where any will do. */
export function expectRefusal(reply: Reply, status: number, code: string | null): void {
  expect(`${reply.status} ${reply.text}`).toMatch(new RegExp(`^${status} `));
  expectKind(reply.json, ERROR, 'error');
  if (code !== null) expect(reply.record['code']).toBe(code);
}

/** The value at a dotted path, `undefined` when it is not there. */
export function at(value: Json | undefined, dotted: string): Json | undefined {
  return dotted
    .split('.')
    .reduce<Json | undefined>((inner, name) => (isObject(inner) ? inner[name] : undefined), value);
}
