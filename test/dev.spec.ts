import { execFileSync, spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { expect, inject, it, vi } from 'vitest';

const DEV = fileURLToPath(new URL('../tools/dist/dev.js', import.meta.url));

/** The processes that this stack started, by a mark in their environment. */
function processesMarked(mark: string): number[] {
  const listed = execFileSync('ps', ['eww', '-eo', 'pid,args'], { encoding: 'utf8', maxBuffer: 64 * 1_048_576 });
  return listed
    .split('\n')
    .filter((line) => line.includes(`STACK_MARK=${mark}`) && !line.includes('ps eww'))
    .map((line) => Number.parseInt(line, 10));
}

/** The workers among them, not what guards them. */
function workersMarked(mark: string): number[] {
  return processesMarked(mark).filter((pid) => /^\S+ apps\/worker\/dist\/main\.js/.test(argumentsOf(pid)));
}

function argumentsOf(pid: number): string {
  try {
    return execFileSync('ps', ['-o', 'args=', '-p', String(pid)], { encoding: 'utf8' });
  } catch {
    // It has ended.
    return '';
  }
}

it('pnpm dev restarts a killed worker, also during its start, and leaves no process after Ctrl-C', async () => {
  const mark = `mark-${process.pid}-${Math.random().toString(36).slice(2)}`;
  const dev = spawn(process.execPath, [DEV], {
    env: {
      ...process.env,
      TEMPORAL_ADDRESS: inject('temporalAddress'),
      TEMPORAL_TASK_QUEUE: mark,
      STACK_MARK: mark,
      LOG_LEVEL: 'warn',
      ANSWER_WITHIN_MS: '15000',
      PUBLIC_URL: 'http://till.example:3000',
    },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const lines: string[] = [];
  const readers = new Set<() => void>();
  createInterface({ input: dev.stdout }).on('line', (line) => {
    lines.push(line);
    for (const reader of readers) reader();
  });
  const count = (part: string): number => lines.filter((line) => line.includes(part)).length;
  const until = (condition: () => boolean): Promise<void> =>
    new Promise((resolve) => {
      const check = (): void => void (condition() && resolve());
      readers.add(check);
      check();
    });
  const ended = new Promise<number | null>((resolve) => dev.once('exit', (code) => resolve(code)));
  try {
    await until(() => count('ready api=') === 1);
    expect(lines[0]).toMatch(/^counter: open this page to sell http:\/\/till\.example:3000\/counter#/);
    const api = /api=(\S+)/.exec(lines.find((line) => line.startsWith('ready ')) ?? '')?.[1];
    const [key = ''] = /\S+$/.exec(lines.find((line) => line.startsWith('API key (checkout)')) ?? '') ?? [];
    const create = (reference: string): Promise<Response> =>
      fetch(`${api}/v1/checkouts`, {
        method: 'POST',
        headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
        body: JSON.stringify({ reference, amount: 150_000, currency: 'THB' }),
      });
    const created = await create(`${mark}-1`);
    expect(created.status).toBe(201);
    // The address of the API for other machines, where it is set.
    expect(await created.json()).toMatchObject({
      qr: { image_url: expect.stringMatching(/^http:\/\/till\.example:3000\/v1\//) },
    });

    const worker = workersMarked(mark).at(-1) ?? 0;
    process.kill(worker, 'SIGKILL');
    // The next one is killed too, before it is ready.
    await until(() => count('The worker ended unexpectedly') === 1);
    const next = await vi.waitUntil(() => workersMarked(mark).find((pid) => pid !== worker), {
      interval: 10,
      timeout: 90_000,
    });
    process.kill(next, 'SIGKILL');
    await until(() => count('worker ready') === 2);
    expect((await create(`${mark}-2`)).status).toBe(201);
  } finally {
    dev.kill('SIGINT');
  }
  expect(await ended).toBe(0);
  expect(processesMarked(mark)).toEqual([]);
});
