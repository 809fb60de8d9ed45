import { expect } from 'vitest';
import { ERROR, isObject, mistakesIn, type Json, type Kind } from './kinds.js';
import type { Reply } from './provider.js';
import type { Samples } from './samples.js';

/** A row is data. The spec makes one test of each row. */
export { expect };

/** One fact of the reference and its check. */
export type Row = { readonly fact: string; readonly shows: (samples: Samples) => Promise<void> };

export function expectKind(value: Json | undefined, kind: Kind, name: string): void {
  expect(mistakesIn(value, kind, name)).toEqual([]);
}

/** @param code null for any code. */
export function expectRefusal(reply: Reply, status: number, code: string | null): void {
  expect(`${reply.status} ${reply.text}`).toMatch(new RegExp(`^${status} `));
  expectKind(reply.json, ERROR, 'error');
  if (code !== null) expect(reply.record['code']).toBe(code);
}

/** The value at a dotted path, or `undefined`. */
export function at(value: Json | undefined, dotted: string): Json | undefined {
  return dotted
    .split('.')
    .reduce<Json | undefined>((inner, name) => (isObject(inner) ? inner[name] : undefined), value);
}
