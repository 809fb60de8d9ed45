import { execFile, execFileSync } from 'node:child_process';
import { rmSync } from 'node:fs';
import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { print } from '../report.js';
import { THIS_TREE } from '../sandbox-process.js';

const run = promisify(execFile);
const PNPM = ['-y', 'pnpm@12'] as const;

export type Reference = {
  /** The directory of the built work tree. */
  readonly tree: string;
  /** The full id of the commit. */
  readonly commit: string;
};

/**
 * Builds a commit in a work tree of its own, in a temporary folder. The work tree is removed when this process ends,
 * also after an error or a signal.
 * @throws {Error} when there is no such commit, or when it cannot be built.
 */
export async function buildReference(ref: string): Promise<Reference> {
  const { stdout } = await run('git', ['rev-parse', '--verify', `${ref}^{commit}`], { cwd: THIS_TREE });
  const commit = stdout.trim();
  const folder = await mkdtemp(join(tmpdir(), 'tillflow-reference-'));
  const tree = join(folder, 'tree');
  const ended = new AbortController();
  process.once('exit', () => {
    ended.abort();
    removeTree(tree, folder);
  });
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(130));

  print(`building ${commit} in ${tree}`);
  await run('git', ['worktree', 'add', '--detach', tree, commit], { cwd: THIS_TREE, signal: ended.signal });
  for (const args of [['install', '--frozen-lockfile', '--prefer-offline'], ['build']]) {
    await run('npx', [...PNPM, ...args], { cwd: tree, signal: ended.signal, env: { ...process.env, CI: '1' } });
  }
  return { tree, commit };
}

/** Does not throw: it runs while the process ends. */
function removeTree(tree: string, folder: string): void {
  try {
    execFileSync('git', ['worktree', 'remove', '--force', tree], { cwd: THIS_TREE, stdio: 'ignore' });
  } catch {
    // The work tree was not complete. Git forgets it when its folder is missing.
  }
  rmSync(folder, { recursive: true, force: true });
}
