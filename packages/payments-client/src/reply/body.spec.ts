import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { CHARGE, listOf } from '../../test/samples.js';
import { type Body, decodeBody, parseBody } from './body.js';

function bodyOf(text: string, chunkBytes = 65_536): Body {
  const bytes = Buffer.from(text);
  const count = Math.ceil(bytes.length / chunkBytes);
  const chunks = Array.from({ length: count }, (_, at) => bytes.subarray(at * chunkBytes, (at + 1) * chunkBytes));
  return decodeBody(chunks, bytes.length);
}

/** Above this, V8 takes new memory from the operating system for a text. */
const MAX_TEXT_BYTES = 131_072;

/** How the records of a list of charges are separated. In a text or in an inner list, it separates none of them. */
const SEPARATOR = '},{"object":"charge",';

describe('the body of a reply', () => {
  test('with a list of 100 charges is decoded in parts that are small', () => {
    const { object, ...fields } = CHARGE;
    const list = listOf(...Array.from({ length: 100 }, (_, at) => ({ object, ...fields, id: `chrg_test_${at}` })));
    const body = bodyOf(JSON.stringify(list));
    expect(body.length).toBeGreaterThan(1);
    for (const part of body) expect(2 * part.length).toBeLessThan(MAX_TEXT_BYTES);
    expect(parseBody(body)).toEqual(list);
  });

  const text = fc.oneof(fc.string({ unit: 'binary' }), fc.constantFrom(SEPARATOR, 'กาแฟ', '}],"data":['));
  const charge = fc.letrec((tie) => ({
    charge: fc.record(
      {
        object: fc.constant('charge'),
        id: text,
        padding: fc.nat({ max: 20_000 }).map((length) => 'x'.repeat(length)),
        inner: fc.oneof({ maxDepth: 2 }, fc.constant(null), fc.record({ data: fc.array(tie('charge')) })),
      },
      { requiredKeys: ['object', 'id', 'padding'] },
    ),
  })).charge;
  const list = fc.record({
    object: fc.constant('list'),
    data: fc.array(charge, { maxLength: 12 }),
    total: fc.nat(),
    others: fc.array(charge, { maxLength: 8 }),
  });

  test('is the JSON of the whole text, wherever it is divided', () => {
    let divided = 0;
    fc.assert(
      fc.property(list, fc.integer({ min: 1_000, max: 100_000 }), (sent, chunkBytes) => {
        const json = JSON.stringify(sent);
        const body = bodyOf(json, chunkBytes);
        if (body.length > 1) divided += 1;
        expect(body.join(',')).toBe(json);
        expect(parseBody(body)).toEqual(JSON.parse(json));
      }),
      { numRuns: 60, seed: 1 },
    );
    expect(divided).toBeGreaterThan(20);
  });

  const records = Array.from({ length: 60 }, (_, at) => `{"object":"charge","id":"${at}","a":"${'x'.repeat(4_000)}"}`);
  const data = records.join(',');

  test.each([
    ['a field without a name', `{"object":"list","data":[${data}],"":[]}`],
    ['a second `data`', `{"object":"list","data":[${data}],"data":[]}`],
    ['a second `object`', `{"object":"list","data":[${records[0]}],"object":[${data}]}`],
    ['a field named `__proto__`', `{"object":"list","data":[${data}],"__proto__":[1]}`],
  ])('with %s is the JSON of the whole text', (_, json) => {
    const body = bodyOf(json);
    expect(body.length).toBeGreaterThan(1);
    expect(JSON.stringify(parseBody(body))).toBe(JSON.stringify(JSON.parse(json)));
  });

  test.each([
    ['a list that breaks off', `{"object":"list","data":[${data}`],
    ['a list with a broken record', `{"object":"list","data":[${data},{"object":"charge",}],"total":1}`],
    ['a page', `<html>${data}</html>`],
  ])('that is not JSON is refused: %s', (_, broken) => {
    expect(() => parseBody(bodyOf(broken))).toThrow(SyntaxError);
  });
});
