import { startTemporalServer } from '@tillflow/tools';
import type { TestProject } from 'vitest/node';

declare module 'vitest' {
  interface ProvidedContext {
    temporalAddress: string;
  }
}

type Shared = { readonly server: ReturnType<typeof startTemporalServer>; users: number };

/** Each project of the run loads this module anew. */
const run = globalThis as typeof globalThis & { temporalOfTests?: Shared };

/** One real Temporal server for all projects of the run; every stack has a task queue of its own on it. */
export async function setup(project: TestProject): Promise<() => Promise<void>> {
  const log = (line: string): void => void process.stdout.write(`${line}\n`);
  const shared = (run.temporalOfTests ??= { server: startTemporalServer({ forTests: true, log }), users: 0 });
  shared.users += 1;
  const server = await shared.server;
  project.provide('temporalAddress', server.address);
  return async () => {
    shared.users -= 1;
    if (shared.users > 0) return;
    delete run.temporalOfTests;
    await server.stop();
  };
}
