import { execFile } from 'node:child_process';
import { access, mkdir, readdir, realpath } from 'node:fs/promises';
import { delimiter, dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { cacheFolder, lastError, messageOf } from '../temporal-download.js';
import { NotAvailableError } from './not-available-error.js';
import type { ProgramSearch } from './temporal-programs.js';

const run = promisify(execFile);

const DEBIAN = 'usr/lib/postgresql';

/** PostgreSQL's server, `initdb` and `psql`. */
export interface PostgresPrograms {
  /** The folder that contains `postgres` and `initdb`. */
  readonly folder: string;
  readonly psql: string;
  /** What the programs need to find their libraries, where they are not installed. */
  readonly env: NodeJS.ProcessEnv;
}

/**
 * Finds an installed PostgreSQL: on PATH, or where Debian installs it.
 * @returns undefined when none is installed.
 */
export async function findInstalledPostgres(env: NodeJS.ProcessEnv): Promise<PostgresPrograms | undefined> {
  for (const folder of (env['PATH'] ?? '').split(delimiter)) {
    const found = folder === '' ? undefined : await programsIn(folder);
    if (found !== undefined) return found;
  }
  return newestIn(`/${DEBIAN}`);
}

/**
 * Unpacks Debian's PostgreSQL, and the libraries that this machine lacks, into `folder`, without installing it. The
 * packages are downloaded once, into the project's cache.
 * @throws {NotAvailableError} where apt-get does not exist, or has no PostgreSQL.
 */
export async function unpackPostgres({ env, log }: ProgramSearch, folder: string): Promise<PostgresPrograms> {
  const packages = join(cacheFolder(env), 'postgresql-packages');
  await mkdir(packages, { recursive: true });
  try {
    const isPackage = (name: string): boolean => name.endsWith('.deb');
    if (!(await readdir(packages)).some(isPackage)) {
      log("Downloading Debian's PostgreSQL with apt-get (about 50 MB, once) …");
      await run('apt-get', ['download', ...(await missingPackages(env))], { cwd: packages, env });
    }
    for (const name of (await readdir(packages)).filter(isPackage)) {
      await run('dpkg', ['-x', join(packages, name), folder], { env });
    }
  } catch (error) {
    throw new NotAvailableError(`PostgreSQL is neither installed nor downloaded: ${lastError(messageOf(error))}`);
  }
  const libraries = (await readdir(join(folder, 'usr/lib'))).map((name) => join(folder, 'usr/lib', name));
  const found = await newestIn(join(folder, DEBIAN));
  if (found === undefined) throw new NotAvailableError("Debian's packages contain no PostgreSQL server");
  return { ...found, env: { LD_LIBRARY_PATH: libraries.join(delimiter) } };
}

/** The packages that an installation of PostgreSQL would add to this machine. */
async function missingPackages(env: NodeJS.ProcessEnv): Promise<string[]> {
  const { stdout } = await run('apt-get', ['--simulate', '--no-install-recommends', 'install', 'postgresql'], { env });
  const added = [...stdout.matchAll(/^Inst (\S+)/gm)].map(([, name = '']) => name);
  if (added.length === 0) throw new Error('apt-get adds no package');
  return added;
}

async function newestIn(folder: string): Promise<PostgresPrograms | undefined> {
  const versions = await readdir(folder).catch(() => []);
  for (const version of versions.toSorted((a, b) => Number(b) - Number(a))) {
    const found = await programsIn(join(folder, version, 'bin'));
    if (found !== undefined) return found;
  }
  return undefined;
}

async function programsIn(folder: string): Promise<PostgresPrograms | undefined> {
  try {
    // A link on PATH leads to the folder with the other programs.
    const own = dirname(await realpath(join(folder, 'postgres')));
    await Promise.all(['initdb', 'psql'].map((name) => access(join(own, name))));
    return { folder: own, psql: join(own, 'psql'), env: {} };
  } catch {
    return undefined;
  }
}

/** The values of the one row that this query selects. @param url of the database, with its user and password */
export async function selectRow({ psql, env }: PostgresPrograms, url: string, sql: string): Promise<string[]> {
  const args = ['--no-psqlrc', '--tuples-only', '--no-align', '--dbname', url, '--command', sql];
  const { stdout } = await run(psql, args, { env: { ...process.env, ...env } });
  return stdout.trim().split('|');
}

/** Executes a file of statements, and stops at the first that fails. @throws {Error} with what PostgreSQL says */
export async function executeFile({ psql, env }: PostgresPrograms, url: string, path: string): Promise<void> {
  const args = ['--no-psqlrc', '--quiet', '--set=ON_ERROR_STOP=1', '--dbname', url, '--file', path];
  await run(psql, args, { env: { ...process.env, ...env, PGOPTIONS: '--client-min-messages=warning' } });
}
