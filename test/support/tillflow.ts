import { spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { run } from '@tillflow/cli';
import type { Stack } from './stack.js';

const MAIN = fileURLToPath(new URL('../../apps/cli/dist/main.js', import.meta.url));

type Environment = Readonly<Record<string, string | undefined>>;

export type Ended = { readonly code: number | null; readonly out: string; readonly err: string };

/** Runs the operator's program in this process, which saves the start of one. */
export async function tillflow(args: readonly string[], environment: Environment): Promise<Ended> {
  const { exit, out, err } = await run(args, environment);
  return { code: exit, out, err };
}

/** Runs the operator's program, as it is built, in a process of its own. */
export function tillflowProcess(
  args: readonly string[],
  environment: Environment,
  nodeArgs: readonly string[] = [],
): Promise<Ended> {
  const child = spawn(process.execPath, [...nodeArgs, MAIN, ...args], {
    env: { PATH: process.env['PATH'], ...environment },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let out = '';
  let err = '';
  child.stdout.on('data', (chunk: Buffer) => (out += chunk.toString()));
  child.stderr.on('data', (chunk: Buffer) => (err += chunk.toString()));
  return new Promise((resolve) => child.once('close', (code) => resolve({ code, out, err })));
}

/** The settings of this stack's operator: those of its API and its worker, and the address of the API. */
export function operatorOf(stack: Stack): Record<string, string> {
  return {
    ...stack.apiEnvironment(),
    PROVIDER_PUBLIC_KEY: stack.sandbox.keys.public,
    PUBLIC_URL: stack.api.url,
  };
}

/** Deletes the schedules that `setup` made on this stack's queue, and ends the workflows that they started. */
export async function forgetSchedules({ temporal, taskQueue }: Stack): Promise<void> {
  const { schedule, workflow } = temporal.client;
  for await (const { scheduleId } of schedule.list()) {
    if (!scheduleId.endsWith(`@${taskQueue}`)) continue;
    const handle = schedule.getHandle(scheduleId);
    const { info } = await handle.describe();
    await handle.delete();
    for (const { workflow: run } of info.runningActions) await workflow.getHandle(run.workflowId).terminate();
  }
}
