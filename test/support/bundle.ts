import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { BUNDLE_PATH } from '@tillflow/worker';

/** A change of the bundled workflow code: a text or pattern in it, and its replacement, as of `String.replace`. */
export type Change = { readonly from: string | RegExp; readonly to: string };

/**
 * The workflow code of another release: a copy of the built bundle with one change. Hand its `path` to `startWorker` as
 * `bundlePath`.
 * @throws when the bundle does not contain the text.
 */
export async function bundleChanged({
  from,
  to,
}: Change): Promise<{ readonly path: string; readonly code: string; remove(): Promise<void> }> {
  const built = await readFile(BUNDLE_PATH, 'utf8');
  const code = built.replace(from, to);
  if (code === built) throw new Error(`The workflow bundle does not contain ${String(from)}`);
  const folder = await mkdtemp(join(tmpdir(), 'tillflow-bundle-'));
  const path = join(folder, 'bundle.js');
  await writeFile(path, code);
  return { path, code, remove: () => rm(folder, { recursive: true, force: true }) };
}
