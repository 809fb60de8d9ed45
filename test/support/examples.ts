import { readFile, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

const ROOT = new URL('../../', import.meta.url);

/** The code blocks of a language in a page of the repository, below one of its headings if one is given. */
export async function codeBlocks(page: string, language: 'js' | 'sh', heading?: string): Promise<string[]> {
  const text = await readFile(new URL(page, ROOT), 'utf8');
  const part = heading === undefined ? text : (text.split(/^## /m).find((one) => one.startsWith(`${heading}\n`)) ?? '');
  return [...part.matchAll(/^```(\w+)\n(.*?)^```$/gms)].flatMap(([, kind, code = '']) =>
    kind === language ? code : [],
  );
}

/**
 * Runs a program of a page as a module of its own. Where it names something that the page leaves to the reader, it gets
 * it from `given`.
 * @returns what the program declares with these names
 */
export async function runExample<Result>(
  program: string,
  { folder, given, results }: { readonly folder: string; readonly given: object; readonly results: readonly string[] },
): Promise<Result> {
  const sdk = createRequire(import.meta.url).resolve('@tillflow/sdk');
  const name = `example-${Math.random().toString(36).slice(2)}`;
  Object.assign(globalThis, { [name.replace('-', '_')]: given });
  const file = join(folder, `${name}.mjs`);
  await writeFile(
    file,
    [
      `const { ${Object.keys(given).join(', ')} } = globalThis.${name.replace('-', '_')};`,
      program.replaceAll("'@tillflow/sdk'", `'${pathToFileURL(sdk).href}'`),
      `export { ${results.join(', ')} };`,
    ].join('\n'),
  );
  return (await import(pathToFileURL(file).href)) as Result;
}
