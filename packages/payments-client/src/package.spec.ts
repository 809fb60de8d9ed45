import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { bundle, type Bundle, compile, CONSUMER_TSCONFIG, PackedPackage } from '@tillflow/packaging';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { chargeOf, provider, reply, SECRET_KEY } from '../test/provider.js';
import { DOCUMENT } from '../test/samples.js';

const run = promisify(execFile);
const DEPENDENCIES = ['undici', 'zod'];
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

describe('the packed package', () => {
  let packed: PackedPackage;

  beforeAll(async () => {
    packed = await PackedPackage.pack(fileURLToPath(new URL('..', import.meta.url)));
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
    expect(await packed.mistakes()).toEqual([]);
  });

  test('has types that resolve for ESM, by are-the-types-wrong', async () => {
    const types = expect.stringMatching(/dist\/index\.d\.ts$/);
    expect(await packed.types()).toEqual({ problems: [], files: [types, types] });
  });

  test('works for a consumer with nodenext: it compiles, runs, and wrong types fail', async () => {
    const fake = await provider(reply(200, chargeOf()));
    const files = { 'package.json': '{"type":"module"}', 'tsconfig.json': CONSUMER_TSCONFIG, 'main.ts': PROGRAM };
    const folder = await packed.consumer('nodenext', files, DEPENDENCIES);
    expect(await compile(folder)).toBe('');
    const { stdout } = await run(process.execPath, [join(folder, 'main.js'), fake.baseUrl]);
    expect(stdout.trim()).toBe(PRINTED);
    expect(fake.seen).toHaveLength(1);

    await writeFile(join(folder, 'main.ts'), WRONG);
    expect(await compile(folder)).toContain("Type 'string' is not assignable to type 'number'");
  });

  test('works for a consumer with a bundler: one file runs where nothing is installed', async () => {
    const fake = await provider(reply(200, chargeOf()));
    const { code } = await bundled(packed, 'bundled', PROGRAM);
    const { stdout } = await run(process.execPath, [await packed.fileAlone('bundled.mjs', code), fake.baseUrl]);
    expect(stdout.trim()).toBe(PRINTED);
    expect(fake.seen).toHaveLength(1);
  });

  test('puts neither undici nor a resource into a bundle that uses only webhooks', async () => {
    const whole = await bundled(packed, 'whole', PROGRAM);
    const { code, modules } = await bundled(
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

async function bundled(packed: PackedPackage, name: string, program: string): Promise<Bundle> {
  const files = { 'package.json': '{"type":"module"}', 'main.ts': program };
  return await bundle(await packed.consumer(name, files, DEPENDENCIES), { platform: 'node' });
}
