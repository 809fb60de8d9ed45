import { availableParallelism } from 'node:os';
import { configDefaults, defineConfig } from 'vitest/config';
import { ClosingLine } from './test/support/closing-line.js';

/** The simulation's engine still has defects of its own: these specs run with `SIMULATE=1`. */
const UNFINISHED = process.env['SIMULATE'] === '1' ? [] : ['simulation/src/lives.spec.ts', 'test/simulation.spec.ts'];

export default defineConfig({
  test: {
    // Two kinds of processes. Once a stack has used AsyncLocalStorage, Node 20 pays for every promise of that process,
    // and the arithmetic of the parts takes five times as long there.
    projects: [
      {
        extends: true,
        test: {
          name: 'parts',
          include: ['{packages,apps}/*/src/**/*.spec.ts', '{tools,bench,simulation}/src/**/*.spec.ts'],
          exclude: [...configDefaults.exclude, ...UNFINISHED],
        },
      },
      {
        extends: true,
        test: {
          name: 'product',
          include: ['test/**/*.spec.ts'],
          // `pnpm test:postgres` runs them.
          exclude: [...configDefaults.exclude, 'test/postgres/**', ...UNFINISHED],
          globalSetup: ['test/support/global-setup.ts'],
          // The stacks of the specs run workflow code without a thread of their own, because each thread costs half a
          // second of CPU to start. The worker processes that specs kill and freeze run it as in production: see
          // worker-process.ts.
          env: { TEMPORAL_DEBUG: '1' },
        },
      },
    ],
    // Threads crash with Temporal's native addon.
    pool: 'forks',
    // Every spec needs the same large libraries: each process loads them once. A spec undoes what it changes in its
    // process.
    isolate: false,
    // Specs with a stack spend most of their time waiting. Six processes keep two cores busy; each takes up to 1 GB.
    maxWorkers: Math.max(6, availableParallelism()),
    // On a machine that is busy with something else, a test may take three times as long as usual.
    testTimeout: 300_000,
    // Most of the time of concurrent tests is spent waiting: for a heartbeat to be missed, a window to pass.
    maxConcurrency: 10,
    hookTimeout: 300_000,
    // A state that is waited for comes late on a busy machine.
    expect: { poll: { timeout: 90_000, interval: 100 } },
    tags: [
      {
        name: 'full',
        description: 'a further row of a matrix, or a long campaign: only pnpm test:full runs it',
        skip: process.env['FULL'] !== '1',
      },
    ],
    // Processes are frozen and killed on purpose: on a machine that starves them besides, one more try tells the two
    // apart.
    retry: Number(process.env['TEST_RETRIES'] ?? 0),
    reporters: ['default', new ClosingLine()],
  },
});
