import 'reflect-metadata';
import { mkdir, readdir, rm, writeFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { documents } from './documents.js';

/** Writes the generated documents into `docs`: the OpenAPI document, and a page for each error. */
const DOCS = fileURLToPath(new URL('../../../docs/', import.meta.url));

const pages = documents();
await mkdir(`${DOCS}errors`, { recursive: true });
for (const file of await readdir(`${DOCS}errors`)) {
  if (!pages.has(`errors/${file}`)) await rm(`${DOCS}errors/${file}`);
}
for (const [path, text] of pages) await writeFile(`${DOCS}${path}`, text);
process.stdout.write(`${pages.size} files written to ${DOCS}\n`);
