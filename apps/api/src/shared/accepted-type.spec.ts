import { expect, it } from 'vitest';
import { acceptedType } from './accepted-type.js';

const [JSON_TYPE, CSV] = ['application/json', 'text/csv'];

it.each<[string | undefined, string]>([
  [undefined, JSON_TYPE],
  ['*/*', JSON_TYPE],
  ['application/json', JSON_TYPE],
  ['text/csv', CSV],
  ['Text/CSV; charset=utf-8', CSV],
  ['text/*', CSV],
  ['text/csv, */*;q=0.1', CSV],
  ['text/csv;q=0.5, application/json;q=0.9', JSON_TYPE],
  ['text/csv;q=0.9, application/json;q=0.5', CSV],
])('the Accept header %j gets %s', (accept, type) => {
  expect(acceptedType(accept, [JSON_TYPE, CSV])).toBe(type);
});

it.each(['text/csv;q=0', 'application/xml', 'text/csv; charset=latin1'])(
  'the Accept header %j gets no type',
  (accept) => {
    expect(() => acceptedType(accept, [JSON_TYPE, CSV])).toThrow(expect.objectContaining({ code: 'not_acceptable' }));
  },
);
