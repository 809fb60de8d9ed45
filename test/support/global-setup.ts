import { startTemporalServer } from '@tillflow/tools';
import type { TestProject } from 'vitest/node';

declare module 'vitest' {
  interface ProvidedContext {
    temporalAddress: string;
  }
}

/** One real Temporal server for the whole run; every stack has a task queue of its own on it. */
export async function setup(project: TestProject): Promise<() => Promise<void>> {
  const server = await startTemporalServer({ forTests: true, log: (line) => process.stdout.write(`${line}\n`) });
  project.provide('temporalAddress', server.address);
  return () => server.stop();
}
