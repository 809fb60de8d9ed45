import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { ApiError } from './api-error.js';
import { decodeForm, decodeUtf8 } from './form.js';

describe('a form', () => {
  it.each([
    ['', {}],
    ['a=1', { a: '1' }],
    ['a', { a: '' }],
    ['a=1&&b=2&', { a: '1', b: '2' }],
    ['a=b+c%20d%26', { a: 'b c d&' }],
    ['a=x=y', { a: 'x=y' }],
    ['source[type]=wallet_mpm', { source: { type: 'wallet_mpm' } }],
    ['source%5Btype%5D=wallet_mpm', { source: { type: 'wallet_mpm' } }],
    ['a[b][c]=1&a[b][d]=2&a[e]=3', { a: { b: { c: '1', d: '2' }, e: '3' } }],
    ['a[]=1&a[]=2', { a: ['1', '2'] }],
    ['on[days_of_month][]=1&on[days_of_month][]=15', { on: { days_of_month: ['1', '15'] } }],
    [
      'items[][name]=a&items[][price]=1&items[][name]=b&items[][price]=2',
      {
        items: [
          { name: 'a', price: '1' },
          { name: 'b', price: '2' },
        ],
      },
    ],
    ['items[][tags][]=x&items[][tags][]=y', { items: [{ tags: ['x', 'y'] }] }],
    ['metadata[constructor]=1&toString=2', { metadata: { constructor: '1' }, toString: '2' }],
    ['a=%E0%B8%BF', { a: '฿' }],
  ])('"%s" is read as %j', (text, form) => {
    expect(decodeForm(text)).toEqual(form);
  });

  it.each([
    ['a=%', 'malformed percent-encoding'],
    ['a=%zz', 'malformed percent-encoding'],
    ['a=%ff', 'malformed percent-encoding'],
    ['=1', 'malformed name'],
    ['a[=1', 'malformed name'],
    ['a]=1', 'malformed name'],
    ['a[b=1', 'malformed name'],
    ['a[[b]]=1', 'malformed name'],
    ['[a]=1', 'malformed name'],
    ['a[b]c=1', 'malformed name'],
    ['a=1&a=2', 'given twice'],
    ['a=1&a[b]=2', 'two different types'],
    ['a[b]=2&a=1', 'given twice'],
    ['a[]=1&a[b]=2', 'two different types'],
    ['a[b]=1&a[]=2', 'two different types'],
    ['a[]=1&a[][b]=2', 'two different types'],
    ['a[][b]=1&a[]=2', 'two different types'],
    ['a[][]=1', 'list as an element of a list'],
    ['__proto__[x]=1', '__proto__'],
    ['metadata[__proto__][x]=1', '__proto__'],
    ['a[b][c][d][e][f][g]=1', 'levels deep'],
    [Array.from({ length: 1001 }, (_, i) => `a${i}=1`).join('&'), 'at most 1000 fields'],
  ])('"%s" is refused', (text, reason) => {
    expect(() => decodeForm(text)).toThrow(reason);
  });

  it('of any text is either read or refused as a bad request, and never touches Object.prototype', () => {
    const piece = fc.constantFrom(
      'a',
      'b',
      '[',
      ']',
      '[]',
      '=',
      '&',
      '%',
      '%41',
      '+',
      '__proto__',
      'constructor',
      '[x]',
    );
    const text = fc.oneof(
      fc.string(),
      fc.array(piece, { maxLength: 12 }).map((pieces) => pieces.join('')),
    );
    fc.assert(
      fc.property(text, (form) => {
        try {
          decodeForm(form);
        } catch (error) {
          expect(error).toBeInstanceOf(ApiError);
        }
        expect(Object.keys(Object.prototype)).toEqual([]);
      }),
      { numRuns: 2_000 },
    );
  });

  it('that is not UTF-8 is refused', () => {
    expect(() => decodeUtf8(Buffer.from([0x61, 0x3d, 0xff]))).toThrow('not UTF-8');
  });
});
