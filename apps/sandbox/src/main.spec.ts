import { spawn } from 'node:child_process';
import { get } from 'node:http';
import { createServer, type AddressInfo } from 'node:net';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it, onTestFinished } from 'vitest';
import type { SandboxState } from './index.js';
import { readSettings } from './settings.js';
import { basic } from '../test/harness.js';

const PROGRAM = fileURLToPath(new URL('../dist/main.js', import.meta.url));

type Run = {
  readonly url: Promise<string>;
  readonly stop: (signal: NodeJS.Signals) => void;
  readonly ended: Promise<{ code: number | null; stdout: string; stderr: string }>;
};

/** The built program with these settings and no others. */
function run(settings: Record<string, string>): Run {
  const child = spawn(process.execPath, [PROGRAM], {
    env: { PATH: process.env['PATH'], SANDBOX_PORT: '0', ...settings },
  });
  onTestFinished(() => void child.kill('SIGKILL'));
  let [stdout, stderr] = ['', ''];
  child.stderr.on('data', (chunk: Buffer) => (stderr += chunk.toString()));
  const url = new Promise<string>((resolve) => {
    child.stdout.on('data', (chunk: Buffer) => {
      stdout += chunk.toString();
      const [, at] = /^sandbox ready (\S+)$/m.exec(stdout) ?? [];
      if (at !== undefined) resolve(at);
    });
  });
  const ended = new Promise<Awaited<Run['ended']>>((resolve) => {
    child.on('close', (code) => resolve({ code, stdout, stderr }));
  });
  return { url, ended, stop: (signal) => void child.kill(signal) };
}

describe('the program', () => {
  it.each(['SIGTERM', 'SIGINT'] as const)(
    'prints its address when it is ready, serves, and exits with 0 on %s',
    async (signal) => {
      const program = run({ PROVIDER_SECRET_KEY: 'skey_test_given', SANDBOX_SEED: 's' });
      const url = await program.url;
      expect((await fetch(`${url}/__sandbox/health`)).status).toBe(200);
      expect((await fetch(`${url}/account`, { headers: { authorization: basic('skey_test_given') } })).status).toBe(
        200,
      );
      program.stop(signal);
      const { code, stdout, stderr } = await program.ended;
      expect([code, stdout]).toEqual([0, `sandbox ready ${url}\n`]);
      expect(stderr).toMatch(/^PROVIDER_PUBLIC_KEY=pkey_test_/m);
      expect(stderr).toMatch(/^PROVIDER_WEBHOOK_SECRET=/m);
      expect(stderr).not.toContain('skey_test_given');
    },
  );

  it('exits while a request hangs', async () => {
    const program = run({ PROVIDER_SECRET_KEY: 'skey_test_given' });
    const url = await program.url;
    const headers = { 'content-type': 'application/json' };
    await fetch(`${url}/__sandbox/faults`, { method: 'POST', headers, body: JSON.stringify({ action: 'hang' }) });
    const hanging = fetch(`${url}/account`, { headers: { authorization: basic('skey_test_given') } }).catch(
      () => 'broken',
    );
    let arrived = 0;
    while (arrived === 0) {
      const state = await fetch(`${url}/__sandbox/state?only=requests`);
      arrived = ((await state.json()) as Pick<SandboxState, 'requests'>).requests.length;
    }
    program.stop('SIGTERM');
    expect((await program.ended).code).toBe(0);
    expect(await hanging).toBe('broken');
  });

  it('lists every mistake in its settings and exits with 2', async () => {
    const wrong = {
      SANDBOX_PORT: 'x',
      WEBHOOK_URL: 'nowhere',
      PROVIDER_SECRET_KEY: 'a b',
      PROVIDER_WEBHOOK_SECRET: '!',
    };
    const { code, stdout, stderr } = await run(wrong).ended;
    expect([code, stdout]).toEqual([2, '']);
    for (const name of Object.keys(wrong)) expect(stderr).toContain(name);
  });

  it('applies the fault plan of its file', async () => {
    const directory = await mkdtemp(join(tmpdir(), 'sandbox-'));
    onTestFinished(async () => await rm(directory, { recursive: true }));
    const plan = join(directory, 'plan.json');
    await writeFile(plan, JSON.stringify({ faults: [{ action: 'status', status: 503, times: 1 }] }));
    const program = run({
      SANDBOX_FAULT_PLAN: plan,
      PROVIDER_SECRET_KEY: 'skey_test_given',
      SANDBOX_RATE_LIMIT: '1/2',
    });
    const url = await program.url;
    const ask = async () =>
      (await fetch(`${url}/account`, { headers: { authorization: basic('skey_test_given') } })).status;
    expect([await ask(), await ask()]).toEqual([503, 200]);
    const limit = { burst: 2, per_second: 1, retry_after: true };
    expect(await (await fetch(`${url}/__sandbox/rate-limit`)).json()).toEqual({ rate_limit: limit });
    program.stop('SIGTERM');
    expect((await program.ended).code).toBe(0);

    await writeFile(plan, '[{ "action": "explode" }]');
    for (const file of [plan, join(directory, 'missing.json')]) {
      const { code, stdout, stderr } = await run({ SANDBOX_FAULT_PLAN: file }).ended;
      expect([code, stdout]).toEqual([1, '']);
      expect(stderr).toContain(`SANDBOX_FAULT_PLAN=${file}`);
    }
  });

  it('accepts the hosts of its settings', async () => {
    const program = run({ SANDBOX_ALLOWED_HOSTS: 'sandbox' });
    const url = await program.url;
    const status = async (host: string): Promise<number | undefined> =>
      await new Promise((resolve, reject) => {
        const asked = get(`${url}/__sandbox/health`, { headers: { host } }, (reply) => {
          reply.resume();
          resolve(reply.statusCode);
        });
        asked.on('error', reject);
      });
    expect([await status('sandbox:4010'), await status('other:4010')]).toEqual([200, 403]);
    program.stop('SIGTERM');
    expect((await program.ended).code).toBe(0);
  });

  it('reports a port that is in use, and exits with 1', async () => {
    const other = createServer().listen(0, '127.0.0.1');
    onTestFinished(() => void other.close());
    await new Promise((resolve) => other.once('listening', resolve));
    const { code, stderr } = await run({ SANDBOX_PORT: String((other.address() as AddressInfo).port) }).ended;
    expect(code).toBe(1);
    expect(stderr).toContain('EADDRINUSE');
  });
});

describe('the settings', () => {
  it('have their defaults, and the empty string counts as unset', () => {
    expect(readSettings({ WEBHOOK_URL: '', PATH: '/bin' })).toEqual({
      settings: { SANDBOX_PORT: 4010, SANDBOX_HOST: '127.0.0.1' },
    });
  });

  it('accept several webhook secrets', () => {
    expect(readSettings({ PROVIDER_WEBHOOK_SECRET: 'YQ==,Yg==' })).toMatchObject({
      settings: { PROVIDER_WEBHOOK_SECRET: ['YQ==', 'Yg=='] },
    });
  });

  it('accept several hosts, with a port or without', () => {
    expect(readSettings({ SANDBOX_ALLOWED_HOSTS: 'sandbox,pay.example:8443,[fd00::1]' })).toMatchObject({
      settings: { SANDBOX_ALLOWED_HOSTS: ['sandbox', 'pay.example:8443', '[fd00::1]'] },
    });
  });

  it.each([
    ['SANDBOX_PORT', '65536'],
    ['SANDBOX_PORT', '-1'],
    ['SANDBOX_PUBLIC_URL', 'ftp://x'],
    ['PROVIDER_PUBLIC_KEY', 'a:b'],
    ['SANDBOX_ALLOWED_HOSTS', 'http://sandbox'],
    ['SANDBOX_ALLOWED_HOSTS', '*'],
    ['SANDBOX_ALLOWED_HOSTS', 'sandbox,,other'],
    ['PROVIDER_WEBHOOK_SECRET', 'YQ==,'],
  ])('refuse %s=%s', (name, value) => {
    expect(readSettings({ [name]: value })).toHaveProperty('mistakes');
  });

  it('refuse the same key for both uses', () => {
    expect(readSettings({ PROVIDER_SECRET_KEY: 'a', PROVIDER_PUBLIC_KEY: 'a' })).toHaveProperty('mistakes');
  });
});
