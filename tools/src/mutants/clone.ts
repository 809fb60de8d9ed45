import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import type { Mutant } from './list.js';

const run = promisify(execFile);
/** The root of the repository. */
export const ROOT = fileURLToPath(new URL('../../../', import.meta.url));
export const PNPM = ['-y', 'pnpm@12', '--silent'] as const;

type VitestReport = {
  readonly success: boolean;
  readonly numTotalTests: number;
  readonly testResults: readonly {
    readonly assertionResults: readonly {
      readonly status: string;
      readonly ancestorTitles: readonly string[];
      readonly title: string;
    }[];
  }[];
};

/** A built clone of the last commit, in which one file at a time is changed. */
export class Clone {
  private constructor(readonly folder: string) {}

  static async create(): Promise<Clone> {
    const folder = await mkdtemp(join(tmpdir(), 'tillflow-mutants-'));
    await run('git', ['clone', '--quiet', '--local', ROOT, folder]);
    const clone = new Clone(folder);
    await clone.npx([...PNPM, 'install', '--frozen-lockfile', '--prefer-offline']);
    await clone.build();
    return clone;
  }

  async build(): Promise<void> {
    await this.npx([...PNPM, 'build']);
  }

  /** @throws when the file does not contain the text exactly once. */
  async apply({ id, file, from, to }: Omit<Mutant, 'tests'>): Promise<() => Promise<void>> {
    const path = join(this.folder, file);
    const source = await readFile(path, 'utf8');
    if (source.split(from).length !== 2) throw new Error(`${id}: ${file} does not contain the text exactly once`);
    await writeFile(
      path,
      source.replace(from, () => to),
    );
    return () => writeFile(path, source);
  }

  /** @returns the first test that fails, or null. @throws when no test ran. */
  async firstFailure(tests: readonly string[], options: readonly string[] = ['--bail=1']): Promise<string | null> {
    const output = join(this.folder, 'mutants.json');
    const args = ['vitest', 'run', ...tests, ...options, '--retry=0', '--reporter=json', `--outputFile=${output}`];
    const hasPassed = await this.npx(args).then(
      () => true,
      () => false,
    );
    const report = JSON.parse(await readFile(output, 'utf8')) as VitestReport;
    await rm(output);
    if (hasPassed && report.success && report.numTotalTests > 0) return null;
    const failed = report.testResults.flatMap((file) => file.assertionResults).find((one) => one.status === 'failed');
    // A run that stops at its first failure may stop before it reports that failure.
    if (failed === undefined && options.length > 0) return this.firstFailure(tests, []);
    if (failed === undefined) throw new Error(`No test ran in ${tests.join(' ')}`);
    return [...failed.ancestorTitles, failed.title].join(' > ');
  }

  /** Builds what the simulation needs, and runs lives until one fails. @returns the output, and whether all were right */
  async simulate(
    seed: number,
    lives: number,
    focus: readonly string[],
  ): Promise<{ readonly output: string; readonly isRight: boolean }> {
    const options = { cwd: this.folder, maxBuffer: 100_000_000 };
    await this.npx(['tsc', '-b', 'simulation']);
    await run(process.execPath, ['apps/worker/dist/bundle.js'], options);
    const args = ['simulation/dist/main.js', '--seed', String(seed), '--lives', String(lives), '--stop', ...focus];
    return run(process.execPath, args, options).then(
      ({ stdout }) => ({ output: stdout, isRight: true }),
      ({ stdout, stderr }: { readonly stdout: string; readonly stderr: string }) => ({
        output: `${stdout}\n${stderr}`,
        isRight: false,
      }),
    );
  }

  async remove(): Promise<void> {
    await rm(this.folder, { recursive: true, force: true });
  }

  async npx(args: readonly string[], env: Readonly<Record<string, string>> = {}): Promise<void> {
    await run('npx', [...args], { cwd: this.folder, maxBuffer: 100_000_000, env: { ...process.env, CI: '1', ...env } });
  }
}

/** Writes a page of the documentation, formatted. @param path from the root of the repository */
export async function writePage(path: string, text: string): Promise<void> {
  await writeFile(join(ROOT, path), text);
  await run('npx', ['oxfmt', path], { cwd: ROOT });
}
