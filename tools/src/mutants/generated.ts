import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Clone, PNPM, ROOT, writePage } from './clone.js';

/** The newest versions that run on Node 20.19. Only this command needs them, so the project does not install them. */
const STRYKER = ['@stryker-mutator/core@9.6.1', '@stryker-mutator/vitest-runner@9.6.1'] as const;
const PAGE = 'docs/generated-mutants.md';
/** The share of mutants that the tests must kill. */
const BOUND = 0.95;

type Part = {
  readonly name: string;
  readonly folder: string;
  /** The files of the folder that are no product code. */
  readonly except: readonly string[];
  /** The specs that must notice, without the long random scenarios. */
  readonly specs: string;
};

const PARTS: readonly Part[] = [
  { name: 'domain', folder: 'packages/domain/src', except: ['testing/**', 'index.ts'], specs: '**/*.spec.ts' },
  {
    name: 'checkout model',
    folder: 'packages/workflows/src/checkout/model',
    except: [],
    specs: '**/!(random-scenarios).spec.ts',
  },
];

type Report = {
  readonly files: Readonly<Record<string, { readonly mutants: readonly GeneratedMutant[] }>>;
};

type GeneratedMutant = {
  readonly mutatorName: string;
  readonly replacement?: string;
  /** `Killed`, `Timeout`, `Survived`, `NoCoverage`, or an error. */
  readonly status: string;
  readonly location: { readonly start: { readonly line: number } };
};

type Row = { readonly file: string; readonly mutants: readonly GeneratedMutant[] };

/**
 * Measures how many generated mutants the unit tests kill, and writes the page. The page keeps the parts that are not
 * measured.
 * @param names parts of the names of {@link PARTS}; none: all parts
 * @returns whether each measured part reaches the bound
 */
export async function measureGenerated(names: readonly string[]): Promise<boolean> {
  const chosen = PARTS.filter(({ name }) => names.length === 0 || names.some((part) => name.includes(part)));
  if (chosen.length === 0) throw new Error(`The parts are: ${PARTS.map(({ name }) => name).join(', ')}`);
  const clone = await Clone.create();
  try {
    await clone.npx([...PNPM, 'add', '--save-dev', '--workspace-root', ...STRYKER]);
    const measured: { readonly part: Part; readonly rows: readonly Row[] }[] = [];
    for (const part of chosen) {
      console.log(`${part.name}: this takes a while`);
      measured.push({ part, rows: await measure(clone, part) });
    }
    const sections = new Map(measured.map(({ part, rows }) => [part, section(part, rows).join('\n')]));
    const page = await readFile(join(ROOT, PAGE), 'utf8');
    const all = PARTS.map((part) => sections.get(part) ?? sectionOf(page, part));
    await writePage(PAGE, [...HEAD, ...all, ''].join('\n'));
    return measured.every(({ rows }) => scoreOf(rows) >= BOUND);
  } finally {
    await clone.remove();
  }
}

async function measure(clone: Clone, { folder, except, specs }: Part): Promise<readonly Row[]> {
  const [config, options, report] = ['vitest.mutants.config.ts', 'stryker.json', 'mutants.json'];
  const test = {
    include: [`${folder}/${specs}`],
    pool: 'threads',
    isolate: false,
    maxWorkers: 1,
    testTimeout: 20_000,
    // Stryker finds a test again by its name, and the names of random tests contain the seed.
    env: { SEED: '1' },
    tags: [{ name: 'more' }],
  };
  await writeFile(join(clone.folder, config), `export default ${JSON.stringify({ test })};\n`);
  // Stryker leaves out a file that fails before its first test.
  await clone.npx(['vitest', 'run', '--config', config]);
  const stryker = {
    testRunner: 'vitest',
    plugins: ['@stryker-mutator/vitest-runner'],
    vitest: { configFile: config, related: false },
    mutate: [`${folder}/**/*.ts`, `!${folder}/**/*.spec.ts`, ...except.map((path) => `!${folder}/${path}`)],
    inPlace: true,
    concurrency: 2,
    coverageAnalysis: 'perTest',
    // An endless loop ends soon.
    timeoutMS: 3_000,
    timeoutFactor: 2,
    reporters: ['json'],
    jsonReporter: { fileName: report },
  };
  await writeFile(join(clone.folder, options), JSON.stringify(stryker));
  await clone.npx(['stryker', 'run', options]);
  const { files } = JSON.parse(await readFile(join(clone.folder, report), 'utf8')) as Report;
  return Object.entries(files)
    .map(([file, { mutants }]) => ({ file: file.slice(folder.length + 1), mutants }))
    .toSorted((one, other) => one.file.localeCompare(other.file, 'en'));
}

const isKilled = ({ status }: GeneratedMutant): boolean => status === 'Killed' || status === 'Timeout';

function scoreOf(rows: readonly Row[]): number {
  const mutants = rows.flatMap((row) => row.mutants);
  return mutants.filter(isKilled).length / mutants.length;
}

const HEAD = [
  '# Generated mutants',
  '',
  '`pnpm mutants generated` lets Stryker change each expression of the rules about money, one at a time, and runs the unit tests of',
  'that part. It writes this page. At least 95 % must be killed: a test fails, or an endless loop runs into its time limit.',
  '',
];

function section({ name, folder }: Part, rows: readonly Row[]): string[] {
  const percent = (some: readonly Row[]): string => `${(scoreOf(some) * 100).toFixed(1)} %`;
  const survivors = rows.flatMap(({ file, mutants }) =>
    mutants
      .filter((mutant) => !isKilled(mutant))
      .map(({ location, mutatorName, replacement = '' }) => [
        file,
        location.start.line,
        mutatorName,
        oneLine(replacement),
      ]),
  );
  return [
    `## ${name}: ${percent(rows)}`,
    '',
    `In \`${folder}\`:`,
    '',
    '| File | Mutants | Killed |',
    '| --- | --- | --- |',
    ...rows.map((row) => `| ${row.file} | ${row.mutants.length} | ${percent([row])} |`),
    '',
    'Survivors:',
    '',
    '| File | Line | Kind | It becomes |',
    '| --- | --- | --- | --- |',
    ...survivors.map((cells) => `| ${cells.join(' | ')} |`),
    '',
  ];
}

/** The section of a part as the page has it; empty when it has none. */
function sectionOf(page: string, { name }: Part): string {
  return page.split(/\n(?=## )/).find((text) => text.startsWith(`## ${name}: `)) ?? '';
}

const LONGEST = 60;

function oneLine(code: string): string {
  const text = code.replaceAll(/\s+/gu, ' ').replaceAll('|', '\\|').slice(0, LONGEST);
  return text === '' ? 'nothing' : `\`${text.replaceAll('`', "'")}\``;
}
