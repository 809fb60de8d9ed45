import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { ApiError } from './api-error.js';
import { boundaryOf, MultipartReader, type MultipartForm } from './multipart.js';

const LIMITS = { maximumFileBytes: 1_000, maximumTextBytes: 200 };
const CRLF = '\r\n';

/** Reads the bytes in pieces of the given sizes, the last piece taking the rest. */
function read(bytes: Buffer, sizes: readonly number[] = [], limits = LIMITS): MultipartForm {
  const reader = new MultipartReader('XX', limits);
  let at = 0;
  for (const size of sizes) {
    reader.push(bytes.subarray(at, at + size));
    at += size;
  }
  reader.push(bytes.subarray(at));
  return reader.end();
}

const part = (disposition: string, body: string | Buffer): Buffer =>
  Buffer.concat([
    Buffer.from(`--XX${CRLF}Content-Disposition: form-data; ${disposition}${CRLF}Content-Type: x/y${CRLF}${CRLF}`),
    Buffer.from(body),
    Buffer.from(CRLF),
  ]);
const END = Buffer.from(`--XX--${CRLF}`);
const filePart = (content: string | Buffer, filename = 'a.png'): Buffer =>
  part(`name="file"; filename="${filename}"`, content);

const refusal = (work: () => unknown): string => {
  try {
    work();
  } catch (error) {
    if (error instanceof ApiError) return error.message;
    throw error;
  }
  return 'none';
};

describe('a multipart body', () => {
  it('gives its fields and its file', () => {
    const { fields, files } = read(Buffer.concat([part('name="kind"', 'บิล'), filePart('\0\xff'), END]));
    expect(fields).toEqual([['kind', 'บิล']]);
    expect(files.get('file')).toEqual({ filename: 'a.png', content: Buffer.from('\0\xff') });
  });

  it('is read the same however it is cut into pieces, whatever the file holds', () => {
    const content = fc.array(
      fc.oneof(fc.constantFrom('\r\n', '--XX', '\r\n--X', '--', '\r', '-', 'x', '\0'), fc.string()),
      { maxLength: 20 },
    );
    fc.assert(
      fc.property(content, fc.array(fc.integer({ min: 0, max: 40 }), { maxLength: 30 }), (pieces, sizes) => {
        const bytes = Buffer.from(pieces.join('').replaceAll('\r\n--XX', ''));
        const body = Buffer.concat([part('name="kind"', 'k'), filePart(bytes), END]);
        const { fields, files } = read(body, sizes, { maximumFileBytes: 10_000, maximumTextBytes: 10 });
        expect(fields).toEqual([['kind', 'k']]);
        expect(Buffer.compare(Buffer.from(files.get('file')?.content ?? ''), bytes)).toBe(0);
      }),
      { numRuns: 1_000 },
    );
  });

  it('may have text before and after it, and white space after a boundary', () => {
    const body = `preamble${CRLF}--XX \t${CRLF}Content-Disposition: form-data; name=kind${CRLF}${CRLF}${CRLF}--XX--${CRLF}after`;
    expect(read(Buffer.from(body)).fields).toEqual([['kind', '']]);
  });

  it.each([
    [String.raw`C:\folder\bill.pdf`, 'bill.pdf'],
    ['../../etc/bill.pdf', 'bill.pdf'],
    ['a%22b.pdf', 'a"b.pdf'],
    ['ใบเสร็จ.pdf', 'ใบเสร็จ.pdf'],
    ['a\tb.pdf', 'ab.pdf'],
    ['', 'file'],
  ])('names the file of %j as %j', (sent, kept) => {
    expect(
      read(Buffer.concat([filePart('x', sent.replaceAll('\\', String.raw`\\`)), END])).files.get('file')?.filename,
    ).toBe(kept);
  });

  it('prefers the extended file name', () => {
    const disposition = `name="file"; filename="x.pdf"; filename*=UTF-8''na%C3%AFve.pdf`;
    expect(read(Buffer.concat([part(disposition, ''), END])).files.get('file')?.filename).toBe('naïve.pdf');
  });

  it.each([
    ['is cut off', Buffer.concat([filePart('x')])],
    ['has no boundary at all', Buffer.from('file=x')],
    ['is empty', Buffer.from('')],
    ['has a part without a name', Buffer.concat([part('filename="a.png"', 'x'), END])],
    ['has a part without headers', Buffer.from(`--XX${CRLF}${CRLF}x${CRLF}--XX--`)],
    ['goes on after a boundary', Buffer.from(`--XXX${CRLF}`)],
    ['has headers without an end', Buffer.from(`--XX${CRLF}${'x'.repeat(10_000)}`)],
    ['has a boundary without an end', Buffer.from(`--XX${' '.repeat(10_000)}`)],
    ['has the file twice', Buffer.concat([filePart('x'), filePart('y'), END])],
    ['has too many parts', Buffer.concat([...Array.from({ length: 1_001 }, () => part('name="a"', '')), END])],
  ])('that %s is refused', (_how, body) => {
    expect(refusal(() => read(body))).toContain('malformed');
  });

  it('that is too large is refused to the byte, and no more of it is kept', () => {
    const fits = Buffer.concat([filePart(Buffer.alloc(1_000)), END]);
    expect(read(fits).files.get('file')?.content.length).toBe(1_000);
    expect(refusal(() => read(Buffer.concat([filePart(Buffer.alloc(1_001)), END])))).toContain('too large');
    expect(refusal(() => read(Buffer.concat([part('name="kind"', 'x'.repeat(201)), END])))).toContain('too large');
    const halves = [filePart(Buffer.alloc(600), 'a'), part('name="b"; filename="b"', Buffer.alloc(600)), END];
    expect(refusal(() => read(Buffer.concat(halves)))).toContain('too large');
  });
});

describe('a content type', () => {
  it.each<[string | undefined, string | null]>([
    ['multipart/form-data; boundary=abc', 'abc'],
    ['Multipart/Form-Data; charset=utf-8; boundary="a b"', 'a b'],
    ['application/x-www-form-urlencoded', null],
    ['multipart/mixed; boundary=abc', null],
    [undefined, null],
  ])('%j has the boundary %j', (type, boundary) => {
    expect(boundaryOf(type)).toBe(boundary);
  });

  it('of a form without a boundary is refused', () => {
    expect(refusal(() => boundaryOf('multipart/form-data'))).toContain('boundary');
  });
});
