import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { InvalidRequestError } from '../errors.js';
import { encodeForm } from './form.js';

const pairs = (params: object): [string, string][] => [...new URLSearchParams(encodeForm(params))];

describe('encodeForm', () => {
  test('encodes nested objects and arrays with brackets', () => {
    expect(
      pairs({
        source: { type: 'wallet_mpm', billing: { city: 'Bangkok' } },
        on: { days_of_month: [1, 15] },
        metadata: { order: 7 },
      }),
    ).toEqual([
      ['source[type]', 'wallet_mpm'],
      ['source[billing][city]', 'Bangkok'],
      ['on[days_of_month][]', '1'],
      ['on[days_of_month][]', '15'],
      ['metadata[order]', '7'],
    ]);
  });

  test('repeats the keys of an array of objects in order', () => {
    expect(pairs({ items: [{ name: 'tea', amount: 1 }, { name: 'cake' }] })).toEqual([
      ['items[][name]', 'tea'],
      ['items[][amount]', '1'],
      ['items[][name]', 'cake'],
    ]);
  });

  test('begins each object of an array with a key of the one before, so that two are never read as one', () => {
    expect(pairs({ items: [{ name: 'tea' }, { amount: 2, name: 'cake' }, { sku: undefined, amount: 3 }] })).toEqual([
      ['items[][name]', 'tea'],
      ['items[][name]', 'cake'],
      ['items[][amount]', '2'],
      ['items[][amount]', '3'],
    ]);
    expect(() => encodeForm({ items: [{ name: 'tea' }, { amount: 2 }] })).toThrow(InvalidRequestError);
  });

  test('encodes booleans and null, and leaves out undefined, empty arrays and empty objects', () => {
    expect(
      pairs({ a: true, b: false, c: null, d: undefined, e: [], f: {}, g: [{}], h: { i: {} }, j: '', k: 0 }),
    ).toEqual([
      ['a', 'true'],
      ['b', 'false'],
      ['c', ''],
      ['j', ''],
      ['k', '0'],
    ]);
  });

  test('encodes a Date as its instant, and in a date field as its UTC day', () => {
    const late = new Date('2025-06-09T23:59:59.999Z');
    expect(pairs({ expires_at: late, start_date: late, filters: { created: late }, issued_on: late })).toEqual([
      ['expires_at', '2025-06-09T23:59:59.999Z'],
      ['start_date', '2025-06-09'],
      ['filters[created]', '2025-06-09T23:59:59.999Z'],
      ['issued_on', '2025-06-09'],
    ]);
  });

  test.each([
    ['NaN', Number.NaN],
    ['Infinity', Number.POSITIVE_INFINITY],
    ['a number that would be written with an exponent', 0.000_000_1],
    ['an integer beyond precision', 2 ** 60],
    ['an invalid date', new Date('x')],
    ['a function', () => 1],
    ['a symbol', Symbol('x')],
    ['a Map', new Map([['a', 1]])],
    ['bytes', new Uint8Array(2)],
    ['half a character', '\ud800'],
  ])('refuses %s, with the name of the parameter', (_, value) => {
    expect(() => encodeForm({ metadata: { order: value } })).toThrow(/"metadata\[order\]"/);
  });

  test('refuses a cycle', () => {
    const cycle: Record<string, unknown> = {};
    cycle['self'] = cycle;
    expect(() => encodeForm(cycle)).toThrow(InvalidRequestError);
  });

  test('keeps any text and any name', () => {
    const text = fc.string({ unit: 'grapheme' });
    fc.assert(
      fc.property(
        fc.dictionary(
          text.filter((key) => key !== ''),
          text,
        ),
        (metadata) => {
          const expected = Object.entries(metadata).map(([key, value]) => [`metadata[${key}]`, value]);
          expect(pairs({ metadata })).toEqual(expected);
        },
      ),
    );
  });

  test('keeps any nesting: an independent reader of brackets gets back the parameters', () => {
    const name = fc.stringMatching(/^[a-z]{1,6}$/);
    const leaf = fc.oneof(fc.string(), fc.boolean(), fc.integer());
    const { tree } = fc.letrec((tie) => ({
      tree: fc.oneof({ depthSize: 'small' }, leaf, fc.array(leaf, { minLength: 1, maxLength: 4 }), tie('object')),
      object: fc.dictionary(name, tie('tree'), { minKeys: 1, maxKeys: 4 }),
    }));
    fc.assert(
      fc.property(fc.dictionary(name, tree, { minKeys: 1 }), (params) => {
        expect(readBrackets(pairs(params))).toEqual(asText(params));
      }),
    );
  });
});

type Tree = string | Tree[] | { [name: string]: Tree };

/** A reader written independently of the encoder. */
function readBrackets(flat: [string, string][]): Tree {
  const root: { [name: string]: Tree } = {};
  for (const [name, value] of flat) {
    const isList = name.endsWith('[]');
    const keys = (isList ? name.slice(0, -2) : name).split(/[[\]]+/).filter((key) => key !== '');
    let at = root;
    for (const key of keys.slice(0, -1)) at = (at[key] ??= {}) as { [name: string]: Tree };
    const last = keys.at(-1) ?? '';
    if (isList) at[last] = [...((at[last] as Tree[] | undefined) ?? []), value];
    else at[last] = value;
  }
  return root;
}

function asText(value: unknown): Tree {
  if (Array.isArray(value)) return value.map(asText);
  if (typeof value !== 'object' || value === null) return String(value);
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, asText(inner)]));
}
