import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { checkPackage, createPackageFromTarballData } from '@arethetypeswrong/core';
import { publint } from 'publint';
import { rolldown, type RolldownOutput } from 'rolldown';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { compile, PackedPackage } from '../test/consumer.js';
import { chargeOf, provider, reply, SECRET_KEY } from '../test/provider.js';
import { DOCUMENT } from '../test/samples.js';

const run = promisify(execFile);

/** A program that uses the client. It compiles only when the types resolve. */
const PROGRAM = `
  import { type Charge, PaymentsClient, PaymentsError, webhooks } from '@tillflow/payments-client';
  const client = new PaymentsClient({ baseUrl: process.argv[2] ?? '', secretKey: '${SECRET_KEY}' });
  const charge: Charge = await client.charges.create({ amount: 150_000, currency: 'THB', source: { type: 'wallet_mpm' } });
  const money: number = charge.amount;
  const image: string | null | undefined = charge.source?.scannable_code?.image?.download_uri;
  const refused = await client.charges.retrieve('').catch((error: unknown) => error);
  const signed: Record<string, string> = webhooks.sign('{}', { secret: 'c2VjcmV0', timestamp: 1_749_427_200 });
  console.log(money, image, refused instanceof PaymentsError && refused.outcome, Object.keys(signed).length);
`;
const PRINTED = `150000 ${DOCUMENT.download_uri} not_sent 2`;

const WRONG = `
  import { PaymentsClient } from '@tillflow/payments-client';
  const client = new PaymentsClient({ baseUrl: '', secretKey: '' });
  await client.charges.create({ amount: '1', currency: 'THB', source: 'src_1' });
`;

const TSCONFIG = JSON.stringify({
  compilerOptions: {
    module: 'nodenext',
    moduleResolution: 'nodenext',
    target: 'es2023',
    lib: ['es2023'],
    strict: true,
    exactOptionalPropertyTypes: true,
    types: ['node'],
    // The client's types are checked where they are used; those of undici and zod are not this package's.
    skipLibCheck: true,
  },
});

describe('the packed package', () => {
  let packed: PackedPackage;

  beforeAll(async () => {
    packed = await PackedPackage.pack();
  });
  afterAll(() => packed.remove());

  test('depends on undici and zod, in exact versions, and on nothing else', async () => {
    const manifest: unknown = JSON.parse(await readFile(join(packed.folder, 'package.json'), 'utf8'));
    const exact = expect.stringMatching(/^\d+\.\d+\.\d+$/);
    expect(manifest).toMatchObject({ type: 'module', sideEffects: false, dependencies: { undici: exact, zod: exact } });
    expect(Object.keys((manifest as { dependencies: object }).dependencies)).toEqual(['undici', 'zod']);
    expect(manifest).not.toHaveProperty('peerDependencies');
    expect(manifest).not.toHaveProperty('optionalDependencies');
  });

  test('contains the code, its types, sources and pages, and no test', async () => {
    const files = await readdir(packed.folder, { recursive: true });
    expect(files).toEqual(
      expect.arrayContaining([
        'README.md',
        'api.md',
        join('dist', 'index.js'),
        join('dist', 'index.d.ts'),
        join('docs', 'errors', 'TimeoutError.md'),
        join('examples', 'fastify.ts'),
        join('src', 'index.ts'),
      ]),
    );
    expect(files.filter((file) => file.includes('.spec.') || file.includes('tsbuildinfo'))).toEqual([]);
    const compiled = files.filter((file) => file.startsWith('dist') && file.endsWith('.js'));
    const sources = compiled.map((file) => file.replace('dist', 'src').replace(/\.js$/, '.ts'));
    expect(sources.filter((file) => !existsSync(join(packed.folder, file)))).toEqual([]);
  });

  test('has no finding of publint', async () => {
    const { messages } = await publint({ pkgDir: packed.folder, pack: false, strict: true, level: 'suggestion' });
    expect(messages).toEqual([]);
  });

  test('has types that resolve for ESM, by are-the-types-wrong', async () => {
    const tarball = createPackageFromTarballData(await readFile(packed.tarball));
    const result = await checkPackage(tarball);
    if (result.types === false) throw new Error('no types');
    // The package is ESM only: CommonJS and Node 10's resolution need not find it.
    const others = new Set(['node10', 'node16-cjs']);
    const problems = result.problems.filter(
      (problem) => !('resolutionKind' in problem && others.has(problem.resolutionKind)),
    );
    expect(problems).toEqual([]);
    const entry = result.entrypoints['.']?.resolutions;
    expect(entry?.['node16-esm'].resolution?.fileName).toMatch(/dist\/index\.d\.ts$/);
    expect(entry?.bundler.resolution?.fileName).toMatch(/dist\/index\.d\.ts$/);
  });

  test('works for a consumer with nodenext: it compiles, runs, and wrong types fail', async () => {
    const fake = await provider(reply(200, chargeOf()));
    const files = { 'package.json': '{"type":"module"}', 'tsconfig.json': TSCONFIG, 'main.ts': PROGRAM };
    const folder = await packed.consumer('nodenext', files);
    expect(await compile(folder)).toBe('');
    const { stdout } = await run(process.execPath, [join(folder, 'main.js'), fake.baseUrl]);
    expect(stdout.trim()).toBe(PRINTED);
    expect(fake.seen).toHaveLength(1);

    await writeFile(join(folder, 'main.ts'), WRONG);
    expect(await compile(folder)).toContain("Type 'string' is not assignable to type 'number'");
  });

  test('works for a consumer with a bundler: one file runs where nothing is installed', async () => {
    const fake = await provider(reply(200, chargeOf()));
    const { code } = await bundle(packed, 'bundled', PROGRAM);
    const { stdout } = await run(process.execPath, [await packed.fileAlone('bundled.mjs', code), fake.baseUrl]);
    expect(stdout.trim()).toBe(PRINTED);
    expect(fake.seen).toHaveLength(1);
  });

  test('puts neither undici nor a resource into a bundle that uses only webhooks', async () => {
    const whole = await bundle(packed, 'whole', PROGRAM);
    const { code, modules } = await bundle(
      packed,
      'webhooks',
      `import { webhooks } from '@tillflow/payments-client';
       console.log(Object.keys(webhooks.sign('{}', { secret: 'c2VjcmV0', timestamp: 1 })).length);`,
    );
    expect(whole.modules.some((id) => id.includes('/undici/'))).toBe(true);
    expect(modules.filter((id) => id.includes('/undici/'))).toEqual([]);
    const own = modules.flatMap((id) => /payments-client\/dist\/(.+)$/.exec(id)?.[1] ?? []);
    expect(own.toSorted()).toEqual(['assumptions.js', 'reply/records.js', 'resources/events/schema.js', 'webhooks.js']);
    expect(code).not.toContain('undici');
    expect(code).not.toContain('/charges');
    const { stdout } = await run(process.execPath, [await packed.fileAlone('webhooks.mjs', code)]);
    expect(stdout.trim()).toBe('2');
  });
});

/** A program with its modules in one file, and the modules of which code is left in it. */
async function bundle(
  packed: PackedPackage,
  name: string,
  program: string,
): Promise<{ code: string; modules: string[] }> {
  const folder = await packed.consumer(name, { 'package.json': '{"type":"module"}', 'main.ts': program });
  const build = await rolldown({ input: join(folder, 'main.ts'), platform: 'node', cwd: folder });
  const { output }: RolldownOutput = await build.generate({ format: 'esm' });
  await build.close();
  const [chunk, ...others] = output;
  expect(others).toEqual([]);
  const modules = Object.entries(chunk.modules).filter(([, { renderedLength }]) => renderedLength > 0);
  return { code: chunk.code, modules: modules.map(([id]) => id.replaceAll('\\', '/')) };
}
