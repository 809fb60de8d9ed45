import { createHash } from 'node:crypto';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { rolldown } from 'rolldown';
import { ADDRESSES, SITE } from './files.js';

const ASSETS = fileURLToPath(new URL('../src/assets/', import.meta.url));
const PAGE = fileURLToPath(new URL('../dist/page/main.js', import.meta.url));

const asset = (name: string): Promise<Buffer> => readFile(ASSETS + name);
const text = async (name: string): Promise<string> => (await asset(name)).toString();

/** The program of both pages in one file. */
async function program(): Promise<string> {
  const build = await rolldown({
    input: PAGE,
    platform: 'browser',
    transform: { define: { 'process.env.NODE_ENV': '"production"' } },
  });
  const { output } = await build.generate({ format: 'esm', minify: true });
  await build.close();
  return output[0].code;
}

/** Writes the files that the API serves. */
async function build(): Promise<void> {
  const page = await text('page.html');
  const files: Record<string, string | Buffer> = {
    'counter.html': page.replaceAll('__FOLDER__', 'counter/'),
    'display.html': page.replaceAll('__FOLDER__', ''),
    'counter.js': await program(),
    'style.css': await text('style.css'),
    'manifest.webmanifest': await text('manifest.webmanifest'),
    'icon.svg': await text('icon.svg'),
    'icon-192.png': await asset('icon-192.png'),
    'icon-512.png': await asset('icon-512.png'),
  };
  const hash = createHash('sha256');
  for (const content of Object.values(files)) hash.update(content);
  const paths = ADDRESSES.flatMap(({ path, name }) => (name in files ? [path] : []));
  const worker = await text('worker.js');
  files['worker.js'] = worker
    .replace('__VERSION__', hash.digest('hex').slice(0, 16))
    .replace('__FILES__', JSON.stringify(paths));
  await mkdir(SITE, { recursive: true });
  for (const [name, content] of Object.entries(files)) await writeFile(SITE + name, content);
}

await build();
