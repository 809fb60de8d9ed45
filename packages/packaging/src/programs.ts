import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { join } from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);

/** The executable of a program, or the reason why it is not there. */
export type Program =
  | { readonly path: string; readonly reason: null }
  | { readonly path: null; readonly reason: string };

/** Milliseconds that a download may take. */
const FETCH_WITHIN_MS = 240_000;

const CACHE = fileURLToPath(new URL('../../../node_modules/.cache/tillflow/programs/', import.meta.url));

/** The npm packages that contain the executables, without an install script, and the path within. */
const PACKAGES: Readonly<Record<string, (platform: string, arch: string) => readonly [name: string, path: string]>> = {
  node: (platform, arch) => [`node-${platform}-${arch}`, 'bin/node'],
  bun: (platform, arch) => [`@oven/bun-${platform}-${arch === 'arm64' ? 'aarch64' : arch}`, 'bin/bun'],
  deno: (platform, arch) => [`@deno/${platform}-${arch}${platform === 'linux' ? '-glibc' : ''}`, 'deno'],
};

/** Node, Bun or Deno in an exact version, out of its npm package. The first call for a version downloads it. */
export async function program(name: 'node' | 'bun' | 'deno', version: string): Promise<Program> {
  const [npmPackage = '', path = ''] = PACKAGES[name]?.(process.platform, process.arch) ?? [];
  const prefix = join(CACHE, `${name}-${version}`);
  const executable = join(prefix, 'node_modules', npmPackage, path);
  if (await starts(executable)) return { path: executable, reason: null };
  const flags = ['--prefix', prefix, '--no-save', '--ignore-scripts', '--no-audit', '--no-fund'];
  const failure = await run('npm', ['install', ...flags, `${npmPackage}@${version}`], {
    timeout: FETCH_WITHIN_MS,
  }).then(
    () => 'it does not start',
    (error: unknown) => firstLine(error),
  );
  if (await starts(executable)) return { path: executable, reason: null };
  return { path: null, reason: `${npmPackage}@${version} is not available here: ${failure}` };
}

async function starts(executable: string): Promise<boolean> {
  return run(executable, ['--version']).then(
    () => true,
    () => false,
  );
}

function firstLine(error: unknown): string {
  return (error instanceof Error ? error.message : String(error)).split('\n')[0] ?? '';
}
