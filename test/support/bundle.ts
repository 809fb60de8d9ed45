import { cp, mkdtemp, readFile, realpath, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { bundleWorkflows } from '@tillflow/worker';

const WORKFLOWS = fileURLToPath(new URL('../../packages/workflows/', import.meta.url));

/** A change of one compiled file: its path in `packages/workflows/dist`, a text that is in it, and what replaces it. */
export type Change = { readonly file: string; readonly from: string; readonly to: string };

/**
 * The workflows as another release would have them: a changed copy of the compiled ones, bundled.
 * Hand its `path` to `startWorker` as `bundlePath`.
 */
export async function bundleChanged(
  changes: readonly Change[],
  { encrypting = false }: { readonly encrypting?: boolean } = {},
): Promise<{ readonly path: string; remove(): Promise<void> }> {
  const folder = await realpath(await mkdtemp(join(tmpdir(), 'tillflow-bundle-')));
  const remove = (): Promise<void> => rm(folder, { recursive: true, force: true });
  try {
    await cp(join(WORKFLOWS, 'dist'), join(folder, 'dist'), { recursive: true });
    await cp(join(WORKFLOWS, 'package.json'), join(folder, 'package.json'));
    await symlink(join(WORKFLOWS, 'node_modules'), join(folder, 'node_modules'));
    for (const { file, from, to } of changes) {
      const path = join(folder, 'dist', file);
      const code = await readFile(path, 'utf8');
      if (!code.includes(from)) throw new Error(`${file} has no ${from}`);
      await writeFile(path, code.replace(from, to));
    }
    const path = join(folder, 'bundle.js');
    await writeFile(path, await bundleWorkflows({ encrypting, workflowsPath: join(folder, 'dist/workflows.js') }));
    return { path, remove };
  } catch (error) {
    await remove();
    throw error;
  }
}
