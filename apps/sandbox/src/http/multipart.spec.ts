import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { ApiError } from './api-error.js';
import { isMultipart, parseMultipart } from './multipart.js';

const LIMITS = { maximumFileBytes: 1_000, maximumTextBytes: 200 };
const TYPE = 'multipart/form-data; boundary=XX';
const CRLF = '\r\n';

const parse = (body: readonly Buffer[] | string, limits = LIMITS, type = TYPE): ReturnType<typeof parseMultipart> =>
  parseMultipart(type, typeof body === 'string' ? Buffer.from(body) : Buffer.concat(body), limits);

const part = (disposition: string, body: string | Buffer): Buffer =>
  Buffer.concat([
    Buffer.from(`--XX${CRLF}Content-Disposition: form-data; ${disposition}${CRLF}Content-Type: x/y${CRLF}${CRLF}`),
    Buffer.from(body),
    Buffer.from(CRLF),
  ]);
const END = Buffer.from(`--XX--${CRLF}`);
const filePart = (content: string | Buffer, filename = 'a.png', name = 'file'): Buffer =>
  part(`name="${name}"; filename="${filename}"`, content);

async function refusal(parsing: Promise<unknown>): Promise<string> {
  const error = await parsing.then(
    () => null,
    (reason: unknown) => reason,
  );
  return error instanceof ApiError ? error.message : `not an ApiError: ${String(error)}`;
}

describe('a multipart body', () => {
  it('gives its fields and its file', async () => {
    const { form, file } = await parse([part('name="kind"', 'บิล'), filePart('\0\xff'), END]);
    expect(form).toEqual({ kind: 'บิล' });
    expect(file).toEqual({ filename: 'a.png', content: Buffer.from('\0\xff') });
  });

  it('keeps every byte of the file, whatever it contains', async () => {
    const content = fc.array(
      fc.oneof(fc.constantFrom('\r\n', '--XX', '\r\n--X', '--', '\r', '-', 'x', '\0'), fc.string()),
      { maxLength: 20 },
    );
    await fc.assert(
      fc.asyncProperty(content, async (pieces) => {
        // RFC 2046, section 5.1.1: the delimiter never occurs in a part. The line end of the headers belongs to it.
        const bytes = Buffer.from(pieces.join(''));
        fc.pre(!`\r\n${pieces.join('')}`.includes('\r\n--XX'));
        const { form, file } = await parse([part('name="kind"', 'k'), filePart(bytes), END]);
        expect(form).toEqual({ kind: 'k' });
        expect(Buffer.compare(Buffer.from(file?.content ?? ''), bytes)).toBe(0);
      }),
      { numRuns: 300 },
    );
  });

  it.each([
    [String.raw`C:\\folder\\bill.pdf`, 'bill.pdf'],
    ['../../etc/bill.pdf', 'bill.pdf'],
    ['a%22b.pdf', 'a"b.pdf'],
    ['ใบเสร็จ.pdf', 'ใบเสร็จ.pdf'],
    ['a\tb.pdf', 'ab.pdf'],
    ['', 'file'],
  ])('with the file name %j names the file %j', async (sent, kept) => {
    expect((await parse([filePart('x', sent), END])).file?.filename).toBe(kept);
  });

  it.each<[string, readonly Buffer[] | string, string]>([
    ['is cut off', [filePart('x')], 'malformed'],
    ['has no boundary', 'file=x', 'malformed'],
    ['is empty', '', 'malformed'],
    ['has a part without a name', [part('filename="a.png"', 'x'), END], 'malformed'],
    ['has text after a boundary', `--XXX${CRLF}`, 'malformed'],
    ['has headers without an end', `--XX${CRLF}${'x'.repeat(10_000)}`, 'malformed'],
    ['has a boundary without an end', `--XX${' '.repeat(10_000)}`, 'malformed'],
    ['has two files', [filePart('x'), filePart('y'), END], 'malformed'],
    ['has too many parts', [...Array.from({ length: 1_001 }, (_, i) => part(`name="a${i}"`, '')), END], 'malformed'],
    ['has a file under another name', [filePart('x', 'a', 'photo'), END], 'not as photo'],
    ['has a file above the limit', [filePart(Buffer.alloc(1_001)), END], 'too large'],
    ['has text above the limit', [part('name="kind"', 'x'.repeat(201)), END], 'too large'],
    ['has texts above the limit', [part('name="a"', 'x'.repeat(101)), part('name="b"', 'x'.repeat(100)), END], 'large'],
  ])('that %s is refused', async (_how, body, reason) => {
    expect(await refusal(parse(body))).toContain(reason);
  });

  it('may hold a file of exactly the limit', async () => {
    expect((await parse([filePart(Buffer.alloc(1_000)), END])).file?.content.length).toBe(1_000);
  });

  it('with a large part without headers is read to its end', async () => {
    const body = `--XX${CRLF}${CRLF}${'x'.repeat(1_000_000)}${CRLF}--XX--${CRLF}`;
    expect(await parse(body)).toEqual({ form: {}, file: null });
  });
});

describe('a content type', () => {
  it.each<[string, boolean]>([
    ['multipart/form-data; boundary=abc', true],
    ['Multipart/Form-Data; charset=utf-8; boundary="a b"', true],
    ['application/x-www-form-urlencoded', false],
    ['multipart/mixed; boundary=abc', false],
    ['', false],
  ])('%j is multipart: %s', (type, expected) => {
    expect(isMultipart(type)).toBe(expected);
  });

  it('multipart/form-data without a boundary is refused', async () => {
    expect(await refusal(parse('x', LIMITS, 'multipart/form-data'))).toContain('boundary');
  });
});
