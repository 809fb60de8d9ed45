import { availableParallelism } from 'node:os';
import { configDefaults, defineConfig } from 'vitest/config';
import { ClosingLine } from './test/support/closing-line.js';

/**
 * The stacks of the specs run workflow code without a thread of their own, because each thread costs half a second of CPU
 * to start. The worker processes that specs kill and freeze run it as in production: see worker-process.ts.
 */
const env = { TEMPORAL_DEBUG: '1' };

/**
 * They compare real time with virtual time, or bring a machine to its limit. So they run after the others, one after the
 * other, with the machine to themselves.
 */
const ALONE = ['test/simulation.spec.ts', 'test/overload.spec.ts'];

const alone = (spec: string, index: number) => ({
  extends: true as const,
  test: {
    name: `alone ${index + 1}`,
    include: [spec],
    globalSetup: ['test/support/global-setup.ts'],
    env,
    sequence: { groupOrder: 1 + index },
  },
});

export default defineConfig({
  test: {
    // Vitest runs them in the order of their names, so short specs fill the processes that long ones of the product leave.
    // Two kinds of processes. Once a stack has used AsyncLocalStorage, Node 20 pays for every promise of that process,
    // and the arithmetic of the units takes five times as long there.
    projects: [
      {
        extends: true,
        test: {
          name: 'units',
          include: ['{packages,apps}/*/src/**/*.spec.ts', '{tools,bench,simulation}/src/**/*.spec.ts'],
        },
      },
      {
        extends: true,
        test: {
          name: 'product',
          include: ['test/**/*.spec.ts'],
          // `pnpm test:postgres` runs the specs of test/postgres.
          exclude: [...configDefaults.exclude, 'test/postgres/**', ...ALONE],
          globalSetup: ['test/support/global-setup.ts'],
          env,
        },
      },
      ...ALONE.map(alone),
    ],
    // Threads crash with Temporal's native addon. With more room for young objects, Node collects garbage half as often;
    // in one thread, which costs less than several where every core is busy.
    pool: 'forks',
    execArgv: ['--max-semi-space-size=64', '--single-threaded-gc'],
    // Node itself loads what is built. Vitest would transform it for each process, and calls between modules would cost
    // more. Not `packaging`: one of its libraries offers its sources to Vitest's Node, which cannot run them.
    server: { deps: { external: [/\/(?!packaging\/)[^/]+\/dist\//] } },
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
    expect: { poll: { timeout: 90_000, interval: 200 } },
    tags: [
      {
        name: 'full',
        description: 'a further row of a matrix, or a long campaign: only pnpm test:full runs it',
        skip: process.env['FULL'] !== '1',
      },
      { name: 'more', description: 'pnpm test:full repeats it more often, or in more ways, than pnpm test' },
    ],
    // Processes are frozen and killed on purpose: on a machine that starves them besides, one more try tells the two
    // apart.
    retry: Number(process.env['TEST_RETRIES'] ?? 0),
    reporters: ['default', new ClosingLine()],
  },
});
