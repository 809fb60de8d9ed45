import { expect, it } from 'vitest';
import type { Temporal } from '@tillflow/temporal';
import { pino } from 'pino';
import { Clocks } from './clocks.js';

/** A Temporal that accepts every poller and lists none. */
const temporal = {
  client: { options: { namespace: 'default' } },
  connection: {
    withAbortSignal: (_signal: AbortSignal, work: () => unknown) => work(),
    withDeadline: (_deadline: number, work: () => unknown) => work(),
    workflowService: {
      pollActivityTaskQueue: () => Promise.resolve({}),
      describeTaskQueue: () => Promise.resolve({ pollers: [] }),
    },
  },
} as unknown as Temporal;

// Waits 5 s for the poller to show.
it(
  'a worker whose Temporal does not show its clock uses the clock of its machine, and logs it',
  { tags: ['full'] },
  async () => {
    const logs: string[] = [];
    const logger = pino({}, { write: (line: string) => void logs.push(line) });
    const settings = { TEMPORAL_TASK_QUEUE: 'till', MAX_CLOCK_OFFSET_MS: 30_000 };
    const clocks = await Clocks.begin(temporal, 'worker', settings, logger);
    expect(clocks.isRight).toBe(true);
    expect(Math.abs(clocks.temporal.now() - Date.now())).toBeLessThan(1_000);
    expect(logs.join('')).toContain('uses the clock of this machine');
    await clocks.end();
  },
);
