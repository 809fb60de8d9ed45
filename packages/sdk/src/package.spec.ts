import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { gzipSync } from 'node:zlib';
import { bundle, compile, CONSUMER_TSCONFIG, PackedPackage, program } from '@tillflow/packaging';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { api, checkoutOf, json, lost, problem } from '../test/api.js';

const run = promisify(execFile);
const isCi = process.env['CI'] === 'true';

/** Bytes of all of the SDK, minified and compressed. */
const LARGEST = 12_288;

/** A program that uses each part of the SDK. It compiles only when the types resolve. */
const PROGRAM = `
  import { type Checkout, NotPaidError, Tillflow, TillflowError, webhooks } from '@tillflow/sdk';
  const tillflow = new Tillflow({ baseUrl: process.argv[2] ?? '', key: 'key-of-a-till' });
  const sale = { reference: 'till-7-000142', amount: 150_000, currency: 'THB' } as const;
  const checkout: Checkout = await tillflow.checkouts.create(sale);
  const image: string | undefined = checkout.qr?.image_url;
  const options: { signal?: AbortSignal | undefined } = { signal: AbortSignal.timeout(60_000) };
  const paid = await tillflow.checkouts.untilPaid(checkout.id, options);
  const refused: unknown = await tillflow.checkouts.refund(paid.id).catch((error: unknown) => error);
  if (!(refused instanceof TillflowError) || refused instanceof NotPaidError) throw refused;
  const body = JSON.stringify({ type: 'checkout.paid', timestamp: '2026-11-21T05:31:02.310Z', data: paid });
  const secret = 'whsec_c2VjcmV0';
  const event = await webhooks.verify(body, await webhooks.sign(body, secret, { id: 'evt_1' }), [secret]);
  if (event.type === 'endpoint.test') throw new Error(event.data.endpoint);
  const sold: Checkout = event.data;
  console.log(checkout.amount, image !== undefined, sold.status, refused.code, refused.money, event.id);
`;
const PRINTED = '150000 true paid not_found not_moved evt_1';

const WRONG = `
  import { Tillflow } from '@tillflow/sdk';
  const tillflow = new Tillflow({ baseUrl: '', key: '' });
  await tillflow.checkouts.create({ reference: 'a', amount: '1', currency: 'THB' });
`;

/** A page, with no types but those of TypeScript, which also checks the SDK's own. */
const PAGE_TSCONFIG = JSON.stringify({
  compilerOptions: {
    module: 'esnext',
    moduleResolution: 'bundler',
    target: 'es2022',
    lib: ['es2022', 'dom'],
    strict: true,
    exactOptionalPropertyTypes: true,
    types: [],
    skipLibCheck: false,
    noEmit: true,
  },
});

/** npm has Node, Bun and Deno for these platforms. */
const BUILT: ReadonlySet<string> = new Set(['darwin-arm64', 'darwin-x64', 'linux-arm64', 'linux-x64']);

const FILES = { 'package.json': '{"type":"module"}', 'tsconfig.json': CONSUMER_TSCONFIG, 'main.ts': PROGRAM };

/** An API that loses the first answer, answers 202 to the second request, and streams the payment. */
async function sale(): Promise<string> {
  const open = checkoutOf();
  const paid = checkoutOf({ status: 'paid', qr: null, version: 3 });
  const creating = json(202, checkoutOf({ status: 'creating', qr: null, version: 1 }));
  const { baseUrl } = await api(
    lost,
    creating,
    json(200, open),
    json(200, open),
    (response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.write(': here\n\n');
      // The end of the sale: every request after it is refused.
      setTimeout(() => response.write(`event: checkout\ndata: ${JSON.stringify(paid)}\n\n`), 50);
    },
    problem(404, 'not_found'),
  );
  return baseUrl;
}

describe('the packed package', () => {
  let packed: PackedPackage;

  beforeAll(async () => {
    packed = await PackedPackage.pack(fileURLToPath(new URL('..', import.meta.url)));
  });
  afterAll(() => packed.remove());

  test('depends on nothing', async () => {
    const manifest: unknown = JSON.parse(await readFile(join(packed.folder, 'package.json'), 'utf8'));
    expect(manifest).toMatchObject({ type: 'module', sideEffects: false });
    for (const kind of ['dependencies', 'peerDependencies', 'optionalDependencies'])
      expect(manifest).not.toHaveProperty(kind);
  });

  test('contains the code, its types and sources, and no test', async () => {
    const files = await readdir(packed.folder, { recursive: true });
    const some = ['README.md', join('dist', 'index.js'), join('dist', 'index.d.ts'), join('src', 'index.ts')];
    expect(files).toEqual(expect.arrayContaining(some));
    expect(files.filter((file) => /\.spec\.|tsbuildinfo|^test/.test(file))).toEqual([]);
    const compiled = files.filter((file) => file.startsWith('dist') && file.endsWith('.js'));
    const sources = compiled.map((file) => file.replace('dist', 'src').replace(/\.js$/, '.ts'));
    expect(sources.filter((file) => !existsSync(join(packed.folder, file)))).toEqual([]);
  });

  test('has no finding of publint', async () => {
    expect(await packed.mistakes()).toEqual([]);
  });

  test('has types that resolve for ESM, by are-the-types-wrong', async () => {
    const types = expect.stringMatching(/dist\/index\.d\.ts$/);
    expect(await packed.types()).toEqual({ problems: [], files: [types, types] });
  });

  test('works for a consumer with nodenext: it compiles, runs, and wrong types fail', async () => {
    const folder = await packed.consumer('nodenext', FILES);
    expect(await compile(folder)).toBe('');
    const { stdout } = await run(process.execPath, [join(folder, 'main.js'), await sale()]);
    expect(stdout.trim()).toBe(PRINTED);

    await writeFile(join(folder, 'main.ts'), WRONG);
    expect(await compile(folder)).toContain("Type 'string' is not assignable to type 'number'");
  });

  test('compiles in a page that has no types of Node, and checks the types of the package too', async () => {
    const page = {
      'tsconfig.json': PAGE_TSCONFIG,
      'main.ts': PROGRAM.replace(/process\.argv.*?''/, 'location.origin'),
    };
    expect(await compile(await packed.consumer('page', { ...FILES, ...page }))).toBe('');
  });

  test('works for a consumer with a bundler for browsers: one file runs where nothing is installed', async () => {
    const { code } = await bundle(await packed.consumer('bundled', FILES), { platform: 'browser' });
    const { stdout } = await run(process.execPath, [await packed.fileAlone('bundled.mjs', code), await sale()]);
    expect(stdout.trim()).toBe(PRINTED);
  });

  test(`has at most ${LARGEST} bytes, minified and compressed`, async () => {
    const all = { ...FILES, 'main.ts': "export * from '@tillflow/sdk';" };
    const { code } = await bundle(await packed.consumer('all', all), { platform: 'browser', minify: true });
    expect(code).toContain('idempotency-key');
    expect(gzipSync(code).length).toBeLessThanOrEqual(LARGEST);
  });

  test('puts no client into a bundle that only verifies events', async () => {
    const only = {
      ...FILES,
      'main.ts': "import { webhooks } from '@tillflow/sdk'; console.log(webhooks.verify.length);",
    };
    const { modules } = await bundle(await packed.consumer('only', only), { platform: 'browser' });
    expect(modules.flatMap((id) => /sdk\/dist\/(.+)$/.exec(id)?.[1] ?? [])).toEqual(['webhooks.js']);
  });

  test.for([
    ['node', '20.20.2', []],
    ['node', '22.23.3', []],
    ['node', '24.21.0', []],
    ['bun', '1.4.4', ['run']],
    ['deno', '2.9.6', ['run', '--allow-net', '--allow-read', '--allow-env']],
  ] as const)('runs on %s %s', { tags: ['full'], timeout: 300_000 }, async ([name, version, args], { skip }) => {
    const { path, reason } = await program(name, version);
    // CI must not pass without having run it.
    if (path === null && isCi && BUILT.has(`${process.platform}-${process.arch}`)) return expect.fail(reason);
    if (path === null) return skip(reason);
    const folder = await packed.consumer(`${name}-${version}`, FILES);
    expect(await compile(folder)).toBe('');
    const { stdout } = await run(path, [...args, join(folder, 'main.js'), await sale()], { cwd: folder });
    expect(stdout.trim()).toBe(PRINTED);
  });
});
