import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { differentMetadata } from './metadata.js';

const AT = new Date('2025-06-09T03:00:00Z');

describe('metadata is unchanged when the provider returns it', () => {
  test.each<[string, Record<string, unknown>, object]>([
    ['as it was', { order: '7', '': 'x' }, { order: '7', '': 'x' }],
    ['trimmed', { note: ' two teas \n' }, { note: 'two teas' }],
    ['with other white space around it', { note: 'tea' }, { note: ' tea\t' }],
    ['without a value that was only white space', { note: '  ', order: '7' }, { order: '7' }],
    ['with LF for CRLF', { note: 'a\r\nb\rc' }, { note: 'a\nb\nc' }],
    ['with CRLF for LF', { note: 'a\nb' }, { note: 'a\r\nb' }],
    ['composed', { note: 'cafe\u0301' }, { note: 'caf\u00E9' }],
    ['decomposed', { note: 'caf\u00E9' }, { note: 'cafe\u0301' }],
    ['under a name of another Unicode form', { 'caf\u00E9': 'x' }, { 'cafe\u0301': 'x' }],
    ['as a number', { order: '7', zip: '01234' }, { order: 7, zip: 1234 }],
    ['as a number too great to be exact', { order: '12345678901234567890' }, { order: Number('12345678901234567890') }],
    ['as text', { order: 7, paid: true }, { order: '7', paid: 'true' }],
    ['as the text of a Date', { at: AT, due_on: AT }, { at: AT.toISOString(), due_on: '2025-06-09' }],
    ['with a list as the map of its indices', { tags: ['a', 'b'] }, { tags: { 0: 'a', 1: 'b' } }],
    ['with a list in another order', { tags: ['a', 'b'] }, { tags: ['b', 'a'] }],
    ['with a list of objects as a map', { rows: [{ n: 1 }, { n: 2 }] }, { rows: { 0: { n: '1' }, 1: { n: '2' } } }],
    ['with more fields in a nested object', { a: { b: '1' } }, { a: { b: '1', c: '2' } }],
    ['without empty lists, empty objects, null and undefined', { a: [], b: {}, c: null, d: undefined }, {}],
    ["with the provider's numbers beyond 2^53", { order: 7 }, { order: '7', trace: 2 ** 60, ratio: 1e-9 }],
    ["with the provider's own nested values", { order: 7 }, { order: '7', more: { a: [null, { b: 1e300 }] } }],
    [
      'with a name that every object has',
      { constructor: 'a', ['__proto__x']: 'b' },
      { constructor: 'a', __proto__x: 'b' },
    ],
  ])('%s', (_, sent, returned) => {
    expect(differentMetadata(sent, returned, undefined)).toEqual([]);
  });
});

describe('metadata is changed when the provider returns', () => {
  test.each<[string, Record<string, unknown>, object | null, string[]]>([
    ['another text', { order: '7' }, { order: '8' }, ['metadata[order]']],
    ['another case', { order: 'a' }, { order: 'A' }, ['metadata[order]']],
    ['a truncated text', { note: 'two teas' }, { note: 'two' }, ['metadata[note]']],
    ['one field less', { order: '7', till: 'A' }, { order: '7' }, ['metadata[till]']],
    ['null', { order: '7' }, null, ['metadata[order]']],
    ['a list without one element', { tags: ['a', 'b'] }, { tags: ['a'] }, ['metadata[tags][]']],
    ['a list without one of two equal elements', { tags: ['a', 'a'] }, { tags: ['a'] }, ['metadata[tags][]']],
    ['a map without one of two equal elements', { tags: ['a', 'a'] }, { tags: { 0: 'a' } }, ['metadata[tags][]']],
    ['a list with one element more', { tags: ['a'] }, { tags: ['a', 'b'] }, ['metadata[tags][]']],
    ['a text instead of a list', { tags: ['a'] }, { tags: 'a' }, ['metadata[tags][]']],
    ['a list of objects without one field', { r: [{ n: 1, m: 2 }] }, { r: [{ n: 1 }] }, ['metadata[r][]']],
    ['a nested object without one field', { a: { b: '1', c: '2' } }, { a: { b: '1' } }, ['metadata[a][c]']],
    ['a text instead of an object', { a: { b: '1' } }, { a: '1' }, ['metadata[a][b]']],
  ])('%s', (_, sent, returned, fields) => {
    expect(differentMetadata(sent, returned, undefined)).toEqual(fields);
  });
});

describe('searchedMetadata', () => {
  const sent = { checkout: 'c1', attempt: '1', note: 'two teas' };

  test.each<[object, string[]]>([
    [{ checkout: 'c1', attempt: 1, note: 'TWO TEAS' }, []],
    [{ checkout: 'c1', attempt: '1' }, []],
    [{ checkout: 'c2', note: 'y' }, ['metadata[checkout]', 'metadata[attempt]']],
  ])('limits the comparison to the names it gives: %j', (returned, fields) => {
    expect(differentMetadata(sent, returned, new Set(['checkout', 'attempt']))).toEqual(fields);
  });
});

describe('any metadata', () => {
  const text = fc.string({ unit: 'grapheme' });
  const name = fc.stringMatching(/^[a-z]{1,6}$/);
  const leaf = fc.oneof(text, fc.boolean(), fc.integer());
  const { tree } = fc.letrec((tie) => ({
    tree: fc.oneof({ depthSize: 'small' }, leaf, fc.array(leaf, { maxLength: 4 }), tie('object')),
    object: fc.dictionary(name, tie('tree'), { maxKeys: 4 }),
  }));

  /** As a provider may store it. */
  function stored(value: unknown, form: (text: string) => string): unknown {
    if (Array.isArray(value)) return Object.fromEntries(value.map((one: unknown, index) => [index, stored(one, form)]));
    if (typeof value !== 'object' || value === null) return form(String(value));
    return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, stored(inner, form)]));
  }

  test.each<[string, (text: string) => string]>([
    ['as it is', (one) => one],
    ['trimmed', (one) => one.trim()],
    ['decomposed, with CRLF', (one) => one.replaceAll(/\r\n|\r|\n/g, '\r\n').normalize('NFD')],
  ])('that is stored %s is unchanged', (_, form) => {
    fc.assert(
      fc.property(fc.dictionary(name, tree), (sent) => {
        expect(differentMetadata(sent, stored(sent, form) as object, undefined)).toEqual([]);
      }),
    );
  });

  test('in which one value changes is reported by the name of that value alone', () => {
    fc.assert(
      fc.property(fc.dictionary(name, leaf, { minKeys: 1 }), fc.nat(), (sent, nth) => {
        const names = Object.keys(sent);
        const changed = names[nth % names.length] ?? '';
        const reply = { ...(stored(sent, (one) => one) as object), [changed]: `${String(sent[changed])}!` };
        const isMissed = String(sent[changed]).trim() !== '';
        expect(differentMetadata(sent, reply, undefined)).toEqual(isMissed ? [`metadata[${changed}]`] : []);
      }),
    );
  });
});
