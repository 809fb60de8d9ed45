import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';

import { SupervisedChild } from './supervised-child.js';

/** Prints its process id and that of a child which it starts. Both end only by SIGKILL. */
const stubborn = `
  process.on('SIGTERM', () => {});
  const child = require('node:child_process').spawn(process.execPath, ['-e', "process.on('SIGTERM', () => {}); setInterval(() => {}, 1000)"]);
  console.log('pids ' + process.pid + ' ' + child.pid);
  setInterval(() => {}, 1000);
`;

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

async function untilGone(pids: readonly number[]): Promise<void> {
  while (pids.some(isAlive)) await sleep(20);
}

function pidsOf(line: string): number[] {
  return line.split(' ').slice(1).map(Number);
}

describe('a supervised child', () => {
  it('ends with its own children when its parent is killed with SIGKILL', async () => {
    const module = new URL('../dist/supervised-child.js', import.meta.url).href;
    const parent = spawn(process.execPath, [
      '--input-type=module',
      '-e',
      `import { SupervisedChild } from ${JSON.stringify(module)};
       new SupervisedChild(process.execPath, ['-e', ${JSON.stringify(stubborn)}], { graceMs: 50, onLine: (line) => console.log(line) });`,
    ]);
    const line = await new Promise<string>((resolve) =>
      createInterface({ input: parent.stdout }).once('line', resolve),
    );
    const pids = pidsOf(line);
    expect(pids).toHaveLength(2);
    parent.kill('SIGKILL');
    await untilGone(pids);
  });

  it('has ended with its own children when stop() resolves, even if they ignore SIGTERM', async () => {
    const lines: string[] = [];
    const child = new SupervisedChild(process.execPath, ['-e', stubborn], {
      graceMs: 50,
      onLine: (line) => lines.push(line),
    });
    await child.waitForLine(/^pids/, 30_000);
    const pids = pidsOf(lines[0] ?? '');
    expect(pids[0]).toBe(await child.pid);
    await child.stop();
    await untilGone(pids);
  });

  it('may handle SIGTERM and choose its exit code', async () => {
    const polite =
      "process.on('SIGTERM', () => { console.log('bye'); process.exit(7); }); console.log('up'); setInterval(() => {}, 1000)";
    const child = new SupervisedChild(process.execPath, ['-e', polite]);
    await child.waitForLine(/^up/, 30_000);
    await child.stop();
    await expect(child.exited).resolves.toBe(7);
    expect(child.tail()).toBe('up\nbye');
  });

  it('reports its last output when it ends before it is ready', async () => {
    const child = new SupervisedChild(process.execPath, ['-e', "console.error('no such thing'); process.exit(3)"]);
    await expect(child.waitForLine(/ready/, 30_000)).rejects.toThrow(/exit code 3.*no such thing/s);
  });

  it('reports when its command cannot be started', async () => {
    const child = new SupervisedChild('no-such-command', []);
    await expect(child.exited).resolves.toBe(127);
    expect(child.tail()).toContain('cannot start no-such-command');
  });
});
