import { randomUUID } from 'node:crypto';
import { checkoutWorkflowId, DEFAULT_ACCOUNT } from '@tillflow/domain';
import { startWorker, workerSettings, type RunningWorker } from '@tillflow/worker';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { bundleChanged } from './support/bundle.js';
import { eventually } from './support/eventually.js';
import { FULL } from './support/full.js';
import { Stack } from './support/stack.js';

/** A bug: the first step of some checkouts never ends. */
const BUG = {
  from: /const intent = input\.intent \?\? .*?;/,
  to: "$& if (intent.reference.startsWith('loops')) for (;;);",
};

let stack: Stack;
let bundle: Awaited<ReturnType<typeof bundleChanged>>;
beforeAll(async () => {
  // Workflow code runs in a thread of its own, as in production.
  vi.stubEnv('TEMPORAL_DEBUG', '');
  [stack, bundle] = await Promise.all([Stack.start({ worker: false }), bundleChanged(BUG)]);
});
afterAll(async () => {
  await bundle.remove();
  await stack.stop();
  vi.unstubAllEnvs();
});

const startWithBug = (): Promise<RunningWorker> =>
  startWorker(workerSettings(stack.workerEnvironment()), stack.logger, { bundlePath: bundle.path });

describe('workflow code with an endless loop', () => {
  it(
    'ends one worker; the next one fails the task, and carries out all other checkouts',
    { ...FULL, timeout: 300_000 },
    async () => {
      const first = await startWithBug();
      const ended = Promise.allSettled([first.stopped]);
      const reference = `loops-${randomUUID()}`;
      expect((await stack.create({ reference })).status).toBe(202);
      expect(await ended).toMatchObject([
        { status: 'rejected', reason: { message: expect.stringContaining('endless loop') as string } },
      ]);

      const second = await startWithBug();
      try {
        const loops = stack.temporal.client.workflow.getHandle(
          checkoutWorkflowId({ account: DEFAULT_ACCOUNT, reference }),
        );
        const attempt = async () => (await loops.describe()).raw.pendingWorkflowTask?.attempt ?? 0;
        const before = await attempt();
        // The second worker has failed the task, because Temporal hands it out again.
        await eventually(async () => expect(await attempt()).toBeGreaterThan(before + 1), { timeoutMs: 90_000 });
        expect(second.isTakingWork).toBe(true);
        expect((await stack.create()).status).toBe(201);
      } finally {
        await second.stop();
      }
    },
  );
});
