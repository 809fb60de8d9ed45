import { request } from 'node:http';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { describe, expect, it } from 'vitest';
import type { DisputeJson, DocumentJson } from '../index.js';
import { basic, openSandbox, type Bench, type ListBody } from '../../test/harness.js';

setFlagsFromString('--expose-gc');
const collectGarbage = runInNewContext('gc') as () => void;

const AT = '2026-03-10T09:00:00.000Z';
const PNG = Buffer.concat([Buffer.from('89504e470d0a1a0a', 'hex'), Buffer.from('picture')]);
const JPEG = Buffer.concat([Buffer.from('ffd8ffe0', 'hex'), Buffer.from('photo')]);
const PDF = Buffer.from('%PDF-1.7 text');
const MOST = 10 * 1_024 * 1_024;

async function open() {
  const bench = await openSandbox({ seed: 's', now: AT, frozen: true });
  const { disputes } = bench.sandbox.seedRecords({ disputes: [{}] });
  const [id = ''] = disputes;
  const documents = `/disputes/${id}/documents`;
  return { ...bench, id, documents };
}

type Sent = {
  readonly status: number;
  readonly body: DocumentJson & { readonly code: string; readonly message: string };
};

async function upload(
  bench: Bench,
  path: string,
  content: Buffer,
  filename = 'bill.png',
  kind?: string,
): Promise<Sent> {
  const form = new FormData();
  form.append('file', new Blob([Uint8Array.from(content)]), filename);
  if (kind !== undefined) form.append('kind', kind);
  const headers = { authorization: basic(bench.sandbox.keys.secret) };
  const response = await fetch(bench.url + path, { method: 'POST', headers, body: form });
  return { status: response.status, body: (await response.json()) as Sent['body'] };
}

describe('a dispute', () => {
  it('shows its charge, and its charge shows it', async () => {
    const bench = await open();
    const { body } = await bench.call<DisputeJson>('GET', `/disputes/${bench.id}`);
    expect(body).toMatchObject({ amount: 150_000, currency: 'THB', status: 'open', closed_at: null, created_at: AT });
    const [charge] = bench.sandbox.state().charges;
    expect(charge).toMatchObject({ id: body.charge, paid: true, dispute: bench.id });
    expect((await bench.call('GET', '/disputes/x')).status).toBe(404);
  });

  it('is decided once, and each step sends an event', async () => {
    const bench = await open();
    const decide = async (status: string) =>
      await bench.control<DisputeJson>('POST', `/disputes/${bench.id}`, { status });
    expect((await decide('pending')).body).toMatchObject({ status: 'pending', closed_at: null });
    bench.sandbox.advance(60);
    expect((await decide('won')).body).toMatchObject({ status: 'won', closed_at: '2026-03-10T09:01:00.000Z' });
    expect((await decide('lost')).status).toBe(400);
    expect((await decide('closed')).status).toBe(400);
    const keys = bench.sandbox.state().events.map(({ key }) => key);
    expect(keys.filter((key) => key.startsWith('dispute.'))).toEqual([
      'dispute.create',
      'dispute.update',
      'dispute.close',
    ]);
  });
});

describe('a document', () => {
  it('sent as a file is stored, listed, shown and downloaded without a key', async () => {
    const bench = await open();
    const { status, body } = await upload(bench, bench.documents, PNG, 'ใบเสร็จ.png', 'receipt');
    expect(status).toBe(200);
    expect(body).toEqual({
      object: 'document',
      livemode: false,
      id: expect.stringMatching(/^docu_test_[0-9a-z]{19}$/),
      deleted: false,
      filename: 'ใบเสร็จ.png',
      location: `${bench.documents}/${body.id}`,
      kind: 'receipt',
      download_uri: expect.stringContaining(`${bench.url}/download/`),
      created_at: AT,
    });
    expect((await bench.call('GET', body.location)).body).toEqual(body);
    expect((await bench.call<ListBody<DocumentJson>>('GET', bench.documents)).body).toMatchObject({
      data: [body],
      total: 1,
    });
    const download = await fetch(body.download_uri);
    expect(Buffer.from(await download.arrayBuffer())).toEqual(PNG);
    expect(download.headers.get('content-type')).toBe('image/png');
    expect(download.headers.get('x-content-type-options')).toBe('nosniff');
    const head = await fetch(body.download_uri, { method: 'HEAD' });
    expect([head.status, head.headers.get('content-length')]).toEqual([200, String(PNG.length)]);
    expect((await fetch(body.download_uri, { method: 'POST' })).status).toBe(404);
    expect(bench.sandbox.state().events.at(-1)).toMatchObject({
      key: 'dispute.update',
      data: { documents: { data: [body] } },
    });
    expect(bench.sandbox.state().requests[0]?.form).toEqual({
      kind: 'receipt',
      file: `ใบเสร็จ.png, ${PNG.length} bytes`,
    });
  });

  it.each<[string, string, string]>([
    ['base64', PNG.toString('base64'), 'document.png'],
    ['a data address', `data:application/pdf;base64,${PDF.toString('base64')}`, 'document.pdf'],
    ['base64 of a photo', JPEG.toString('base64'), 'document.jpg'],
    ['the text of a PDF', PDF.toString(), 'document.pdf'],
  ])('may be %s in the documented form', async (_how, file, filename) => {
    const bench = await open();
    const { status, body } = await bench.call<DocumentJson>('POST', bench.documents, { form: { file } });
    expect(status).toBe(200);
    expect(body).toMatchObject({ filename, kind: 'other' });
    expect(bench.sandbox.state().requests[0]?.form).toEqual({ file: `${file.length} characters` });
  });

  it.each<[string, Buffer, string, number, string | undefined]>([
    ['a PNG', PNG, 'a.png', 200, undefined],
    ['a PNG with a loud name', PNG, 'A.PNG', 200, undefined],
    ['a JPEG', JPEG, 'a.jpeg', 200, undefined],
    ['a PDF', PDF, 'a.pdf', 200, undefined],
    ['a PDF without an ending', PDF, 'bill', 200, undefined],
    ['a PDF that is named a picture', PDF, 'a.png', 400, 'invalid_file_type'],
    ['a text that is named a PDF', Buffer.from('hello'), 'a.pdf', 400, 'invalid_file_type'],
    ['a page', Buffer.from('<html>'), 'a.html', 400, 'invalid_file_type'],
    ['a PNG that is named a script', PNG, 'a.png.js', 400, 'invalid_file_type'],
    ['nothing', Buffer.alloc(0), 'a.png', 400, 'invalid_file_type'],
  ])('that is %s is judged by content and name', async (_what, content, filename, status, code) => {
    const bench = await open();
    const reply = await upload(bench, bench.documents, content, filename);
    expect([reply.status, reply.body.code]).toEqual([status, code]);
    expect(bench.sandbox.state().documents).toHaveLength(status === 200 ? 1 : 0);
  });

  it('may have exactly the size limit, as a file or as text', async () => {
    const bench = await open();
    const fits = Buffer.concat([PNG, Buffer.alloc(MOST - PNG.length)]);
    expect((await upload(bench, bench.documents, fits)).status).toBe(200);
    expect((await bench.call('POST', bench.documents, { form: { file: fits.toString('base64') } })).status).toBe(200);
    const larger = Buffer.concat([fits, Buffer.alloc(1)]);
    const refused = await upload(bench, bench.documents, larger);
    expect(refused).toMatchObject({ status: 400, body: { code: 'bad_request' } });
    expect(refused.body.message).toContain('too large');
    const encoded = await bench.call('POST', bench.documents, { form: { file: larger.toString('base64') } });
    expect(encoded).toMatchObject({ status: 400, body: { code: 'bad_request' } });
    expect(bench.sandbox.state().documents).toHaveLength(2);
  });

  it('that is far too large is not held in memory', async () => {
    const bench = await open();
    const piece = Buffer.alloc(1_024 * 1_024);
    const held = (): number => {
      collectGarbage();
      return process.memoryUsage().arrayBuffers;
    };
    const before = held();
    let most = 0;
    const status = await new Promise<number>((resolve, reject) => {
      const sending = request(`${bench.url}${bench.documents}`, {
        method: 'POST',
        headers: {
          authorization: basic(bench.sandbox.keys.secret),
          'content-type': 'multipart/form-data; boundary=XX',
        },
      });
      sending.on('error', reject);
      sending.on('response', (response) => {
        response.resume();
        resolve(response.statusCode ?? 0);
      });
      sending.write('--XX\r\nContent-Disposition: form-data; name="file"; filename="a.png"\r\n\r\n');
      let left = 128;
      const go = (): void => {
        if (left % 16 === 0) most = Math.max(most, held());
        if (left === 0) {
          sending.end('\r\n--XX--\r\n');
          return;
        }
        left -= 1;
        sending.write(piece, go);
      };
      go();
    });
    expect(status).toBe(400);
    expect(most - before).toBeLessThan(64 * 1_024 * 1_024);
  });

  it.each<[string, Record<string, string>, string]>([
    ['a form without a file', { kind: 'x' }, 'bad_request'],
    ['a file that is an object', { 'file[a]': 'x' }, 'bad_request'],
    ['a text', { file: 'hello' }, 'invalid_file_type'],
  ])('that is %s is refused', async (_what, form, code) => {
    const bench = await open();
    expect(await bench.call('POST', bench.documents, { form })).toMatchObject({ status: 400, body: { code } });
  });

  it('in a body that is malformed, or under another name, is refused', async () => {
    const bench = await open();
    const send = async (type: string, form: string) =>
      await bench.call('POST', bench.documents, { form, headers: { 'content-type': type } });
    expect((await send('multipart/form-data', 'x')).status).toBe(400);
    expect((await send('multipart/form-data; boundary=XX', 'x')).status).toBe(400);
    const other = '--XX\r\nContent-Disposition: form-data; name="photo"; filename="a.png"\r\n\r\nx\r\n--XX--\r\n';
    expect((await send('multipart/form-data; boundary=XX', other)).body.message).toContain('photo');
    expect((await bench.call('GET', '/account')).status).toBe(200);
  });

  it('is refused by other routes', async () => {
    const bench = await open();
    expect(await upload(bench, '/charges', PNG)).toMatchObject({ status: 400, body: { code: 'bad_request' } });
  });

  it('can be deleted, and is then not found', async () => {
    const bench = await open();
    const { body } = await upload(bench, bench.documents, PNG);
    expect((await bench.call<DocumentJson>('DELETE', body.location)).body).toEqual({ ...body, deleted: true });
    expect((await bench.call('GET', body.location)).status).toBe(404);
    expect((await bench.call('DELETE', body.location)).status).toBe(404);
    expect((await fetch(body.download_uri)).status).toBe(404);
    expect((await bench.call<ListBody<DocumentJson>>('GET', bench.documents)).body.total).toBe(0);
  });
});
