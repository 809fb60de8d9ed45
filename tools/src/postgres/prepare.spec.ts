import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { access, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

const PREPARE = fileURLToPath(new URL('../../dist/postgres/prepare.js', import.meta.url));

type Ended = { readonly code: number; readonly stdout: string; readonly stderr: string };

function prepare(env: NodeJS.ProcessEnv): Promise<Ended> {
  return new Promise((resolve) => {
    execFile(process.execPath, [PREPARE], { env }, (error, stdout, stderr) =>
      resolve({ code: error === null ? 0 : Number(error.code), stdout, stderr }),
    );
  });
}

describe('what pnpm test:postgres does first', () => {
  const folder = mkdtempSync(join(tmpdir(), 'tillflow-prepare-'));
  beforeAll(async () => {
    // PostgreSQL, where it is installed, needs these two.
    for (const name of ['setpriv', 'pgrep']) {
      const path = `/usr/bin/${name}`;
      await access(path).then(
        () => symlink(path, join(folder, name)),
        () => undefined,
      );
    }
  });
  afterAll(() => rmSync(folder, { recursive: true }));

  it('says in one line what is missing, and exits with 77, on a machine without Go and pip', async () => {
    const { code, stderr } = await prepare({ PATH: folder, HOME: folder });
    expect(stderr).toMatch(/^NOT TRIED: (Go|PostgreSQL) .*was not tested\.\n$/);
    expect(code).toBe(77);
  });

  it.each(['TEMPORAL_ADDRESS', 'POSTGRES_URL'])('refuses %s alone', async (name) => {
    const { code, stderr } = await prepare({ PATH: folder, HOME: folder, [name]: '127.0.0.1:1' });
    expect(stderr).toContain('Set both TEMPORAL_ADDRESS and POSTGRES_URL');
    expect(code).toBe(2);
  });
});
