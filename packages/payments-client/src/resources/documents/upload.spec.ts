import { createReadStream, openAsBlob } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PassThrough, Readable } from 'node:stream';
import fc from 'fast-check';
import { describe, expect, onTestFinished, test } from 'vitest';
import { clientOf, provider, type Provider, refuse, reply, reset } from '../../../test/provider.js';
import { DOCUMENT, PNG } from '../../../test/samples.js';
import type { PaymentsClient } from '../../client.js';
import { InvalidRequestError, RequestAbortedError, TimeoutError } from '../../errors.js';
import type { RequestOptions } from '../../options.js';
import type { DocumentCreateParams } from './upload.js';

type Input = DocumentCreateParams['file'];

const MAX_BYTES = 10 * 1024 * 1024;
const JPEG = Buffer.from('ffd8ffe000104a46494600', 'hex');
const PDF = Buffer.from('%PDF-1.7\n%\u00e2\u00e3\n', 'latin1');

const upload = (client: PaymentsClient, params: DocumentCreateParams, options?: RequestOptions): Promise<unknown> =>
  client.disputes.createDocument('dspt_test_1', params, options);

const accepting = (): Promise<Provider> => provider(reply(200, DOCUMENT));

/** The form of the last request, parsed by the platform. */
async function formOf(fake: Provider): Promise<FormData> {
  const seen = fake.seen.at(-1);
  const headers = { 'content-type': seen?.headers['content-type'] ?? '' };
  return await new Response(seen?.bytes, { headers }).formData();
}

async function fileOf(fake: Provider): Promise<{ name: string; type: string; bytes: Buffer }> {
  const file = (await formOf(fake)).get('file');
  if (!(file instanceof File)) throw new Error('the form has no file');
  return { name: file.name, type: file.type, bytes: Buffer.from(await file.arrayBuffer()) };
}

describe('an uploaded document', () => {
  test('is one multipart request with its file, name, type and kind', async () => {
    const fake = await accepting();
    await upload(clientOf(fake), { file: PNG, filename: 'receipt.png', kind: 'proof of delivery ✓' });
    expect(fake.seen).toHaveLength(1);
    expect(fake.seen[0]?.headers['content-length']).toBe(String(fake.seen[0]?.bytes.length));
    expect(await fileOf(fake)).toEqual({ name: 'receipt.png', type: 'image/png', bytes: PNG });
    expect((await formOf(fake)).get('kind')).toBe('proof of delivery ✓');
  });

  test('has no kind unless one is given', async () => {
    const fake = await accepting();
    await upload(clientOf(fake), { file: PNG, filename: 'receipt.png' });
    expect([...(await formOf(fake)).keys()]).toEqual(['file']);
  });

  test.each<[string, () => Input]>([
    ['a Buffer', () => PNG],
    ['a view of a larger buffer', () => new Uint8Array([...JPEG, ...PNG, ...JPEG]).subarray(JPEG.length, -JPEG.length)],
    ['a Blob', () => new Blob([PNG.subarray(0, 3), PNG.subarray(3)])],
    ['a File', () => new File([PNG], 'receipt.png')],
    ['a Node stream', () => Readable.from([PNG.subarray(0, 1), PNG.subarray(1, 5), PNG.subarray(5)])],
    ['a web stream', () => new Blob([PNG]).stream()],
    ['a generator', () => inTwo(PNG)],
  ])('may come as %s', async (_, make) => {
    const fake = await accepting();
    await upload(clientOf(fake), { file: make(), filename: 'receipt.png' });
    expect((await fileOf(fake)).bytes.equals(PNG)).toBe(true);
  });

  test('may come from the disk', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'tillflow-'));
    onTestFinished(() => rm(folder, { recursive: true }));
    const path = join(folder, 'receipt.png');
    await writeFile(path, PNG);
    for (const file of [await openAsBlob(path), createReadStream(path)]) {
      const fake = await accepting();
      await upload(clientOf(fake), { file, filename: 'receipt.png' });
      expect((await fileOf(fake)).bytes.equals(PNG)).toBe(true);
    }
  });

  test('is sent again with the same bytes after a 429, although a stream can be read only once', async () => {
    const fake = await provider(refuse(429, 'too_many_requests'), reply(200, DOCUMENT));
    await upload(clientOf(fake), { file: Readable.from([PNG]), filename: 'receipt.png' });
    expect(fake.seen).toHaveLength(2);
    expect(fake.seen[1]?.bytes.equals(fake.seen[0]?.bytes ?? Buffer.of())).toBe(true);
  });

  test('is not sent again when the connection broke', async () => {
    const fake = await provider(reset);
    await expect(upload(clientOf(fake), { file: PNG })).rejects.toMatchObject({ outcome: 'unknown' });
    expect(fake.seen).toHaveLength(1);
  });

  test('that the provider refuses is rejected', async () => {
    const fake = await provider(refuse(400, 'documents_locked'));
    const refusal = { code: 'documents_locked', outcome: 'rejected' };
    await expect(upload(clientOf(fake), { file: PNG })).rejects.toMatchObject(refusal);
  });

  test('whose reply has the other mode is an integrity error', async () => {
    const fake = await provider(reply(200, { ...DOCUMENT, livemode: true }));
    const mismatch = { code: 'integrity_mismatch', fields: ['livemode'], outcome: 'unknown' };
    await expect(upload(clientOf(fake), { file: PNG })).rejects.toMatchObject(mismatch);
  });
});

describe('the filename', () => {
  test.each<[string | undefined, Input, string]>([
    [undefined, PNG, 'document.png'],
    [undefined, JPEG, 'document.jpg'],
    [undefined, PDF, 'document.pdf'],
    ['', PNG, 'document.png'],
    [undefined, new File([PNG], 'from the file.png'), 'from the file.png'],
    ['given.png', new File([PNG], 'from the file.png'), 'given.png'],
    ['RECEIPT.PNG', PNG, 'RECEIPT.PNG'],
    ['photo.jpeg', JPEG, 'photo.jpeg'],
    ['no ending', PDF, 'no ending'],
    ['/home/someone/receipt.png', PNG, 'receipt.png'],
    [String.raw`C:\Users\someone\receipt.png`, PNG, 'receipt.png'],
    ['ใบเสร็จ ✓.png', PNG, 'ใบเสร็จ ✓.png'],
    ['semi;colon, comma=.png', PNG, 'semi;colon, comma=.png'],
  ])('%j becomes the name that the provider receives', async (filename, file, expected) => {
    const fake = await accepting();
    await upload(clientOf(fake), { file, filename });
    expect((await fileOf(fake)).name).toBe(expected);
  });

  test('the filename breaks neither its line nor its quotes, whatever it contains', async () => {
    const fake = await accepting();
    const client = clientOf(fake);
    const hostile = fc.oneof(
      fc.string({ unit: 'binary' }),
      fc.string({ unit: fc.constantFrom('"', '\r', '\n', '%', '\0', '\t', ';', '=', '-', 'é', '\u2028', 'a') }),
    );
    await fc.assert(
      fc.asyncProperty(hostile, async (text) => {
        await upload(client, { file: PNG, filename: `${text}.png`, kind: 'receipt' });
        const form = await formOf(fake);
        expect([...form.keys()]).toEqual(['kind', 'file']);
        expect(form.get('kind')).toBe('receipt');
        expect((await fileOf(fake)).bytes.equals(PNG)).toBe(true);
        const head = fake.seen.at(-1)?.bytes.toString('latin1').split('\r\n\r\n')[1]?.split('\r\n') ?? [];
        expect(head.at(-1)).toBe('Content-Type: image/png');
        expect(head.at(-2)).toMatch(/^Content-Disposition: form-data; name="file"; filename="[^"\r\n]*"$/);
      }),
      { numRuns: 100 },
    );
  });

  test('the filename and the kind cannot add a part to the form', async () => {
    const fake = await accepting();
    const kind = 'a"\r\n\r\n--x\r\nContent-Disposition: form-data; name="file"\r\n\r\nb';
    await upload(clientOf(fake), { file: PNG, kind });
    expect([...(await formOf(fake)).keys()]).toEqual(['kind', 'file']);
    expect((await formOf(fake)).get('kind')).toBe(kind);
  });
});

describe('a file is refused before anything is sent', () => {
  test.each<[string, DocumentCreateParams, string]>([
    ['because its content is text', { file: Buffer.from('hello'), filename: 'a.png' }, 'invalid_file_type'],
    ['because it is empty', { file: Buffer.of(), filename: 'a.png' }, 'invalid_file_type'],
    ['because it is only the beginning of a PNG', { file: PNG.subarray(0, 7), filename: 'a.png' }, 'invalid_file_type'],
    ['because it is a GIF', { file: Buffer.from('GIF89a'), filename: 'a.gif' }, 'invalid_file_type'],
    ['because a PNG has another name', { file: PNG, filename: 'a.exe' }, 'invalid_file_type'],
    ['because a PDF is named as a picture', { file: PDF, filename: 'a.png' }, 'invalid_file_type'],
    ['because its File has another name', { file: new File([PNG], 'a.html') }, 'invalid_file_type'],
    ['because its bytes are above 10 MB', { file: pngOf(MAX_BYTES + 1) }, 'file_too_large'],
    ['because its Blob is above 10 MB', { file: new Blob([pngOf(MAX_BYTES + 1)]) }, 'file_too_large'],
    ['because its stream is above 10 MB', { file: new Blob([pngOf(MAX_BYTES + 1)]).stream() }, 'file_too_large'],
    ['because its stream yields text', { file: Readable.from(['hello']) }, 'invalid_parameter'],
    ['because its stream fails', { file: inTwo(PNG, new Error('the disk is gone')) }, 'unreadable_file'],
    ['because it is a text', { file: 'receipt.png' as unknown as Buffer }, 'invalid_parameter'],
    ['because it is missing', { file: undefined as unknown as Buffer }, 'invalid_parameter'],
  ])('%s', async (_, params, code) => {
    const fake = await accepting();
    const refusal = upload(clientOf(fake), params);
    await expect(refusal).rejects.toBeInstanceOf(InvalidRequestError);
    await expect(refusal).rejects.toMatchObject({ code, outcome: 'not_sent', retryable: false });
    expect(fake.seen).toEqual([]);
  });

  test.each<[string, Input]>([
    ['bytes', pngOf(MAX_BYTES)],
    ['a Blob', new Blob([pngOf(MAX_BYTES)])],
    ['a stream', new Blob([pngOf(MAX_BYTES)]).stream()],
  ])('unless it has exactly 10 MB, as %s', async (_, file) => {
    const fake = await accepting();
    await upload(clientOf(fake), { file });
    expect((await fileOf(fake)).bytes).toHaveLength(MAX_BYTES);
  });

  test('without being read, when it is a Blob above 10 MB', async () => {
    const fake = await accepting();
    const blob = new Blob([pngOf(MAX_BYTES + 1)]);
    blob.stream = () => {
      throw new Error('it was read');
    };
    await expect(upload(clientOf(fake), { file: blob })).rejects.toMatchObject({ code: 'file_too_large' });
  });

  test('at the size limit, when it is a stream without end; the stream is closed', async () => {
    const fake = await accepting();
    let taken = 0;
    let left = false;
    async function* endless(): AsyncGenerator<Uint8Array> {
      try {
        for (;;) {
          yield pngOf(1024 * 1024);
          taken += 1;
        }
      } finally {
        left = true;
      }
    }
    await expect(upload(clientOf(fake), { file: endless() })).rejects.toMatchObject({ code: 'file_too_large' });
    await expect.poll(() => left, { timeout: 20_000 }).toBe(true);
    expect(taken).toBeLessThan(50);
    expect(fake.seen).toEqual([]);
  });

  test('when the call is aborted while the stream stalls', async () => {
    const fake = await accepting();
    const caller = new AbortController();
    const stalled = new PassThrough();
    const call = upload(clientOf(fake), { file: stalled }, { signal: caller.signal });
    stalled.write(PNG);
    caller.abort(new Error('the page was closed'));
    await expect(call).rejects.toBeInstanceOf(RequestAbortedError);
    await expect(call).rejects.toMatchObject({ outcome: 'not_sent', cause: { message: 'the page was closed' } });
    expect(stalled.destroyed).toBe(true);
    expect(fake.seen).toEqual([]);
  });

  test('at the deadline, when the stream stalls', async () => {
    const fake = await accepting();
    const stalled = new PassThrough();
    const call = upload(clientOf(fake), { file: stalled }, { deadlineMs: 50 });
    await expect(call).rejects.toBeInstanceOf(TimeoutError);
    await expect(call).rejects.toMatchObject({ code: 'deadline_exceeded', outcome: 'not_sent' });
    expect(stalled.destroyed).toBe(true);
    expect(fake.seen).toEqual([]);
  });

  test('without being read, when the call is already aborted', async () => {
    const fake = await accepting();
    let asked = false;
    async function* bytes(): AsyncGenerator<Uint8Array> {
      asked = true;
      yield PNG;
    }
    const call = upload(clientOf(fake), { file: bytes() }, { signal: AbortSignal.abort() });
    await expect(call).rejects.toMatchObject({ code: 'aborted', outcome: 'not_sent' });
    expect(asked).toBe(false);
  });
});

async function* inTwo(bytes: Uint8Array, failure?: Error): AsyncGenerator<Uint8Array> {
  yield bytes.subarray(0, 2);
  if (failure) throw failure;
  yield bytes.subarray(2);
}

function pngOf(size: number): Buffer<ArrayBuffer> {
  const bytes = Buffer.alloc(size);
  PNG.copy(bytes);
  return bytes;
}
