import { Clone, writePage } from './clone.js';
import { measureGenerated } from './generated.js';
import { MUTANTS, type Mutant } from './list.js';
import { measureSimulated } from './simulated.js';

const GENERATED = 'generated';
const SIMULATED = 'simulated';
const USAGE = `usage: pnpm mutants [<part of an id> ...]
       pnpm mutants ${GENERATED} [<part of a name> ...]
       pnpm mutants ${SIMULATED} [<part of an id> ...]

Applies each mutant of tools/src/mutants/list.ts to a clone of the last commit and runs the test files that must fail.
Without arguments it also writes docs/mutants.md. Exits 0 when every mutant is killed, 1 when one survives.

${GENERATED}: Stryker makes the mutants, of packages/domain (domain) and of the checkout model (model). Takes about an hour,
and writes docs/generated-mutants.md. Exits 1 when fewer than 95 % are killed.

${SIMULATED}: the simulation looks for the mutants of money within a checkout. Without parts it also writes the table of
docs/simulation.md. Exits 1 when it misses one.`;

type MutantResult = {
  readonly mutant: Mutant;
  /** The first test that failed; null when every test passed and the mutant survives. */
  readonly killedBy: string | null;
};

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
    `must notice. It writes this page. ${killed} of ${results.length} mutants are killed. Mutants that a tool makes of each line:`,
    '[generated-mutants.md](generated-mutants.md).',
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
  if (parts[0] === GENERATED) return (await measureGenerated(parts.slice(1))) ? 0 : 1;
  if (parts[0] === SIMULATED) return (await measureSimulated(parts.slice(1))) ? 0 : 1;
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
    if (parts.length === 0) await writePage('docs/mutants.md', table(results));
    return results.every(({ killedBy }) => killedBy !== null) ? 0 : 1;
  } finally {
    await clone.remove();
  }
}

process.exitCode = await main(process.argv.slice(2));
