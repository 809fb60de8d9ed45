import { execFile } from 'node:child_process';
import { cp, mkdir, mkdtemp, readFile, realpath, rm, symlink, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { checkPackage, createPackageFromTarballData } from '@arethetypeswrong/core';
import { publint } from 'publint';

const PNPM_MAJOR = '12';
const run = promisify(execFile);

/** A strict program on Node. The packages below the one that is checked are not checked. */
export const CONSUMER_TSCONFIG = JSON.stringify({
  compilerOptions: {
    module: 'nodenext',
    moduleResolution: 'nodenext',
    target: 'es2023',
    lib: ['es2023'],
    strict: true,
    exactOptionalPropertyTypes: true,
    types: ['node'],
    skipLibCheck: true,
  },
});

/** A package of this repository as it would be published, in a folder outside the repository. */
export class PackedPackage {
  private constructor(
    private readonly source: string,
    readonly name: string,
    readonly tarball: string,
    /** Where it is unpacked. */
    readonly folder: string,
    private readonly root: string,
  ) {}

  /** @param source the folder of the package. */
  static async pack(source: string): Promise<PackedPackage> {
    const { name, version } = JSON.parse(await readFile(join(source, 'package.json'), 'utf8')) as Record<
      string,
      string
    >;
    const flat = String(name).replace('@', '').replace('/', '-');
    // On macOS the temporary folder is a link.
    const root = await realpath(await mkdtemp(join(tmpdir(), `${flat}-`)));
    await pnpm(['pack', '--pack-destination', root], source);
    const tarball = join(root, `${flat}-${version}.tgz`);
    await run('tar', ['-xzf', tarball, '-C', root]);
    return new PackedPackage(source, String(name), tarball, join(root, 'package'), root);
  }

  /**
   * A program's folder with the package installed, the dependencies linked to those of this repository: no registry is
   * needed.
   */
  async consumer(
    name: string,
    files: Readonly<Record<string, string>>,
    dependencies: readonly string[] = [],
  ): Promise<string> {
    const folder = join(this.root, name);
    const modules = join(folder, 'node_modules');
    await mkdir(dirname(join(modules, this.name)), { recursive: true });
    // A link would resolve to the original folder, where its dependencies are not found.
    await cp(this.folder, join(modules, this.name), { recursive: true });
    for (const dependency of [...dependencies, '@types/node']) {
      await mkdir(dirname(join(modules, dependency)), { recursive: true });
      await symlink(this.#folderOf(dependency), join(modules, dependency), 'junction');
    }
    for (const [file, text] of Object.entries(files)) await writeFile(join(folder, file), text);
    return folder;
  }

  /** A file beside which nothing is installed. @returns its path */
  async fileAlone(name: string, text: string): Promise<string> {
    const file = join(this.root, name);
    await writeFile(file, text);
    return file;
  }

  /** What publint finds. */
  async mistakes(): Promise<readonly unknown[]> {
    const { messages } = await publint({ pkgDir: this.folder, pack: false, strict: true, level: 'suggestion' });
    return messages;
  }

  /** What are-the-types-wrong finds for programs that are ES modules or bundled, and where they find the types. */
  async types(): Promise<{ readonly problems: readonly unknown[]; readonly files: readonly (string | undefined)[] }> {
    const result = await checkPackage(createPackageFromTarballData(await readFile(this.tarball)));
    if (result.types === false) throw new Error(`${basename(this.tarball)} has no types`);
    // The package is ESM only: CommonJS and Node 10's resolution need not find it.
    const others = new Set(['node10', 'node16-cjs']);
    const problems = result.problems.filter(
      (problem) => !('resolutionKind' in problem && others.has(problem.resolutionKind)),
    );
    const entry = result.entrypoints['.']?.resolutions;
    return { problems, files: [entry?.['node16-esm'].resolution?.fileName, entry?.bundler.resolution?.fileName] };
  }

  remove(): Promise<void> {
    return rm(this.root, { recursive: true, force: true });
  }

  #folderOf(dependency: string): string {
    const nearby = [createRequire(join(this.source, 'package.json')), createRequire(import.meta.url)];
    for (const require of nearby) {
      try {
        return dirname(require.resolve(`${dependency}/package.json`));
      } catch {
        // The next one may have it.
      }
    }
    throw new Error(`${dependency} is not installed`);
  }
}

/** Compiles a consumer by its tsconfig.json. @returns the compiler's output, empty without errors */
export async function compile(folder: string): Promise<string> {
  const compiler = join(dirname(createRequire(import.meta.url).resolve('typescript/package.json')), 'bin', 'tsc');
  return run(process.execPath, [compiler, '-p', folder]).then(
    ({ stdout }) => stdout,
    (error: unknown) => (error instanceof Error && 'stdout' in error ? String(error.stdout) : String(error)),
  );
}

/** The pnpm that runs the tests, else the one that npx has or fetches. */
async function pnpm(args: readonly string[], cwd: string): Promise<void> {
  const isThere = await run('pnpm', ['--version']).then(
    ({ stdout }) => stdout.startsWith(`${PNPM_MAJOR}.`),
    () => false,
  );
  const [command, ...first] = isThere ? ['pnpm'] : ['npx', '-y', `pnpm@${PNPM_MAJOR}`];
  await run(command ?? 'pnpm', [...first, ...args], { cwd });
}
