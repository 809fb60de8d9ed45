import { execFile } from 'node:child_process';
import { cp, mkdir, mkdtemp, realpath, rm, symlink, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

const PACKAGE = '@tillflow/payments-client';
const PNPM_MAJOR = '12';
const HERE = fileURLToPath(new URL('..', import.meta.url));
const run = promisify(execFile);
const require = createRequire(import.meta.url);

/** The package as it would be published, in a folder outside the repository. */
export class PackedPackage {
  private constructor(
    readonly tarball: string,
    /** Where it is unpacked, among the packages it depends on and nothing else. */
    readonly folder: string,
    private readonly root: string,
  ) {}

  static async pack(): Promise<PackedPackage> {
    // On macOS the temporary folder is a link.
    const root = await realpath(await mkdtemp(join(tmpdir(), 'payments-client-')));
    await pnpm(['pack', '--pack-destination', root]);
    const tarball = join(root, 'tillflow-payments-client-1.0.0-rc.1.tgz');
    await run('tar', ['-xzf', tarball, '-C', root]);
    const folder = join(root, 'package');
    return new PackedPackage(tarball, folder, root);
  }

  /**
   * A program's folder with the package installed, the dependencies linked to those of this repository: no registry is
   * needed.
   */
  async consumer(name: string, files: Readonly<Record<string, string>>): Promise<string> {
    const folder = join(this.root, name);
    const modules = join(folder, 'node_modules');
    await mkdir(join(modules, '@types'), { recursive: true });
    await mkdir(join(modules, dirname(PACKAGE)), { recursive: true });
    // A link would resolve to the original folder, where its dependencies are not found.
    await cp(this.folder, join(modules, PACKAGE), { recursive: true });
    for (const dependency of ['undici', 'zod', '@types/node']) {
      await symlink(packageFolder(dependency), join(modules, dependency), 'junction');
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

  remove(): Promise<void> {
    return rm(this.root, { recursive: true, force: true });
  }
}

/** Compiles a consumer by its tsconfig.json. @returns the compiler's output, empty without errors */
export async function compile(folder: string): Promise<string> {
  const compiler = join(packageFolder('typescript'), 'bin', 'tsc');
  return run(process.execPath, [compiler, '-p', folder]).then(
    ({ stdout }) => stdout,
    (error: unknown) => (error instanceof Error && 'stdout' in error ? String(error.stdout) : String(error)),
  );
}

function packageFolder(name: string): string {
  return dirname(require.resolve(`${name}/package.json`));
}

/** The pnpm that runs the tests, else the one that npx has or fetches. */
async function pnpm(args: readonly string[]): Promise<void> {
  const isThere = await run('pnpm', ['--version']).then(
    ({ stdout }) => stdout.startsWith(`${PNPM_MAJOR}.`),
    () => false,
  );
  const [command, ...first] = isThere ? ['pnpm'] : ['npx', '-y', `pnpm@${PNPM_MAJOR}`];
  await run(command ?? 'pnpm', [...first, ...args], { cwd: HERE });
}
