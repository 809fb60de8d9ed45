import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { byPart } from '../stack.js';
import { randomOf } from '../statistics.js';
import { runSlowRound } from './slow-customers.js';

const idle = { usage: async () => byPart(() => ({ cpuSeconds: 0, rssBytes: 0 })) };
const SIZE = { concurrency: 2, paysAfter: [0.05, 0.1], seconds: 0.3 } as const;

describe('a round with customers who pay later', () => {
  it('pays each checkout once, after its customer has waited, and keeps the callers busy', async () => {
    const openedAt = new Map<string, number>();
    const waited: number[] = [];
    const round = await runSlowRound(
      idle,
      {
        open: async () => {
          await sleep(2);
          const workflowId = String(openedAt.size);
          openedAt.set(workflowId, performance.now());
          return { workflowId, answeredMs: 2 };
        },
        pay: async ({ workflowId }: { readonly workflowId: string }) => {
          waited.push(performance.now() - (openedAt.get(workflowId) ?? 0));
          openedAt.delete(workflowId);
          openedAt.set(`paid ${workflowId}`, 0);
          await sleep(3);
          return 3;
        },
      },
      SIZE,
      randomOf(1),
    );
    expect(Math.min(...waited)).toBeGreaterThanOrEqual(49);
    expect(round.samples.length).toBeGreaterThan(0);
    expect(round.samples[0]).toEqual({ answeredMs: 2, paidMs: 3, totalMs: 5 });
    expect(round.workflowIds.length).toBeGreaterThanOrEqual(waited.length);
    expect(round.concurrency).toBe(2);
  });

  it('records failures, and stops when every operation fails', async () => {
    const broken = {
      open: async () => {
        await sleep(1);
        throw new Error('always');
      },
      pay: async () => 0,
    };
    await expect(runSlowRound(idle, broken, SIZE, randomOf(1))).rejects.toThrow('always');
  });
});
