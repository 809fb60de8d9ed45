import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { MUTANTS, type Mutant } from './list.js';

const run = promisify(execFile);
const ROOT = fileURLToPath(new URL('../../../', import.meta.url));
const TABLE = join(ROOT, 'docs/mutants.md');
const PNPM = ['-y', 'pnpm@12', '--silent'] as const;
const USAGE = `usage: pnpm mutants [<part of an id> ...]

Applies each mutant of tools/src/mutants/list.ts to a clone of the last commit and runs the test files that must fail.
Without arguments it also writes docs/mutants.md. Exits 0 when every mutant is killed, 1 when one survives.`;

type MutantResult = {
  readonly mutant: Mutant;
  /** The first test that failed; null when every test passed and the mutant survives. */
  readonly killedBy: string | null;
};

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
class Clone {
  private constructor(private readonly folder: string) {}

  static async create(): Promise<Clone> {
    const folder = await mkdtemp(join(tmpdir(), 'tillflow-mutants-'));
    await run('git', ['clone', '--quiet', '--local', ROOT, folder]);
    const clone = new Clone(folder);
    await clone.#npx([...PNPM, 'install', '--frozen-lockfile', '--prefer-offline']);
    await clone.build();
    return clone;
  }

  async build(): Promise<void> {
    await this.#npx([...PNPM, 'build']);
  }

  /** @throws when the file does not contain the text exactly once. */
  async apply({ id, file, from, to }: Mutant): Promise<() => Promise<void>> {
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
    const hasPassed = await this.#npx(args).then(
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

  async remove(): Promise<void> {
    await rm(this.folder, { recursive: true, force: true });
  }

  async #npx(args: readonly string[]): Promise<void> {
    await run('npx', [...args], { cwd: this.folder, maxBuffer: 100_000_000, env: { ...process.env, CI: '1' } });
  }
}

async function tryMutant(clone: Clone, mutant: Mutant): Promise<MutantResult> {
  const restore = await clone.apply(mutant);
  try {
    // Tests of a package import its source; all others import what was built.
    const [workspace = '', name = ''] = mutant.file.split('/');
    if (mutant.tests.some((test) => !test.startsWith(`${workspace}/${name}/`))) await clone.build();
    return { mutant, killedBy: await clone.firstFailure(mutant.tests) };
  } finally {
    await restore();
  }
}

function table(results: readonly MutantResult[]): string {
  const killed = results.filter(({ killedBy }) => killedBy !== null).length;
  const rows = results.map(
    ({ mutant, killedBy }) =>
      `| ${mutant.id} | ${mutant.breaks} | \`${mutant.file}\` | ${killedBy === null ? '**survives**' : cell(killedBy)} |`,
  );
  return [
    '# Mutants',
    '',
    '`pnpm mutants` breaks one rule at a time in a clone of the last commit, and runs the test files of `pnpm test` that',
    `must notice. It writes this page. ${killed} of ${results.length} mutants are killed.`,
    '',
    '| Mutant | What it breaks | File | The test that fails first |',
    '| --- | --- | --- | --- |',
    ...rows,
    '',
  ].join('\n');
}

function cell(text: string): string {
  return text.replaceAll('|', '\\|');
}

async function main(parts: readonly string[]): Promise<number> {
  if (parts.some((part) => part.startsWith('-'))) {
    console.error(USAGE);
    return 2;
  }
  const chosen = MUTANTS.filter(({ id }) => parts.length === 0 || parts.some((part) => id.includes(part)));
  const clone = await Clone.create();
  try {
    const before = await clone.firstFailure([...new Set(chosen.flatMap(({ tests }) => tests))]);
    if (before !== null) throw new Error(`A test fails without any mutant: ${before}`);
    const results: MutantResult[] = [];
    for (const mutant of chosen) {
      const result = await tryMutant(clone, mutant);
      results.push(result);
      console.log(`${result.killedBy === null ? 'SURVIVES' : 'killed  '}  ${mutant.id}  ${result.killedBy ?? ''}`);
    }
    if (parts.length === 0) {
      await writeFile(TABLE, table(results));
      await run('npx', ['oxfmt', TABLE], { cwd: ROOT });
    }
    return results.every(({ killedBy }) => killedBy !== null) ? 0 : 1;
  } finally {
    await clone.remove();
  }
}

process.exitCode = await main(process.argv.slice(2));
