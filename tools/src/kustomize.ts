import { execFile } from 'node:child_process';
import { cp, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

import { cacheFolder } from './temporal-download.js';

const run = promisify(execFile);

const MANIFESTS = fileURLToPath(new URL('../../deploy/kubernetes/', import.meta.url));

/** The newest release that Go 1.26 can build. */
export const KUSTOMIZE_VERSION = '5.8.1';

/** The folders that an operator copies and applies. */
export const OVERLAYS = ['one-account', 'several-accounts'] as const;

/** Where a program of a release is cached once it is built. */
export function programPath(name: string, version: string): string {
  return join(cacheFolder(process.env), `${name}-${version}`);
}

/** @returns the path of kustomize: `KUSTOMIZE`, or the one that `pnpm kubernetes` has built; null where neither runs */
export async function kustomize(): Promise<string | null> {
  const path = process.env['KUSTOMIZE'] ?? programPath('kustomize', KUSTOMIZE_VERSION);
  try {
    await run(path, ['version']);
    return path;
  } catch {
    return null;
  }
}

/**
 * The manifests of an overlay, as an operator applies them: one YAML text with a document for each.
 * @param manifests a copy of `deploy/kubernetes`. Default: the folder itself
 * @throws {Error} with what kustomize says
 */
export async function render(kustomizePath: string, overlay: string, manifests = MANIFESTS): Promise<string> {
  const { stdout } = await run(kustomizePath, ['build', join(manifests, 'overlays', overlay)], {
    maxBuffer: 16 * 1024 * 1024,
  });
  return stdout;
}

/**
 * Calls `work` with a copy of `deploy/kubernetes` in which every build scales by the backlog of its queue: the last lines of
 * each build are no comment there.
 */
export async function withBacklog<T>(work: (manifests: string) => Promise<T>): Promise<T> {
  const copy = await mkdtemp(join(tmpdir(), 'tillflow-kubernetes-'));
  try {
    await cp(MANIFESTS, copy, { recursive: true });
    for (const overlay of OVERLAYS) {
      for (const build of await readdir(join(copy, 'overlays', overlay, 'builds'))) {
        const file = join(copy, 'overlays', overlay, 'builds', build, 'kustomization.yaml');
        const lines = (await readFile(file, 'utf8')).split('\n');
        const start = lines.indexOf('# components:');
        if (start === -1) throw new Error(`${file} does not say how to scale by the backlog`);
        const changed = lines.map((line, at) => (at < start ? line : line.replace(/^# /, '')));
        await writeFile(file, changed.join('\n'));
      }
    }
    return await work(copy);
  } finally {
    await rm(copy, { recursive: true });
  }
}
