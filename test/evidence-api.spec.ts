import { mkdtemp, readdir } from 'node:fs/promises';
import { request as httpRequest } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { asOperator, seedRecords } from './support/resources.js';
import { KEYS, Stack, type Answer, type ProblemJson } from './support/stack.js';

type ResultJson = {
  filename: string;
  status: 'stored' | 'already_stored' | 'refused' | 'unknown';
  document: { id: string; filename: string; kind: string } | null;
  code: string | null;
};
type EvidenceJson = { data: ResultJson[] };
type DocumentsJson = { data: { id: string; filename: string; kind: string }[]; total: number };
type File = { readonly name: string; readonly bytes: Uint8Array };

const MB = 1_048_576;
const PDF = '%PDF-';
const PNG = Buffer.from('89504e470d0a1a0a', 'hex');

const pdf = (name = 'receipt.pdf', content = 'one'): File => ({ name, bytes: Buffer.from(PDF + content) });
const png = (name = 'delivery.png'): File => ({ name, bytes: Buffer.concat([PNG, Buffer.from('picture')]) });
/** A PDF of exactly so many bytes. */
const pdfOf = (size: number, name = 'large.pdf'): File => {
  const bytes = Buffer.alloc(size, 'x');
  bytes.write(PDF);
  return { name, bytes };
};

let stack: Stack;
let spool: string;
beforeAll(async () => {
  spool = await mkdtemp(join(tmpdir(), 'spool-'));
  stack = await Stack.start({ webhookUrl: null, api: { SPOOL_DIR: spool } });
});
afterAll(() => stack.stop());

const UPLOADS = 'POST /disputes/{id}/documents';
const path = (dispute: string): string => `/v1/disputes/${dispute}/evidence`;

async function send<T = EvidenceJson>(
  dispute: string,
  files: readonly File[],
  {
    kind,
    key = KEYS.ops,
    field = 'file',
    to = stack,
  }: { kind?: string; key?: string; field?: string; to?: Stack } = {},
): Promise<Answer<T>> {
  const form = new FormData();
  if (kind !== undefined) form.set('kind', kind);
  for (const { name, bytes } of files) form.append(field, new Blob([new Uint8Array(bytes)]), name);
  const response = await fetch(`${to.api.url}${path(dispute)}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}` },
    body: form,
  });
  return { status: response.status, headers: response.headers, body: (await response.json()) as T };
}

const documentsOf = async (dispute: string) => (await asOperator<DocumentsJson>(stack, 'GET', path(dispute))).body;
const uploads = (): number => stack.requests(UPLOADS).length;
const lose = (action: 'commit_then_reset' | 'reset_before' | 'status', more: object = {}): void =>
  stack.sandbox.faults.add({ method: 'POST', path: '/disputes/{id}/documents', action, times: 1, ...more });

/** Nothing of a request is left on disk: not now, and not under any name. */
const expectNothingSpooled = async (): Promise<void> => expect(await readdir(spool)).toEqual([]);

describe('evidence', () => {
  it('of several files is stored with a result for each file, and can be listed, read and removed', async () => {
    const { dispute } = seedRecords(stack);
    const answer = await send(dispute, [pdf(), png('ü "quoted".png')], { kind: 'proof of delivery' });
    expect(answer.status).toBe(201);
    expect(answer.body.data).toMatchObject([
      { filename: 'receipt.pdf', status: 'stored', document: { kind: 'proof of delivery' } },
      { filename: 'ü "quoted".png', status: 'stored' },
    ]);
    const { data, total } = await documentsOf(dispute);
    expect(total).toBe(2);
    expect(data.map(({ filename }) => filename)).toEqual(['receipt.pdf', 'ü "quoted".png']);

    const one = `${path(dispute)}/${data[0]?.id}`;
    expect(await asOperator(stack, 'GET', one)).toMatchObject({ status: 200, body: { filename: 'receipt.pdf' } });
    expect(await asOperator(stack, 'DELETE', one)).toMatchObject({ status: 200, body: { deleted: true } });
    expect(await asOperator(stack, 'DELETE', one)).toMatchObject({ status: 200, body: { deleted: true } });
    expect((await documentsOf(dispute)).total).toBe(1);
    expect(await asOperator(stack, 'GET', `/v1/disputes/${dispute}`)).toMatchObject({ body: { status: 'open' } });
    await expectNothingSpooled();
  });

  it('arrives byte by byte as it was sent, up to the limit', async () => {
    const { dispute } = seedRecords(stack);
    const file = pdfOf(10 * MB);
    const answer = await send<{ data: { document: { download_uri: string } }[] }>(dispute, [file]);
    expect(answer.status).toBe(201);
    const stored = await fetch(answer.body.data[0]?.document.download_uri ?? '');
    expect(Buffer.from(await stored.arrayBuffer()).equals(file.bytes)).toBe(true);
  });

  it('is not stored again when it is sent again, but a different file with the same name is stored', async () => {
    const { dispute } = seedRecords(stack);
    await send(dispute, [pdf(), png()]);
    const before = uploads();
    const again = await send(dispute, [pdf(), png()]);
    expect(again).toMatchObject({
      status: 200,
      body: { data: [{ status: 'already_stored' }, { status: 'already_stored' }] },
    });
    expect(uploads()).toBe(before);
    const other = await send(dispute, [pdf('receipt.pdf', 'two'), png()]);
    expect(other).toMatchObject({ status: 201, body: { data: [{ status: 'stored' }, { status: 'already_stored' }] } });
    expect((await documentsOf(dispute)).total).toBe(3);
  });

  it('is stored with a kind of 64 characters, however many bytes each has', async () => {
    const { dispute } = seedRecords(stack);
    const kind = '😀'.repeat(64);
    const answer = await send(dispute, [pdf()], { kind });
    expect(answer).toMatchObject({ status: 201, body: { data: [{ document: { kind } }] } });
  });

  it('is stored once when one request contains the same file twice', async () => {
    const { dispute } = seedRecords(stack);
    const answer = await send(dispute, [pdf(), pdf()]);
    expect(answer).toMatchObject({ status: 201, body: { data: [{ status: 'stored' }, { status: 'already_stored' }] } });
    expect((await documentsOf(dispute)).total).toBe(1);
  });

  it('is found by a lookup when the answer was lost, and is not sent again', async () => {
    const { dispute } = seedRecords(stack);
    const before = uploads();
    lose('commit_then_reset');
    expect(await send(dispute, [pdf()])).toMatchObject({ status: 201, body: { data: [{ status: 'stored' }] } });
    expect(uploads()).toBe(before + 1);
    expect((await documentsOf(dispute)).total).toBe(1);
  });

  it('is sent again after the lookup when the request was lost', async () => {
    const { dispute } = seedRecords(stack);
    lose('reset_before');
    expect((await send(dispute, [pdf()])).status).toBe(201);
    expect((await documentsOf(dispute)).total).toBe(1);
  });

  it('gets 207 when one file cannot be stored, and a repeated request stores only that file', async () => {
    const { dispute } = seedRecords(stack);
    lose('status', { status: 500, times: 3, after: 1 });
    const some = await send(dispute, [pdf(), png()]);
    stack.sandbox.faults.clear();
    expect(some).toMatchObject({
      status: 207,
      body: { data: [{ status: 'stored' }, { status: 'unknown', document: null }] },
    });
    const rest = await send(dispute, [pdf(), png()]);
    expect(rest).toMatchObject({ status: 201, body: { data: [{ status: 'already_stored' }, { status: 'stored' }] } });
  });

  it('gets the problem outcome_unknown when no file could be stored', async () => {
    const { dispute } = seedRecords(stack);
    lose('status', { status: 500, times: 3 });
    const answer = await send<ProblemJson>(dispute, [pdf()]);
    stack.sandbox.faults.clear();
    expect(answer).toMatchObject({ status: 504, body: { code: 'outcome_unknown' } });
  });

  it.each(['pending', 'won', 'lost'] as const)(
    'for a dispute that is %s is refused, and so is its removal',
    async (status) => {
      const { dispute } = seedRecords(stack);
      const { body } = await send(dispute, [pdf()]);
      stack.sandbox.decide(dispute, status);
      const before = uploads();
      const refused = await send<ProblemJson>(dispute, [pdf('new.pdf'), png()]);
      expect(refused).toMatchObject({ status: 409, body: { code: 'documents_locked' } });
      // Once is enough to know.
      expect(uploads()).toBe(before + 1);
      const taken = await asOperator<ProblemJson>(stack, 'DELETE', `${path(dispute)}/${body.data[0]?.document?.id}`);
      expect(taken).toMatchObject({ status: 409, body: { code: 'documents_locked' } });
      await expectNothingSpooled();
    },
  );

  it('gets 404 for a dispute that does not exist', async () => {
    expect(await send('dspt_test_none', [pdf()])).toMatchObject({ status: 404, body: { code: 'not_found' } });
  });
});

describe('evidence whose bytes the provider does not show', () => {
  let blind: Stack;
  beforeAll(async () => {
    blind = await Stack.start({ webhookUrl: null, worker: false, sandbox: { publicUrl: 'http://127.0.0.1:1' } });
  });
  afterAll(() => blind.stop());
  const storedAt = (dispute: string) => asOperator<DocumentsJson>(blind, 'GET', path(dispute));

  it('is stored even when another document has the same name', async () => {
    const { dispute } = seedRecords(blind);
    await send(dispute, [pdf()], { to: blind });
    const other = await send(dispute, [pdf('receipt.pdf', 'two'), pdf('receipt.pdf', 'three')], { to: blind });
    expect(other).toMatchObject({ status: 201, body: { data: [{ status: 'stored' }, { status: 'stored' }] } });
    expect((await storedAt(dispute)).body.total).toBe(3);
  });

  it('is recognized by its name when its answer was lost', async () => {
    const { dispute } = seedRecords(blind);
    blind.sandbox.faults.add({
      method: 'POST',
      path: '/disputes/{id}/documents',
      action: 'commit_then_reset',
      times: 1,
    });
    expect(await send(dispute, [pdf()], { to: blind })).toMatchObject({ status: 201 });
    expect((await storedAt(dispute)).body.total).toBe(1);
  });
});

it('the same file is stored once when several requests send it at the same time', async () => {
  const { dispute } = seedRecords(stack);
  const answers = await Promise.all([send(dispute, [pdf()]), send(dispute, [pdf()]), send(dispute, [pdf()])]);
  expect(answers.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([200, 200, 201]);
  expect((await documentsOf(dispute)).total).toBe(1);
});

it('the log names who uploaded evidence, and contains no file name', async () => {
  const { dispute } = seedRecords(stack);
  const answer = await send(dispute, [pdf('somchai-prasert.pdf')]);
  const line = stack.logs.find((one) => one.includes('evidence uploaded') && one.includes(dispute)) ?? '{}';
  expect(JSON.parse(line)).toMatchObject({
    audit: { kind: 'add_documents', target: dispute, by: 'ops', request_id: answer.headers.get('x-request-id') },
    documents: [{ id: answer.body.data[0]?.document?.id, status: 'stored' }],
  });
  expect(stack.logs.join('')).not.toContain('somchai');
});

it.each([5, 5 * MB])('evidence of %i bytes gets 500 when the disk cannot store it', async (size) => {
  const full = await Stack.start({ webhookUrl: null, worker: false, api: { SPOOL_DIR: join(spool, 'missing') } });
  try {
    const { dispute } = seedRecords(full);
    const answer = await send<ProblemJson>(dispute, [pdfOf(size)], { to: full });
    expect(answer).toMatchObject({ status: 500, body: { code: 'internal_error' } });
    expect(full.logs.join('')).toContain('SPOOL_DIR');
  } finally {
    await full.stop();
  }
});

describe('evidence that is refused before the provider is called', () => {
  const text: File = { name: 'note.txt', bytes: Buffer.from('hello') };
  const tooMany = Array.from({ length: 11 }, (_, n) => pdf(`${n}.pdf`));
  it.each<[string, readonly File[], { kind?: string; field?: string }, number, string, string | null]>([
    ['without a file', [], { kind: 'a' }, 400, 'invalid_request', 'file'],
    ['of another type', [text], {}, 422, 'unsupported_file_type', 'file[0]'],
    [
      'of another type by its content',
      [{ name: 'a.pdf', bytes: Buffer.from('GIF89a') }],
      {},
      422,
      'unsupported_file_type',
      'file[0]',
    ],
    ['of another type by its name', [{ ...pdf(), name: 'a.exe' }], {}, 422, 'unsupported_file_type', 'file[0]'],
    ['that is empty', [{ name: 'a.pdf', bytes: new Uint8Array() }], {}, 422, 'unsupported_file_type', 'file[0]'],
    ['with one wrong file among good ones', [pdf(), text, png()], {}, 422, 'unsupported_file_type', 'file[1]'],
    ['a byte too large', [pdf(), pdfOf(10 * MB + 1)], {}, 413, 'file_too_large', 'file[1]'],
    ['of too many files', tooMany, {}, 400, 'invalid_request', 'file'],
    ['with a kind that is too long', [pdf()], { kind: '😀'.repeat(65) }, 400, 'invalid_request', 'kind'],
    ['with a kind of control characters', [pdf()], { kind: 'a\u0000b' }, 400, 'invalid_request', 'kind'],
    ['under another name', [pdf()], { field: 'document' }, 400, 'invalid_request', 'document'],
    ['with a file name that is too long', [pdf(`${'x'.repeat(252)}.pdf`)], {}, 400, 'invalid_request', 'file[0]'],
  ])('%s gets the matching problem', async (_, files, options, status, code, where) => {
    const { dispute } = seedRecords(stack);
    const before = stack.sandbox.state(['requests']).requests?.length;
    const answer = await send<ProblemJson>(dispute, files, options);
    expect(answer).toMatchObject({ status, body: { status, code } });
    if (where !== null) expect(answer.body.errors?.map(({ path: field }) => field)).toEqual([where]);
    expect(stack.sandbox.state(['requests']).requests?.length).toBe(before);
    await expectNothingSpooled();
  });

  it.each([
    ['application/json', '{}', 415, 'unsupported_media_type'],
    ['text/plain', 'a', 415, 'unsupported_media_type'],
    ['multipart/form-data', 'a', 400, 'upload_incomplete'],
    ['multipart/form-data; boundary=b', 'a', 400, 'upload_incomplete'],
    [
      'multipart/form-data; boundary=b',
      '--b\r\nContent-Disposition: form-data; name="file"; filename="a.pdf"\r\n\r\n%PDF-',
      400,
      'upload_incomplete',
    ],
    ['multipart/form-data; boundary=b', `--b\r\n${'X-Header: x\r\n'.repeat(2_000)}\r\n`, 400, 'upload_incomplete'],
  ])('of type $0 with the body $1 gets the matching problem', async (type, body, status, code) => {
    const { dispute } = seedRecords(stack);
    const before = stack.sandbox.state(['requests']).requests?.length;
    const answer = await asOperator<ProblemJson>(stack, 'POST', path(dispute), {
      body,
      headers: { 'content-type': type },
    });
    expect(answer).toMatchObject({ status, body: { code } });
    expect(stack.sandbox.state(['requests']).requests?.length).toBe(before);
    await expectNothingSpooled();
  });

  it('with a Content-Length above the limit gets 413 before its body is read', async () => {
    const { dispute } = seedRecords(stack);
    const { hostname, port } = new URL(stack.api.url);
    const status = await new Promise<number>((resolve, reject) => {
      const request = httpRequest({
        hostname,
        port,
        method: 'POST',
        path: path(dispute),
        headers: {
          authorization: `Bearer ${KEYS.ops}`,
          'content-type': 'multipart/form-data; boundary=b',
          'content-length': 10 ** 10,
        },
      });
      request.once('response', (response) => {
        resolve(response.statusCode ?? 0);
        request.destroy();
      });
      request.once('error', reject);
      request.flushHeaders();
    });
    expect(status).toBe(413);
  });

  it('a multipart body to another route gets 415', async () => {
    const form = new FormData();
    form.set('reference', 'a');
    for (const other of ['/v1/checkouts', '/v1/recurring-plans', '/v1/account/api-version']) {
      const response = await fetch(`${stack.api.url}${other}`, {
        method: 'POST',
        headers: { authorization: `Bearer ${KEYS.ops}` },
        body: form,
      });
      expect(response.status).toBe(415);
    }
  });
});

it('an upload that the sender breaks off leaves no file on disk, and frees its place', async () => {
  const { dispute } = seedRecords(stack);
  const before = uploads();
  const { hostname, port } = new URL(stack.api.url);
  for (let times = 0; times < 6; times += 1) {
    await new Promise<void>((resolve) => {
      const request = httpRequest({
        hostname,
        port,
        method: 'POST',
        path: path(dispute),
        headers: {
          authorization: `Bearer ${KEYS.ops}`,
          'content-type': 'multipart/form-data; boundary=b',
          'content-length': 5 * MB,
        },
      });
      request.once('error', () => resolve());
      request.once('close', () => resolve());
      request.write('--b\r\nContent-Disposition: form-data; name="file"; filename="a.pdf"\r\n\r\n%PDF-', () => {
        setTimeout(() => request.destroy(), 50);
      });
    });
  }
  await expect.poll(() => readdir(spool)).toEqual([]);
  expect(uploads()).toBe(before);
  await expect.poll(async () => (await send(dispute, [pdf()])).status).toBe(201);
});

it('the API accepts only a few uploads at a time, and answers the others with 503 and Retry-After', async () => {
  const { dispute } = seedRecords(stack);
  stack.sandbox.faults.add({ method: 'GET', path: '/disputes/{id}/documents', action: 'delay', delay_ms: 1_000 });
  const answers = await Promise.all(Array.from({ length: 8 }, (_, n) => send<ProblemJson>(dispute, [pdf(`${n}.pdf`)])));
  stack.sandbox.faults.clear();
  const refused = answers.filter(({ status }) => status === 503);
  expect(answers.filter(({ status }) => status === 201).length).toBe(4);
  expect(refused.map(({ body: { code } }) => code)).toEqual(Array(4).fill('too_many_uploads'));
  expect(refused[0]?.headers.get('retry-after')).toBe('5');
});

it('no workflow history contains an uploaded file', async () => {
  const secret = 'evidence-that-no-history-may-hold';
  const { dispute } = seedRecords(stack);
  const { body } = await send(dispute, [pdf('secret.pdf', secret)]);
  await asOperator(stack, 'DELETE', `${path(dispute)}/${body.data[0]?.document?.id}`);
  let workflows = 0;
  for await (const { workflowId } of stack.temporal.client.workflow.list({
    query: `TaskQueue = '${stack.taskQueue}'`,
  })) {
    workflows += 1;
    const history = await stack.temporal.client.workflow.getHandle(workflowId).fetchHistory();
    const text = JSON.stringify(history, (_, value: unknown) =>
      value instanceof Uint8Array ? Buffer.from(value).toString('latin1') : value,
    );
    expect(text.includes(secret)).toBe(false);
  }
  expect(workflows).toBeGreaterThan(0);
});
